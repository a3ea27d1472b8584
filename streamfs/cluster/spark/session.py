"""Sessions of Spark, set up for jobs."""

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_LOOPBACK = "127.0.0.1"


def session(master: str = "local[2]", settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session of its own, for programs that have none.

    Parameters
    ----------
    master : str
        Spark's master: ``local[n]``, n threads of this machine, or an address as ``spark://host:7077``.
    settings : mapping of str to str, optional
        Spark's own settings, which come before those made here.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the setting of that name is not enough
    builder = SparkSession.builder.master(master).appName("streamfs")
    for name, value in {**_usual(master), **(settings or {})}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def prepare(spark: SparkSession, n_partitions: int) -> None:
    """Set what jobs need in a session: where state is kept, and into how many partitions it is divided."""
    settings = {
        "spark.sql.shuffle.partitions": str(n_partitions),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)


def _usual(master: str) -> dict[str, str]:
    """Return settings without which jobs are slower, or fail on a loaded machine."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.authenticate.socketTimeout": "120s",  # for Python's imports; 15 s by default
    }
    if master.startswith(("local", f"spark://{_LOOPBACK}")):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
        settings |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    return settings
