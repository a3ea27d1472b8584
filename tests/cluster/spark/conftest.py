"""One session of Spark for all tests, in threads of one process."""

import pytest

from streamfs.cluster.spark.session import session

QUICK = "-XX:TieredStopAtLevel=1"
"""An option of Java's: a machine's second compiler takes longer than the tests."""


@pytest.fixture(scope="session")
def spark():
    running = session("local[2]", {"spark.driver.extraJavaOptions": QUICK, "spark.driver.memory": "1g"})
    yield running
    running.stop()
