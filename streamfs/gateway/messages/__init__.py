"""Topics, payloads and publications."""
