"""Kills of gateways whose disks are gone for good, each followed by its standby, while messages arrive.

Run it as ``make standby-kills``: two gateways share the streams, and either is killed.
"""

import argparse
import shutil
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from accounts import assert_published, await_readings, run_undisturbed, take_account
from gateway_process import GatewayProcess
from helpers.broker import Broker
from sharing import assert_as_one, own_messages
from survival import begin_session, split
from traffic import traffic
from witness import Publisher, Witness

ROUND = 10
"""Kills at one broker, at most: the traffic is divided among them."""

SHARDS = ("1/2", "2/2")
ALONE = ("",)


class Succession:
    """A gateway and those that go on after it: the state of each is the mirror of the one before."""

    def __init__(self, folder, broker, shard=""):
        self.shard, self.n_kills = shard, 0
        self._broker, self._name = broker, f"attic{shard.partition('/')[0]}"
        self._folder = folder / self._name
        self.serving, self.waiting = self._member(0), self._member(1)

    def __enter__(self):
        begin_session(self.serving)
        self.serving.start()
        self.serving.await_ready()
        self._stand_by()
        return self

    def __exit__(self, *_):
        for process in (self.serving, self.waiting):
            if process.is_alive:
                process.kill()

    def own(self, messages):
        """Return the messages of the nodes that are served here."""
        return own_messages(messages, int(self.shard.partition("/")[0])) if self.shard else messages

    def kill(self):
        """Kill the gateway and delete its state; return the seconds until its standby serves."""
        self.serving.kill()
        shutil.rmtree(self.serving.state)
        killed_at = time.monotonic()
        self.waiting.await_ready()
        seconds = time.monotonic() - killed_at
        self.n_kills += 1
        self.serving, self.waiting = self.waiting, self._member(self.n_kills + 1)
        self._stand_by()
        return seconds

    def stop(self):
        """Stop in order, once nothing waits."""
        self.serving.await_that(lambda: self.serving.metrics()["queue"] == 0, "messages wait")
        self.serving.stop()

    def _member(self, number):
        states = {
            "state": str(self._folder / f"state{number}"),
            "mirror": str(self._folder / f"state{number + 1}"),
        }
        top = {"name": self._name, **states} | ({"shard": self.shard} if self.shard else {})
        client = {"client_id": self._name}
        process = GatewayProcess(self._folder / f"gateway{number}", self._broker.url, top=top, broker=client)
        process.state = self._folder / f"state{number}"
        if number:
            process._args[0:1], process._args[1:3] = ["standby"], [str(process.config)]
        return process

    def _stand_by(self):
        self.waiting.start()
        self.waiting.await_that(lambda: "standing by" in said(self.waiting), "there is no standby")


def said(process):
    return process.errors if process._errors.exists() else ""


def run(folder, broker, n_kills, seed=0, shards=ALONE):
    """Kill gateways in turn; return accounts, the witness, the kills by shard and the seconds of takeovers."""
    rng = np.random.default_rng(seed)
    messages, seconds = traffic(), []
    shares = split(messages, n_kills + 1)
    kept = [Succession(folder, broker, shard) for shard in shards]
    with ExitStack() as exits:
        publisher, witness, *_ = map(exits.enter_context, (Publisher(broker), Witness(broker), *kept))
        for share in shares[:-1]:
            publisher.send(share)
            time.sleep(rng.uniform(0.0, 0.3))
            seconds.append(kept[rng.integers(len(kept))].kill())
        publisher.send(shares[-1])
        publisher.await_taken()
        for each in kept:
            await_readings(each.serving, each.own(messages)[-1:])
        for each in kept:
            each.stop()
        witness.await_end()
    accounts = [take_account(each.serving, broker) for each in kept]
    return accounts, witness, Counter({each.shard: each.n_kills for each in kept}), seconds


def assert_nothing_lost(accounts, witness, whole):
    """No decision is lost, made twice or different, and no reading is missing."""
    assert_as_one(accounts, whole)
    assert_published(witness, whole)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    wanted = arguments.parse_args()
    kills, seconds = Counter(), []
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        whole = run_undisturbed(Path(folder) / "undisturbed", broker, traffic())
    while (done := kills.total()) < wanted.kills:
        n_kills = min(ROUND, wanted.kills - done)
        with tempfile.TemporaryDirectory() as folder, Broker() as broker:
            accounts, witness, of_round, found = run(Path(folder), broker, n_kills, wanted.seed + done, SHARDS)
        assert_nothing_lost(accounts, witness, whole)
        kills, seconds = kills + of_round, seconds + found
        took = np.percentile(seconds, [50, 100]).round(2)
        print(f"{kills.total()} kills {dict(kills)}, seconds until the standby was ready: {took}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
