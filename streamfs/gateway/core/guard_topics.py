"""Topics of a gateway and its guard: what each tells the other, retained."""

from typing import NamedTuple, Self


class GuardTopics(NamedTuple):
    """Topics on which a gateway and its guard tell each other what they did.

    Examples
    --------
    >>> GuardTopics.of("streamfs", "attic").presence
    'streamfs/guard/attic'
    """

    status: str  # whether the gateway is online: its will
    asked: str  # below it: what the gateway has asked of each device
    presence: str  # whether the guard is online: its will
    acted: str  # when the guard last began to ask devices in the gateway's place

    @classmethod
    def of(cls, prefix: str, name: str) -> Self:
        """Return the topics of a gateway."""
        return cls(
            f"{prefix}/status/{name}",
            f"{prefix}/asked/{name}/",
            f"{prefix}/guard/{name}",
            f"{prefix}/guarded/{name}",
        )
