"""What operators use: health, metrics, logs, notices to systemd, and discovery by Home Assistant."""
