"""Publications that a broker refuses."""

from typing import NamedTuple


class Refusal(NamedTuple):
    """The token of a publication, why it was refused, and whether others on its topic would be, too."""

    token: object
    reason: str
    is_of_topic: bool = True
