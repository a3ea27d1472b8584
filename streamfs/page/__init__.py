"""The operator's page: a process of its own that shows one gateway or several, and needs the extra ``page``."""
