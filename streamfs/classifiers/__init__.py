"""Classifiers that decide which class a stream belongs to."""
