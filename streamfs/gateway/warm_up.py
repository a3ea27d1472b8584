"""What a gateway does once before the first message, so that this one does not wait for it."""

import orjson

from streamfs.gateway.bindings import Bindings
from streamfs.gateway.core import Core, start_record
from streamfs.gateway.options import Options
from streamfs.gateway.storage.log import MESSAGE, Record
from streamfs.procedure import Procedure

_N_TICKS = 3


def warm_up(procedure: Procedure) -> None:
    """Follow a stream of zeros for some ticks: whatever is compiled is compiled then, or found in its cache.

    Parameters
    ----------
    procedure : Procedure
        What is to be followed; it learns nothing from this.
    """
    core = Core(procedure, Bindings.single(procedure.channels, ["zeros"]), Options(lateness=0.0))
    core.take([start_record(procedure.digest, 0.0)])
    period = procedure.period
    batch = orjson.dumps({"t0": _N_TICKS * period, "dt": period, "v": [0.0, None]})
    for payload in (*(_reading(tick * period) for tick in range(_N_TICKS)), batch):
        core.take(Record(MESSAGE, 0.0, f"sensors/zeros/{channel}", payload) for channel in procedure.channels)
    core.finish()


def _reading(time: float) -> bytes:
    return orjson.dumps({"t": time, "v": 0.0})
