"""What Spark lacks is named before it begins."""

import socket

import pytest

from streamfs.cluster.spark.session import require_answer, require_java, session
from streamfs.errors import ClusterError


def java_of(folder, version):
    """Make a Java that only says its version."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "java"
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2021-04-20' >&2\n", encoding="utf-8")
    script.chmod(0o755)


@pytest.mark.parametrize("version", ["11.0.11", "1.8.0_292"])
def test_an_old_java_is_refused(tmp_path, monkeypatch, version):
    java_of(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ClusterError, match=rf"is version {version.partition('.')[0]}: Spark needs version 17"):
        require_java()


def test_a_missing_java_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ClusterError, match="java is not installed: Spark needs version 17 or newer"):
        session()


def test_a_master_that_does_not_answer_is_named_at_once():
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = there.getsockname()[1]
        require_answer(f"spark://127.0.0.1:1,127.0.0.1:{port}")
    with pytest.raises(ClusterError, match=rf"no master answers at spark://127.0.0.1:{port} .*local\[N\]"):
        require_answer(f"spark://127.0.0.1:{port}")
    with pytest.raises(ClusterError, match="names 'head', expected host:port"):
        require_answer("spark://head")
