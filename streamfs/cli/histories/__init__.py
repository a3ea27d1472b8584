"""What others have kept of their devices' readings, as one long table."""
