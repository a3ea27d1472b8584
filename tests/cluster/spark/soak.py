"""Kills on Spark, each of which is asserted: nothing is lost, decided twice, or decided differently.

Run it as ``make cluster-soak``. A million samples of recorded streams are decided by a master, two workers and
then three, while an executor and the driver are killed; and live readings go from simulated nodes over a broker
and a gateway, which is killed, into its spool and to a job, which is killed, too.
"""

import argparse
import shutil
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

from accounts import await_readings, run_undisturbed, take_account
from gateway_process import GatewayProcess
from helpers.broker import Broker
from helpers.sample_history import content, decided_by_one, history, procedure
from standalone import Standalone, begin, commits, kill_tree, until
from survival import begin_session
from traffic import traffic
from witness import Publisher

from streamfs.cluster.decisions import read_decisions
from streamfs.gateway.storage.state import log_folder

AT_ONCE = 3
"""Files of a batch."""

SPOOLING = {
    "top": {"spool": "spool"},
    "commit": {"messages": 20, "seconds": 0.01, "segment_seconds": 1.0, "snapshot_seconds": 1.0},
}


def recorded_streams(folder, n_streams, n_seconds, n_files):
    """Decide recorded streams with kills on the way; return what was seen."""
    model, recorded = procedure(time_limit=12), history(n_streams, n_seconds, disorder=2.0, n_late=n_streams // 10)
    model.save(folder / "rooms.streamfs")
    recorded.write(folder / "samples", n_files)
    words = [
        "cluster",
        "decide",
        str(folder / "rooms.streamfs"),
        str(folder / "samples"),
        "-o",
        str(folder / "out"),
    ]
    words += ["--lateness", "2", "--files", str(AT_ONCE), "--shards", "12", "--partitions", "3"]
    out, n_batches = folder / "out", -(-n_files // AT_ONCE)
    began = time.monotonic()
    with Standalone(folder / "spark") as cluster:
        cluster.add_worker()
        cluster.add_worker()
        first = cluster.job("first", *words)
        until(lambda: commits(out) >= 2, "there are no two commits", first)
        at_executor = commits(out)
        [victim, _] = cluster.executors()
        n_killed = kill_tree(victim)
        until(lambda: "Removing executor" in cluster.said("master"), "the master misses no executor", first)
        cluster.add_worker()
        until(lambda: cluster.executors(2), "the third worker has no executor", first)
        until(lambda: commits(out) >= at_executor + 2, "there are no two further commits", first)
        at_driver = commits(out)
        assert at_driver < n_batches, "all was decided before the driver was killed"
        assert first.poll() is None
        kill_tree(first.pid)
        assert first.wait() == -signal.SIGKILL
        second = cluster.job("second", *words)
        assert second.wait() == 0, cluster.said("second")
        assert commits(out) > at_driver, "nothing was left to resume"
    seconds = time.monotonic() - began
    found = [*read_decisions(out)]
    assert len({decision["id"] for decision in found}) == len(found), "a decision was made twice"
    assert content(found) == decided_by_one(recorded, model)
    return {
        "samples": len(recorded.times),
        "late": int(recorded.is_late.sum()),
        "streams": n_streams,
        "decisions": dict(Counter(decision["reason"] for decision in found)),
        "executor killed after commits": at_executor,
        "processes killed with it": n_killed,
        "workers": "2, then 3",
        "driver killed after commits": at_driver,
        "commits in the end": commits(out),
        "seconds": round(seconds),
    }


def live_streams(folder):
    """Follow live streams, while the gateway and the job are killed; return what was seen."""
    messages = traffic()
    with Broker() as broker:
        whole = run_undisturbed(folder / "undisturbed", broker, messages)
    out = folder / "out"
    with Broker() as broker, GatewayProcess(folder / "gateway", broker.url, **SPOOLING) as gateway:
        words = ["cluster", "run", str(gateway.config), "-o", str(out), "--silent", "--seconds", "1"]
        begin_session(gateway)
        with Publisher(broker) as publisher:
            gateway.start()
            gateway.await_ready()
            publisher.send(messages[: len(messages) // 2])
            await_readings(gateway, messages[: len(messages) // 4])
            until((gateway.folder / "spool").exists, "nothing is spooled")
            job = begin(folder / "first.log", *words)
            until(lambda: commits(out) >= 1, "nothing is followed", job)
            gateway.kill()
            gateway.start()
            gateway.await_ready()
            kill_tree(job.pid)
            assert job.wait() == -signal.SIGKILL
            at_kill = commits(out)
            publisher.send(messages[len(messages) // 2 :])
            publisher.await_taken()
            await_readings(gateway, messages)
            gateway.stop()
        account = take_account(gateway, broker)
        for path in sorted(log_folder(gateway.state).glob("*.log")):  # as if others had followed
            shutil.move(path, gateway.folder / "spool" / path.name)
        job = begin(folder / "second.log", *words)
        until(
            lambda: {each["id"] for each in read_decisions(out)} >= account.decisions.keys(), "decisions lack", job
        )
        job.send_signal(signal.SIGINT)
        job.wait()
    found = [*read_decisions(out)]
    assert len({decision["id"] for decision in found}) == len(found), "a decision was made twice"
    for decided in (account.decisions, whole.decisions):
        assert {decision["id"]: decision for decision in found} == decided
    return {"readings": len(messages), "decisions": len(found), "commits when the job was killed": at_kill}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--streams", type=int, default=20_000)
    arguments.add_argument("--seconds", type=int, default=61)
    arguments.add_argument("--files", type=int, default=36)
    wanted = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(live_streams(Path(folder)), flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        print(recorded_streams(Path(folder), wanted.streams, wanted.seconds, wanted.files), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
