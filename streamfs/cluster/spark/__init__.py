"""Thin layers between Spark and what does the work."""
