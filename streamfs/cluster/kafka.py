"""Kafka, through confluent-kafka: messages as records, and publications as messages."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from streamfs.base.optional import load_optional
from streamfs.errors import TransportError
from streamfs.gateway.core.records import MESSAGE, Record
from streamfs.gateway.messages.publication import Publication

Settings = Mapping[str, Any]
Offset = dict[str, Any]

_TICK = 1.0  # seconds from one record of time to the next
_AT_ONCE = 10_000  # messages
_PATIENCE = 30.0  # seconds for an answer


def extents(settings: Settings, topics: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the first offset of each partition, and the one after the last, by ``topic:partition``."""
    library = load_optional("confluent_kafka", "cluster")
    first, end = {}, {}
    with _consumer(settings) as consumer:
        for topic in topics:
            known = consumer.list_topics(topic, _PATIENCE).topics[topic]
            if known.error is not None:
                raise TransportError(f"topic {topic!r} cannot be read: {known.error}")
            for partition in known.partitions:
                place = library.TopicPartition(topic, partition)
                first[f"{topic}:{partition}"], end[f"{topic}:{partition}"] = consumer.get_watermark_offsets(
                    place, _PATIENCE
                )
    return first, end


def offsets_after(
    settings: Settings, topics: Sequence[str], start: Offset, most: int | None, *, is_live: bool
) -> Offset:
    """Return offsets after others, with at most a number of messages of each partition.

    If that is all there is, and nodes are sending, the time is that until which all was sent.
    """
    now = math.floor(time.time() / _TICK) * _TICK
    first, end = extents(settings, topics)
    begun = {name: start["offsets"].get(name, first[name]) for name in end}
    last = {name: end[name] if most is None else min(end[name], begun[name] + most) for name in end}
    return {"offsets": last, "time": repr(now) if is_live and last == end else start["time"]}


def records_between(settings: Settings, name: str, start: int, end: int) -> Iterator[Record]:
    """Read messages of a partition; raise a TransportError if some are gone, or do not come.

    A message's key is its topic at the gateway, its time its arrival, and its header ``content-type`` that.
    """
    library = load_optional("confluent_kafka", "cluster")
    topic, _, partition = name.rpartition(":")
    with _consumer(settings) as consumer:
        consumer.assign([library.TopicPartition(topic, int(partition), start)])
        following = start
        while following < end:
            messages = consumer.consume(min(_AT_ONCE, end - following), _PATIENCE)
            if not messages:
                raise TransportError(
                    f"partition {name} gives no messages from {following} on, expected some to {end}"
                )
            for message in messages:
                if message.error() is not None:
                    raise TransportError(f"partition {name} cannot be read at {following}: {message.error()}")
                following = message.offset() + 1
                if following <= end:
                    yield _record(message)


def publish(settings: Settings, topic: str, publications: Sequence[Publication]) -> None:
    """Send publications, each under its own topic as the key; raise a TransportError unless all have arrived."""
    library = load_optional("confluent_kafka", "cluster")
    producer, failed = library.Producer({**settings, "enable.idempotence": True}), []
    for publication in publications:
        producer.produce(
            topic,
            publication.payload,
            publication.topic,
            on_delivery=lambda error, _: failed.append(error) if error is not None else None,
        )
        producer.poll(0)
    left = producer.flush(_PATIENCE)
    if left or failed:
        reason = failed[0] if failed else "no answer"
        raise TransportError(f"{left + len(failed)} of {len(publications)} messages have not arrived: {reason}")


@contextmanager
def _consumer(settings: Settings) -> Iterator[Any]:
    library = load_optional("confluent_kafka", "cluster")
    own = {"group.id": "streamfs", "enable.auto.commit": False, "auto.offset.reset": "error"}
    consumer = library.Consumer({**own, **settings})
    try:
        yield consumer
    finally:
        consumer.close()


def _record(message: Any) -> Record:
    content = dict(message.headers() or ()).get("content-type")
    texts = [(text or b"").decode(errors="replace") for text in (message.key(), content)]
    return Record(MESSAGE, message.timestamp()[1] / 1e3, texts[0], message.value() or b"", texts[1])
