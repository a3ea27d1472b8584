"""A gateway's settings in ``gateway.toml``: read, validated and previewed."""
