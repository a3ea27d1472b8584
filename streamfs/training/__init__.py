"""From labelled streams to a procedure."""
