"""What training returns, a file holds, and an engine runs."""
