"""Topics: the names that they may contain, and templates of topics."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

NOT_IN_TOPICS = "/+#\0"
"""Characters that the name of a node, a channel or a stream cannot have."""

LONGEST_TOPIC = 512
"""Most characters of a topic that is read: what it names is kept in memory, on disk and in topics, many times."""

_NODE, _NODES, _CHANNEL = "{node}", "{node...}", "{channel}"
_SHOWN = 40  # characters of a topic that is too long
_PLACE = re.compile(r"(\{node\.\.\.\}|\{node\}|\{channel\}|\+)")
_PATTERNS = {
    _NODE: r"(?P<node>[^/+#\0]+)",
    _NODES: r"(?P<node>[^/+#\0]+(?:/[^/+#\0]+)*)",
    _CHANNEL: r"(?P<channel>[^/+#\0]+)",
    "+": r"[^/]*",
}


def check_name(what: str, name: str, unfit: str = NOT_IN_TOPICS) -> None:
    """Raise a ValueError that names it if a name is empty or has one of the unfit characters."""
    if not name or any(character in name for character in unfit):
        raise ValueError(f"{what} is {name!r}, expected a name without any of {unfit!r}")


def check_topic(what: str, topic: str) -> None:
    """Raise a ValueError that names it if a text cannot be the first levels of topics to publish to."""
    if not all(topic.split("/")) or any(character in topic for character in "+#\0") or topic.startswith("$"):
        raise ValueError(f"{what} is {topic!r}, expected a topic without + and #, empty levels and a leading $")


def shown_topic(topic: str) -> str:
    """Return a topic; of one that is not read since it is too long, the beginning.

    >>> shown_topic("sensors/n1/light"), shown_topic("n" * 60_000)[30:]
    ('sensors/n1/light', 'nnnnnnnnnn... (60000 characters, at most 512 are read)')
    """
    if len(topic) <= LONGEST_TOPIC:
        return topic
    return f"{topic[:_SHOWN]}... ({len(topic)} characters, at most {LONGEST_TOPIC} are read)"


def covers(wide: str, narrow: str) -> bool:
    """Return whether a topic filter matches all topics that another matches.

    >>> covers("home/#", "home/+/light"), covers("home/+", "+/light")
    (True, False)
    """
    levels, others = wide.split("/"), narrow.split("/")
    if levels[-1] == "#":
        levels.pop()
        others = others[: len(levels)]
    pairs = zip_longest(levels, others)
    return all(one == other or (one == "+" and other not in ("#", None)) for one, other in pairs)


def overlap(one: str, other: str) -> bool:
    """Return whether there are topics that two filters match, though neither covers the other.

    >>> overlap("home/+", "+/light"), overlap("home/+", "office/+"), overlap("home/+", "home/#")
    (True, False, False)
    """
    if covers(one, other) or covers(other, one):
        return False
    for level, other_level in zip_longest(one.split("/"), other.split("/")):
        if "#" in (level, other_level):
            return True
        if level != other_level and (None in (level, other_level) or "+" not in (level, other_level)):
            return False
    return True


def outermost(filters: Iterable[str]) -> dict[str, None]:
    """Return the filters that no other covers, in order: a broker may send a message once for each that matches.

    >>> list(outermost(["home/+", "home/#", "office/+", "home/attic"]))
    ['home/#', 'office/+']
    """
    each = dict.fromkeys(filters)
    return {text: None for text in each if not any(covers(wide, text) for wide in each if wide != text)}


@dataclass(frozen=True)
class Template:
    """The form of the topics on which nodes publish: levels between slashes.

    ``{node}`` stands for the node's name and ``{channel}`` for the channel's; both are optional, and may be part
    of a level. ``{node...}`` is a name of one or more levels. ``+`` is any level.

    >>> Template("application/+/device/{node}/event/up").match("application/7/device/0102aabb/event/up")
    ('0102aabb', None)
    >>> Template("zigbee2mqtt/{node...}").match("zigbee2mqtt/kitchen/window")
    ('kitchen/window', None)
    """

    text: str

    def __post_init__(self) -> None:
        if sum(self.text.count(place) for place in (_NODE, _NODES)) > 1 or self.text.count(_CHANNEL) > 1:
            raise ValueError(f"topic is {self.text!r}, expected one {_NODE} and at most one {_CHANNEL}")
        if self.text.startswith("$"):
            raise ValueError(f"topic is {self.text!r}, expected one that does not begin with $")
        for level in self.text.split("/"):
            rest = _PLACE.sub("", level)
            if not level or any(character in rest for character in "{}+#\0"):
                fault = f"topic is {self.text!r}, whose level {level!r} is not valid in a topic"
                raise ValueError(f"{fault}, expected text, +, {_NODE}, {_NODES} or {_CHANNEL}")
            if len(_PLACE.findall(level)) > 1 or any(whole in level != whole for whole in ("+", _NODES)):
                raise ValueError(f"topic is {self.text!r}, whose level {level!r} has more than one placeholder")

    @property
    def has_node(self) -> bool:
        """Whether the topics name the node."""
        return _NODE in self.text or _NODES in self.text

    @property
    def has_channel(self) -> bool:
        """Whether the topics name the channel."""
        return _CHANNEL in self.text

    def match(self, topic: str) -> tuple[str, str | None] | None:
        """Return node and channel of a topic, "" and None if the template has none; None for another topic."""
        found = self._pattern.fullmatch(topic)
        if found is None:
            return None
        return found["node"] if self.has_node else "", found["channel"] if self.has_channel else None

    def overlaps(self, prefix: str) -> bool:
        """Return whether a topic below a prefix may match."""
        before, several, _ = self.text.partition(_NODES)
        levels = zip(before.split("/") if before else (), prefix.split("/"), strict=False)
        is_longer = bool(several) or self.text.count("/") > prefix.count("/")
        return is_longer and all(_level_pattern(level).fullmatch(other) for level, other in levels if level)

    def filters(self, channels: Sequence[str]) -> tuple[str, ...]:
        """Return the topic filters for all nodes: one for each channel if the topics name it, else one."""
        if not self.has_channel:
            return (self._filter(""),)
        return tuple(self._filter(channel) for channel in channels)

    def _filter(self, channel: str) -> str:
        text, several, _ = self.text.partition(_NODES)
        levels = ("+" if _NODE in level else level.replace(_CHANNEL, channel) for level in text.split("/"))
        return "/".join(levels) + "#" * bool(several)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _level_pattern(self.text)


def _level_pattern(text: str) -> re.Pattern[str]:
    return re.compile("".join(_PATTERNS.get(part, re.escape(part)) for part in _PLACE.split(text)))
