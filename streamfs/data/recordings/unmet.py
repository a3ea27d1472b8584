"""What was asked of streams that are read, but do not have it."""

from streamfs.errors import DataError


class UnmetError(DataError):
    """Windows or groups that streams do not have, which says nothing against the layout of their files."""
