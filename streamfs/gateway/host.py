"""A gateway as its settings have it: put together, run, and taken apart again."""

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event

import orjson

from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.model_file import ModelFile
from streamfs.gateway.operations.json_log import configure
from streamfs.gateway.operations.notify import ALIVE, READY, STOPPING, notify, watchdog_seconds
from streamfs.gateway.service import Gateway
from streamfs.gateway.settings.settings import Settings
from streamfs.gateway.storage.state import State
from streamfs.gateway.transport.transport import Transport
from streamfs.gateway.warm_up import warm_up
from streamfs.procedure.procedure import Decision, Procedure

_log = logging.getLogger(__name__)

_CONNECT_TIMEOUT = 2.0  # seconds; the gateway does nothing else meanwhile, not even stop
_SPARE_BYTES = 4096  # of a packet beside its payload


@contextmanager
def hosted(
    settings: Settings,
    *,
    on_decision: Callable[[Decision], None] | None = None,
    energy_log: Path | None = None,
) -> Iterator[Gateway]:
    """Put a gateway together; within the block it may run, and afterwards all is closed.

    Parameters
    ----------
    settings : Settings
        What it is told.
    on_decision : callable, optional
        Called with each decision once it is safe.
    energy_log : path, optional
        A file for the lines of the energy log.

    Yields
    ------
    Gateway
        Which answers over HTTP already, if the settings want that.

    Raises
    ------
    StreamfsError
        If model, streams, broker, state or port are not as the settings have them.
    """
    configure(settings.log.format, settings.log.level)
    model_file = ModelFile(lambda: _load_bound(settings))
    with ExitStack() as exits:
        state = None if settings.state is None else exits.enter_context(_open_state(settings.state, settings))
        procedure = model_file.first(state, trust=settings.trust)
        bindings = settings.bindings(procedure.channels)
        transport = exits.enter_context(closing(_transport(settings)))
        gateway = Gateway(
            procedure,
            bindings,
            transport,
            settings,
            state=state,
            commits=settings.commit,
            max_queue=settings.limits.queue,
            trust=settings.trust,
            model_file=model_file,
            homeassistant=None if settings.homeassistant is None else settings.homeassistant.prefix,
            goodbye=status(settings, "offline"),
            energy_log=energy_log,
            on_decision=on_decision,
        )
        warm_up(gateway.core.procedure)
        if settings.http is not None:
            from streamfs.gateway.operations.web import serve  # noqa: PLC0415 - needs what only a site needs

            site = serve(settings.http.host, settings.http.port, gateway.statistics, gateway.health)
            _log.info("metrics and health at http://%s:%d", *exits.enter_context(site))
        exits.enter_context(_calm())
        yield gateway


def tell_systemd(gateway: Gateway, stop: Event) -> Callable[[], None]:
    """Return what is to be called each time the gateway's loop goes round: it tells systemd how it is."""
    every = (watchdog_seconds() or 0.0) / 2
    told: dict[str, float] = {}

    def tell() -> None:
        now = gateway.turned
        if READY not in told:  # whether there is a broker is not for systemd to mend
            told[READY] = told[ALIVE] = now
            notify(READY)
        if stop.is_set() and STOPPING not in told:
            told[STOPPING] = now
            notify(STOPPING)
        if every and now - told.get(ALIVE, 0.0) >= every:
            told[ALIVE] = now
            notify(ALIVE)

    return tell


def _load_bound(settings: Settings) -> Procedure:
    """Load the model that the settings name; one that they cannot bind is no good."""
    procedure = load_model(settings)
    settings.bindings(procedure.channels)
    return procedure


def load_model(settings: Settings) -> Procedure:
    """Load the model that the settings name."""
    return Procedure.load(settings.model, trust=settings.trust)


def status(settings: Settings, word: str) -> Publication:
    """Say whether the gateway is online."""
    content = {"status": word, "gateway": settings.name}
    return Publication(f"{settings.prefix}/status/{settings.name}", orjson.dumps(content))


@contextmanager
def _calm() -> Iterator[None]:
    """Let garbage be looked for only in what has come since: what is loaded by now stays, and is large."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _open_state(folder: Path, settings: Settings) -> State:
    return State(
        folder,
        segment_bytes=settings.commit.segment_bytes,
        spool=settings.spool,
        decisions_kept=settings.limits.decisions_kept,
    )


def _transport(settings: Settings) -> Transport:
    broker, limits = settings.broker, settings.limits
    return Transport(
        broker.address(),
        broker.client_id,
        qos=broker.qos,
        keepalive=broker.keepalive,
        session_expiry=broker.session_expiry,
        receive_maximum=broker.receive_maximum,
        max_packet_bytes=4 * limits.payload_bytes + _SPARE_BYTES,
        max_queue=max(limits.queue, broker.receive_maximum),
        connect_timeout=_CONNECT_TIMEOUT,
        will=status(settings, "offline"),
        birth=status(settings, "online"),
    )
