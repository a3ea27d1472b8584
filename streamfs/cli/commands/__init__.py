"""The commands of the command line, one a file; each is one public function of the library."""
