"""The gateway: from MQTT messages to decisions, and from decisions to control messages."""
