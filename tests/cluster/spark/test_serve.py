"""On Spark, in local mode: what is decided and followed is what one engine, or one core, makes of it."""

import time
from collections import Counter
from contextlib import closing
from random import Random

import confluent_kafka
import pytest
from helpers.records import new_core, requested_channels
from helpers.sample_history import content, decided_by_one, history, procedure
from helpers.zones import PAIRED, bindings_of, story
from pyspark.sql.functions import spark_partition_id

from streamfs.cluster.decisions import read_decisions
from streamfs.cluster.jobs import Deciding, Following
from streamfs.cluster.kafka import offsets_after, publish, records_between
from streamfs.cluster.places import keys_of
from streamfs.cluster.spark.serve import decide, follow
from streamfs.errors import StateError
from streamfs.gateway.core.records import MESSAGE
from streamfs.gateway.storage.log import Log

MODEL = procedure(time_limit=12)


def test_shards_are_dealt_to_partitions_in_turn(spark):
    keys = keys_of(12, 4)
    rows = spark.createDataFrame([(key,) for key in keys], "key int").repartition(4, "key")
    assert Counter(row[0] for row in rows.select(spark_partition_id()).collect()) == dict.fromkeys(range(4), 3)


@pytest.mark.parametrize("is_frame", [False, True], ids=["files", "frame"])
def test_recorded_streams_are_decided_as_by_one_engine(spark, tmp_path, is_frame):
    recorded = history(200, 40, disorder=2.0, n_late=0 if is_frame else 50)
    recorded.write(tmp_path / "samples", 8)
    samples = tmp_path / "samples"
    if is_frame:
        columns = "stream string, time double, a double, b double"
        samples = spark.readStream.schema(columns).option("maxFilesPerTrigger", 2).parquet(str(samples))
    query = decide(spark, samples, tmp_path / "out", Deciding(MODEL.packed, 5, 2.0), files_at_once=2)
    query.processAllAvailable()
    query.stop()
    found = [decision["id"] for decision in read_decisions(tmp_path / "out")]
    assert len(found) == len({*found})
    if not is_frame:  # a frame has no end, at which what waits is taken
        assert content(read_decisions(tmp_path / "out")) == decided_by_one(recorded, MODEL)
    with pytest.raises(StateError, match="has a job with shards 5, this one has 6"):
        decide(spark, samples, tmp_path / "out", Deciding(MODEL.packed, 6, 2.0))


def test_a_job_goes_on_with_files_that_came_later(spark, tmp_path):
    recorded = history(50, 40)
    recorded.write(tmp_path / "all", 4)
    (tmp_path / "samples").mkdir()
    for names in (("000000", "000001"), ("000002", "000003")):
        for name in names:
            (tmp_path / "all" / f"{name}.parquet").rename(tmp_path / "samples" / f"{name}.parquet")
        query = decide(spark, tmp_path / "samples", tmp_path / "out", Deciding(MODEL.packed, 3))
        query.processAllAvailable()
        query.stop()
    assert content(read_decisions(tmp_path / "out")) == decided_by_one(recorded, MODEL)


def followed(spark, source, out, job, at_once):
    published = []
    query = follow(spark, source, out, job, at_once=at_once, publish=published.extend, seconds=0.0)
    query.processAllAvailable()
    query.stop()
    return published


def paired(random):
    bindings, records = bindings_of(PAIRED, random), list(story(random, 150))
    whole, begun = new_core(PAIRED, bindings, reopen_after=5.0)
    return whole, begun, records, Following.of(PAIRED.first.packed, 4, bindings, whole.options, 0.0)


def test_a_gateways_spool_is_followed_as_by_one_core(spark, tmp_path):
    whole, begun, records, job = paired(Random(3))  # noqa: S311 - no secret
    begun.add(whole.take(records))
    with closing(Log(tmp_path / "log", segment_bytes=3000, spool=tmp_path / "spool")) as log:
        for first in range(0, len(records), 7):
            log.append(records[first : first + 7])
        log.sync()
        log.release(log.end)
    for path in sorted((tmp_path / "log").glob("*.log")):  # the last one, as if others had followed
        path.rename(tmp_path / "spool" / path.name)
    published = followed(spark, tmp_path / "spool", tmp_path / "out", job, 3)
    assert content(read_decisions(tmp_path / "out")) == sorted(str(d.to_json()) for d in begun.decisions)
    assert requested_channels(published) == requested_channels(begun.publications)
    assert len(begun.decisions) > 10


@pytest.fixture
def kafka():
    """A broker of librdkafka's own, for tests."""
    broker = confluent_kafka.Producer({"test.mock.num.brokers": 1})
    [place] = broker.list_topics(timeout=30).brokers.values()
    yield {"bootstrap.servers": f"{place.host}:{place.port}"}
    broker.flush(1)


def test_messages_in_kafka_are_followed_as_by_one_core(spark, tmp_path, kafka):
    whole, begun, records, job = paired(Random(4))  # noqa: S311 - no secret
    records = [record for record in records if record.kind == MESSAGE]
    begun.add(whole.take(records))
    producer = confluent_kafka.Producer(kafka)
    for record in records:
        stamp = round(1000 * record.arrival)
        producer.produce("readings", record.payload, record.topic, partition=0, timestamp=stamp)
    assert producer.flush(30) == 0
    source = {"topics": ["readings"], "kafka": kafka, "is_live": False}
    published = followed(spark, source, tmp_path / "out", job, 100)
    assert content(read_decisions(tmp_path / "out")) == sorted(str(d.to_json()) for d in begun.decisions)
    assert requested_channels(published) == requested_channels(begun.publications)
    publish(kafka, "decided", published)
    with closing(
        confluent_kafka.Consumer({**kafka, "group.id": "test", "auto.offset.reset": "earliest"})
    ) as reader:
        reader.subscribe(["decided"])
        came = [message for _ in range(30) for message in reader.consume(len(published), 1.0)][: len(published)]
    assert sorted(message.key().decode() for message in came) == sorted(each.topic for each in published)


def test_time_passes_in_kafka_once_all_is_read(kafka):
    producer = confluent_kafka.Producer(kafka)
    for _ in range(5):
        producer.produce("few", b"1", "sensors/n/x", partition=0)
    assert producer.flush(30) == 0
    begun = {"offsets": {}, "time": ""}
    part, whole = (offsets_after(kafka, ["few"], begun, most, is_live=True) for most in (3, 9))
    assert (part["offsets"]["few:0"], part["time"]) == (3, "")
    assert whole["offsets"]["few:0"] == 5
    assert float(whole["time"]) <= time.time()
    assert [record.topic for record in records_between(kafka, "few:0", 3, 5)] == ["sensors/n/x"] * 2
