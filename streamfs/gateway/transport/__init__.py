"""The connection to the broker: kept up, counted, and driven by one thread."""
