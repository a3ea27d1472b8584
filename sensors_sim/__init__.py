"""Simulated wireless sensors: physical processes, nodes that sense them, links that lose, and fleets on MQTT."""
