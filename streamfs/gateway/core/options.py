"""How a gateway follows its streams."""

from dataclasses import dataclass

from streamfs.gateway.core.joiner import Timing

MAX_GAP = 10_000
"""Ticks without a reading that are gone through one by one, however long episodes are."""


@dataclass(frozen=True)
class Options:
    """How a gateway follows its streams: names, event time, bounds.

    Parameters
    ----------
    name : str
        The gateway's, in its topics.
    prefix : str
        First part of the topics that the gateway publishes to.
    profile : str
        The nodes' radio, a key of `streamfs.costs.radio_profiles.PROFILES`.
    lateness : float, optional
        Seconds that a reading may lag behind the newest; two periods by default.
    grace : float
        Seconds without news after which event time runs on with the wall clock: as long as a link may stall before
        its streams time out.
    overtaking : float
        Seconds by which a reading may overtake an earlier one of its own channel.
    on_wall : bool
        Whether event time is the wall clock's, so that stamps are believed only as far as they agree with it.
    max_delay : float
        Seconds that a stamp may lie before its arrival and still be believed, on the wall clock.
    ahead : int
        Ticks that a stamp may be ahead of the newest; one further ahead is refused, unless there was no news for
        the grace.
    max_streams : int
        Streams that may be known at once, where every node that is heard is one.
    evicts : bool
        Whether a stream beyond that takes the place of the one that was heard longest ago, or is refused.
    max_payload : int
        Bytes of a message; a longer one is rejected.
    max_pending : int
        Readings that may wait for their tick.
    expire_after : float, optional
        Seconds of event time after which a stream that is not heard is forgotten, where every node that is heard
        is one; it is looked for ten times in that time, by the clock of arrivals.
    reopen_after : float, optional
        Seconds of event time from a decision to the stream's next episode.
    drift : float, optional
        Sensitivity with which drift is watched for; None watches for none.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """

    name: str = "gateway"
    prefix: str = "streamfs"
    profile: str = "transmissions"
    lateness: float | None = None
    grace: float = 10.0
    overtaking: float = 0.0
    on_wall: bool = False
    max_delay: float = 86_400.0
    ahead: int = 10_000
    max_streams: int = 100_000
    evicts: bool = False
    max_payload: int = 262_144
    max_pending: int = 1_000_000
    expire_after: float | None = None
    reopen_after: float | None = None
    drift: float | None = None

    def __post_init__(self) -> None:
        for name in ("lateness", "grace", "expire_after", "reopen_after"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name} is {value}, expected seconds, at least 0")
        if self.expire_after is not None and self.expire_after <= (self.reopen_after or 0.0):
            raise ValueError(
                f"expire_after is {self.expire_after}, expected more than reopen_after, {self.reopen_after}"
            )
        for name in ("ahead", "max_streams", "max_payload", "max_pending"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")

    def timing(self, period: float, time_limit: int) -> Timing:
        """How readings are put on a grid of this period, in seconds, where episodes end after so many ticks."""
        return Timing(
            period,
            2 * period if self.lateness is None else self.lateness,
            self.overtaking,
            max_gap=min(time_limit, MAX_GAP),  # after so many without a reading, nothing is open any more
            ahead=self.ahead * period,
            patience=self.grace,
            on_wall=self.on_wall,
            max_delay=self.max_delay,
        )
