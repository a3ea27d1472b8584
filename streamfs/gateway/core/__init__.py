"""The effects of records on streams, without clock, threads, network and disk."""
