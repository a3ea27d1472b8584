"""Recorded streams, files, and tables of feature values."""
