"""Translation of restricted Python to C99, so that steps and classifiers have one definition."""
