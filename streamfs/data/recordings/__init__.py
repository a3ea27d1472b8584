"""Recordings as people have them: which files, what their columns mean, and how they get onto a grid of ticks."""
