"""Kill a gateway again and again, and count what is lost and what is duplicated.

python benchmarks/soak.py [--kills N] [--seed N]

Writes its part of `benchmarks/RESULTS.md`; the others are left unchanged.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from streamfs.cli.console import say

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "faults")]

from accounts import assert_nothing_lost, assert_published, run_undisturbed, take_account  # noqa: E402
from helpers.broker import Broker, find_mosquitto  # noqa: E402
from survival import COMMAND, FEW, SPOOLED, Kill, random_kills, survive  # noqa: E402
from traffic import traffic  # noqa: E402

KILLS_A_ROUND = 10
NAME = "soak"


def soak(n_kills: int, seed: int) -> Counter[str]:
    """Kill gateways, each ten times in the midst of its messages; return what came of it.

    Raises
    ------
    AssertionError
        If anything is lost or doubled.
    """
    found: Counter[str] = Counter()
    for number in range(-(-n_kills // KILLS_A_ROUND)):
        n = min(n_kills - found["kills"], KILLS_A_ROUND)
        kills = [COMMAND] * n if number == 0 else random_kills(n, seed + number)
        found.update(one_round(kills, seed + number))
        say(f"{found['kills']} of {n_kills} kills, {found['messages']} messages, {found['lost']} lost")
    return found


def one_round(kills: list[Kill], seed: int) -> Counter[str]:
    """Run a gateway undisturbed and another that is killed, and compare them."""
    messages = traffic(seed, numbered=seed % 2 == 0)
    with tempfile.TemporaryDirectory() as folder, Broker() as quiet, Broker() as broker:
        undisturbed = run_undisturbed(Path(folder) / "undisturbed", quiet, messages)
        sections = FEW if COMMAND in kills else SPOOLED
        gateway, witness = survive(Path(folder) / "killed", broker, messages, kills, seed, **sections)
        account = take_account(gateway, broker)
    assert_nothing_lost(account, undisturbed)
    assert_published(witness, undisturbed)
    made = [(line["stream"], line["episode"]) for line in account.energy if line["kind"] == "decision"]
    expected = undisturbed.decisions
    return Counter(
        kills=len(kills),
        outside=sum(kill[0] != "kill" for kill in kills),
        messages=len(messages),
        lost=len(set(messages) - set(account.readings)),
        redelivered=len(account.readings) - len(set(account.readings)),
        decisions=len(expected),
        different=sum(account.decisions.get(name) != decision for name, decision in expected.items()),
        twice=len(made) - len(set(made)),
        published=sum(map(len, witness.decisions.values())),
    )


def section(n_kills: int = 200, seed: int = 0) -> str:
    """Run the soak, and tell of it."""
    began = time.monotonic()
    found = soak(n_kills, seed)
    seconds = time.monotonic() - began
    return f"""
## A gateway that is killed again and again

`make soak` (`benchmarks/soak.py --kills {n_kills} --seed {seed}`): {found["kills"]} SIGKILLs, {found["outside"]} of them from outside
at random moments and the others at chosen points of a commit or a publication, during {found["messages"]} messages
of quality of service 1, half of the runs without sequence numbers. Ten kills a run; those of the first hit
`python -m streamfs run`, the others forks of a process that has imported it. Each run was compared with an undisturbed one.
The soak ends with an error, and writes nothing, at the first run with a different result.

| | |
|---|---|
| messages that the broker had confirmed and the gateway lost | {found["lost"]} |
| messages delivered again | {found["redelivered"]} |
| decisions compared: label, confidence, tick, cost, energy | {found["decisions"]} |
| of them lost or different | {found["different"]} |
| of them made twice | {found["twice"]} |
| decisions published, including repetitions of equal content | {found["published"]} |
| seconds | {seconds:.0f} |

{broker_version()}, paho-mqtt {version("paho-mqtt")}.
"""


def broker_version() -> str:
    """The broker's name and version, from the first line of its help."""
    mosquitto = find_mosquitto() or "mosquitto"
    lines = subprocess.run([mosquitto, "-h"], capture_output=True, text=True, check=False).stdout.splitlines()  # noqa: S603
    return lines[0]


def write(text: str, name: str = NAME) -> None:
    """Put a part in the place of the one before, or behind all others."""
    from results import MARKED, stamp  # noqa: PLC0415 - much is imported there, and each process imports this file

    path = HERE / "RESULTS.md"
    whole = path.read_text(encoding="utf-8")
    found = {match[1]: match[0] for match in re.finditer(MARKED, whole, re.DOTALL)}
    part = f"\n<!-- {name} -->\n{text.rstrip()}\n{stamp()}"
    whole = whole.replace(found[name], part) if name in found else whole + part
    path.write_text(whole, encoding="utf-8")
    say(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="by default 200")
    parser.add_argument("--seed", type=int, default=0, help="of messages and kills; by default 0")
    options = parser.parse_args()
    write(section(options.kills, options.seed))
