"""A gateway of an office, as its page sees it: real decisions and views of some minutes, made at once."""

from dataclasses import replace
from threading import Event
from time import time

import numpy as np
from helpers.promised import PROMISE
from helpers.records import Models, label, message, new_core, raw

import feature_extractors as fx
from streamfs import Costs, Procedure, StreamSet
from streamfs.classifiers.tree import Tree
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.evaluation.model_card import build_card
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import clock_record
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.storage.models import Models as KeptModels
from streamfs.gateway.view_writer import ViewWriter
from streamfs.training.other_thresholds import follow_priced, other_thresholds

CO2, TEMPERATURE = "co2", "temperature@delta:0.5"
CLASSES = ("empty", "occupied")
ROOMS = [f"{floor}.{room:02d}" for floor in ("ground", "first", "second") for room in range(1, 11)]
N_TICKS = 14
PERIOD = 20.0


def procedure():
    """A tree with a promise and a card, that decides whether a room is occupied by its carbon dioxide."""
    counts = [[50, 50], [45, 15], [5, 35], [40, 1], [14, 5], [4, 9], [1, 40], [4, 4], [1, 9]]
    tree = Tree.from_json(
        {
            "feature": [0, 0, 0, -1, -1, 1, -1, -1, -1],
            "nominal": [False] * 9,
            "threshold": [520.0, 455.0, 600.0, 0.0, 0.0, 22.0, 0.0, 0.0, 0.0],
            "first_child": [1, 3, 5, 0, 0, 7, 0, 0, 0],
            "n_children": [2, 2, 2, 0, 0, 2, 0, 0, 0],
            "code": [0.0] * 9,
            "share": [1.0, 0.6, 0.4, 0.7, 0.3, 0.3, 0.7, 0.5, 0.5],
            "counts": [[float(n) for n in row] for row in counts],
            "laplace": True,
        }
    )
    features = (fx.get(f"mean({CO2})"), fx.get(f"last({TEMPERATURE})"))
    plain = Procedure(features, tree, CLASSES, Costs([1e-4, 3e-5]), 0.9, 30, PERIOD)
    values = readings(len(ROOMS), N_TICKS)
    labels = np.where(np.arange(len(ROOMS)) % 2, *CLASSES[::-1])
    streams = StreamSet(values, labels, [CO2, "temperature"], PERIOD)
    by_class = {"labelled_as": {"empty": 48, "occupied": 42}, "right_of": {"empty": 45, "occupied": 40}}
    promise = PROMISE | by_class | {"streams_of": {"empty": 50, "occupied": 50}}
    about = {
        "promise": promise,
        "card": build_card(plain, streams, profile("cc2420")),
        "other_thresholds": other_thresholds(follow_priced(plain, streams, Pricing("cc2420"))),
    }
    return replace(plain, about=about)


def readings(n_rooms, n_ticks):
    """Carbon dioxide and temperature of rooms, of which every other one is occupied."""
    rng = np.random.default_rng(3)
    level = np.where(np.arange(n_rooms) % 2, 575.0, 475.0)[:, np.newaxis] + rng.normal(0, 30, (n_rooms, 1))
    co2 = level + rng.normal(0, 70, (n_rooms, n_ticks))
    temperature = 21.0 + rng.normal(0, 1, (n_rooms, 1)) + rng.normal(0, 0.3, (n_rooms, n_ticks))
    return np.stack([co2, temperature], axis=2)


class Told:
    """What a gateway says of itself beside its core."""

    def __init__(self, core, warnings=()):
        self.ready = Event()
        self.ready.set()
        self.core = core
        self.warned = warnings

    def statistics(self):
        roster = self.core.roster
        gauges = {
            "streams_known": roster.n_streams,
            "streams_undecided": roster.n_undecided,
            "queue": 0,
            "outbox": 2,
        }
        counters = {"messages": self.core.counters["messages"]}
        promise = {
            "status": "kept so far",
            "promised": {"accuracy": 0.8, "completeness": 0.7},
            "decisions": 21,
            "labels": 12,
            "right": 11,
            "accuracy_at_least": 0.71,
            "findings": [],
        }
        return Statistics(
            counters,
            gauges,
            dict(self.core.decided),
            roster.n_open,
            self.core.joules,
            "joules",
            {},
            promise=promise,
        )

    def health(self):
        return Health(True, subscribed=True, storing=True, loop_age=0.0, lag=0.0, data=self.warned)


def look(writer, core, gateway):
    """Write a view, whether it is due or not."""
    writer._due = writer._news_due = writer._rows_due = 0.0
    writer.advance(core, gateway)
    writer._thread.join()


def make_state(folder):
    """Write the view of an office into the folder of a state, and its model; the newest reading is of now."""
    model = procedure()
    KeptModels(folder / "models").keep_model(model.packed)
    core, _ = new_core(
        Models(model),
        Bindings.single(model.channels, ROOMS),
        name="attic",
        profile="cc2420",
        lateness=0.0,
        grace=0.0,
    )
    warnings = ["the clock of ground.07 is 3605 s ahead: perhaps a time zone; then set time_zone for its source"]
    writer, gateway = ViewWriter(folder / "view", seconds=60.0), Told(core, warnings)
    values, now, silent = readings(len(ROOMS), N_TICKS), time(), set()
    for tick in range(N_TICKS):
        at = now - PERIOD * (N_TICKS - 1 - tick)
        late = [3605.0 if room == "ground.07" else 0.0 for room in ROOMS]
        records = [
            message(room, at + ahead, float(value), channel=channel, arrival=at + 0.4)
            for room, ahead, of_room in zip(ROOMS, late, values[:, tick], strict=True)
            for channel, value in zip(model.channels, of_room, strict=True)
            if room not in silent and (room != "second.10" or channel == CO2)
        ]
        effects = core.take(records)
        effects.add(core.take([clock_record(at + 0.4)]))
        writer.note_decisions(effects.decisions)
        silent |= {decision.stream for decision in effects.decisions} - {"first.09"}  # which does not obey
        look(writer, core, gateway)
    strange = [
        raw("sensors/first.03/co2", b"<script>alert('co2')</script>", now),
        raw("sensors/first.03/co2", b'{"t": "noon", "v": 412}', now),
        raw("sensors/cellar.01/co2", b"512", now),
        label("first.02", "occupied", now),
    ]
    writer.note_rejected(core.take(strange).rejected)
    writer._began = now - PERIOD * N_TICKS
    writer.http = "http://127.0.0.1:9"
    look(writer, core, gateway)
    return folder
