"""What records do to streams: no clock, no thread, no network, no disk."""
