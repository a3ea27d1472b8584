"""Reports on a procedure for those who decide whether to use it."""
