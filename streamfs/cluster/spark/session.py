"""Sessions of Spark, set up for jobs."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from streamfs.errors import ClusterError

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

JAVA = 17
"""The oldest Java that Spark 4 runs on."""

ANSWER_SECONDS = 5.0
"""Seconds within which a master accepts a connection; Spark itself goes on trying for over a minute."""

_LOOPBACK = "127.0.0.1"


def session(master: str = "local[2]", settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session of its own, for programs that have none.

    Parameters
    ----------
    master : str
        Spark's master: ``local[n]``, n threads of this machine, or an address as ``spark://host:7077``.
    settings : mapping of str to str, optional
        Spark's own settings, which come before those made here.

    Raises
    ------
    ClusterError
        If there is no Java, or an older one than Spark needs, or the master cannot be reached.
    """
    require_java()
    require_answer(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the setting of that name is not enough
    builder = SparkSession.builder.master(master).appName("streamfs")
    for name, value in {**_usual(master), **(settings or {})}.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Py4JJavaError as error:
        reason = str(error.java_exception.getMessage()).splitlines()[0]
        raise ClusterError(
            f"Spark cannot begin at {master}: {reason}; expected local[N], or a running master of the same version"
        ) from error
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


def plainly_named(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return some columns of a frame under other names, since `mapInArrow` takes no names with points."""
    return frame.select(*(col(f"`{name}`").alias(f"c{place}") for place, name in enumerate(names)))


def require_java() -> None:
    """Raise a ClusterError unless there is a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else "java"
    hint = f"Spark needs version {JAVA} or newer; on Debian, apt-get install openjdk-{JAVA}-jre-headless"
    where = shutil.which(found)
    if where is None:
        named = f"{found} of JAVA_HOME" if home else "java"
        raise ClusterError(f"{named} is not installed: {hint}")
    said = subprocess.run([where, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    version = re.search(r'version "(\d+)', said)
    if version is not None and int(version[1]) < JAVA:
        raise ClusterError(f"{where} is version {version[1]}: {hint}")


def require_answer(master: str) -> None:
    """Raise a ClusterError unless a master of an address ``spark://host:port[,host:port...]`` answers."""
    if not master.startswith("spark://"):
        return
    reasons = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        if not (host and port.isdecimal()):
            raise ClusterError(f"master {master} names {place!r}, expected host:port")
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
        except OSError as error:
            reasons.append(f"{place}: {error}")
        else:
            return
    raise ClusterError(
        f"no master answers at {master} ({'; '.join(reasons)}), expected a running one, or local[N]"
    )


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
