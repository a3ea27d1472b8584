"""What goes over the wire: payloads, topics and publications."""
