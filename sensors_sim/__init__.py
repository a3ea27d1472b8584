"""Simulated wireless sensors: physical processes, nodes that sense them, lossy links, and fleets on MQTT."""
