"""The command line as ``python -m streamfs``."""

from streamfs.cli import main

main()
