"""The effects of records: what a gateway publishes, logs and keeps."""

from dataclasses import dataclass, field
from typing import Any, Self

from streamfs.gateway.messages.publication import Publication
from streamfs.procedure.procedure import Decision


@dataclass
class Effects:
    """The effects of some records, each kind in order; publications are to be published at least once."""

    decisions: list[Decision] = field(default_factory=list)
    publications: list[Publication] = field(default_factory=list)
    energy: list[dict[str, Any]] = field(default_factory=list)  # lines of the energy log
    rejected: list[dict[str, Any]] = field(default_factory=list)  # messages that could not be decoded

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not (self.decisions or self.publications or self.energy or self.rejected)

    def add(self, later: Self) -> None:
        """Append the effects of later records."""
        for name in vars(self):
            getattr(self, name).extend(getattr(later, name))

    def take(self) -> "Effects":
        """Return the effects so far, and start again with none."""
        taken = Effects()
        self.__dict__, taken.__dict__ = taken.__dict__, self.__dict__
        return taken
