"""What a gateway shows to those who operate it: health, metrics, logs, word to systemd and to Home Assistant."""
