"""A gateway's settings, as ``gateway.toml`` has them: read, checked and previewed."""
