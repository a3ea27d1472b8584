"""The command line as ``python -m streamfs``."""

from streamfs.cli.app import main

main()
