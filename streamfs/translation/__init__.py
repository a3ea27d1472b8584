"""Translation of restricted Python to C99, so that steps, classifiers and kernels have one definition."""
