"""Kills of gateways whose disks are gone for good, each followed by its standby, while messages arrive.

Run it as ``make standby-kills``.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from accounts import assert_published, await_readings, run_undisturbed, take_account
from gateway_process import GatewayProcess
from helpers.broker import Broker
from survival import split
from traffic import traffic
from witness import Publisher, Witness

ROUND = 10
"""Kills of one broker's gateways, at most: the traffic is divided among them."""


def member(folder, broker, number):
    """The gateway that follows others: its state is the mirror of the one before."""
    states = {"state": str(folder / f"state{number}"), "mirror": str(folder / f"state{number + 1}")}
    process = GatewayProcess(folder / f"gateway{number}", broker.url, top={"name": "attic", **states})
    process.state = folder / f"state{number}"
    if number:
        process._args[0:1], process._args[1:3] = ["standby"], [str(process.config)]
    return process


def said(process):
    return process.errors if process._errors.exists() else ""


def run(folder, broker, n_kills, seed=0):
    """Kill gateways in turn; return the last account, the witness, and the seconds of each takeover."""
    rng = np.random.default_rng(seed)
    messages, seconds = traffic(), []
    shares = split(messages, n_kills + 1)
    living = [member(folder, broker, 0)]
    living[0].start()
    living[0].await_ready()
    with Publisher(broker) as publisher, Witness(broker) as witness:
        try:
            for number in range(1, n_kills + 1):
                living.append(member(folder, broker, number))
                living[1].start()
                living[1].await_that(lambda: "standing by" in said(living[1]), "there is no standby")
                publisher.send(shares[number - 1])
                time.sleep(rng.uniform(0.0, 0.3))
                gone = living.pop(0)
                gone.kill()
                shutil.rmtree(gone.state)
                killed_at = time.monotonic()
                living[0].await_ready()
                seconds.append(time.monotonic() - killed_at)
            publisher.send(shares[-1])
            publisher.await_taken()
            await_readings(living[0], messages[-1:])
            living[0].await_that(lambda: living[0].metrics()["queue"] == 0, "messages wait")
            living[0].stop()
            witness.await_end()
        finally:
            for process in living:
                if process.is_alive:
                    process.kill()
    return take_account(living[0], broker), witness, seconds


def assert_nothing_lost(account, witness, whole):
    """No decision is lost, made twice or different, and no reading is missing."""
    assert account.decisions == whole.decisions
    for what in ("marks", "episodes", "spent"):
        assert getattr(account, what) == getattr(whole, what), what
    assert_published(witness, whole)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    wanted = arguments.parse_args()
    done, seconds = 0, []
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        whole = run_undisturbed(Path(folder) / "undisturbed", broker, traffic())
    while done < wanted.kills:
        n_kills = min(ROUND, wanted.kills - done)
        with tempfile.TemporaryDirectory() as folder, Broker() as broker:
            account, witness, found = run(Path(folder), broker, n_kills, wanted.seed + done)
        assert_nothing_lost(account, witness, whole)
        done, seconds = done + n_kills, seconds + found
        print(f"{done} kills, seconds until the standby was ready: {np.percentile(seconds, [50, 100]).round(2)}")  # noqa: T201


if __name__ == "__main__":
    main()
