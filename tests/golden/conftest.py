"""The scripts that recorded need packages that the tests do without."""

collect_ignore = ["record_j48.py"]
