"""Private ground: what every room may stand on."""
