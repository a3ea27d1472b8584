"""Private foundations that every room may import."""
