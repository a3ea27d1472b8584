"""The papers' experiments, and all figures."""
