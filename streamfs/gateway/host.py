"""A gateway built from its settings."""

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from threading import Event
from time import time

import orjson

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.lease import Lease
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.model_file import ModelFile
from streamfs.gateway.operations.actions import Actions
from streamfs.gateway.operations.json_log import configure
from streamfs.gateway.operations.notify import ALIVE, READY, STOPPING, notify, watchdog_seconds
from streamfs.gateway.recertifier import Recertifier
from streamfs.gateway.recovery import kept_model
from streamfs.gateway.service import Gateway
from streamfs.gateway.settings.http_token import read_token
from streamfs.gateway.settings.sections import Http
from streamfs.gateway.settings.settings import Settings
from streamfs.gateway.settings_file import SettingsFile, load_model
from streamfs.gateway.statuses import OFFLINE, ONLINE, Status, status_topic
from streamfs.gateway.storage.last_run import LastRun
from streamfs.gateway.storage.mirror import Mirror
from streamfs.gateway.storage.state import State, view_folder
from streamfs.gateway.transport.transport import Transport
from streamfs.gateway.view_writer import ViewWriter
from streamfs.gateway.warm_up import warm_up
from streamfs.procedure.procedure import Decision

_log = logging.getLogger(__name__)

_CONNECT_TIMEOUT = 2.0  # seconds, during which the gateway does nothing else


@contextmanager
def hosted(
    settings: Settings,
    *,
    on_decision: Callable[[Decision], None] | None = None,
    energy_log: Path | None = None,
) -> Iterator[Gateway]:
    """Build a gateway, which already answers over HTTP if the settings say so; close it after the block.

    Parameters
    ----------
    settings : Settings
        The settings.
    on_decision : callable, optional
        Called with each safe decision.
    energy_log : path, optional
        File of the energy log.

    Raises
    ------
    StreamfsError
        If model, streams, broker, state or port cannot be used as set.
    """
    configure(settings.log.format, settings.log.level)
    settings_file = SettingsFile(settings)
    with ExitStack() as exits:
        state = None if settings.state is None else exits.enter_context(_open_state(settings.state, settings))
        kept = None if state is None else partial(kept_model, state, trust=settings.trust)
        model_file = ModelFile(settings_file.load, settings_file.read_again, kept)
        procedure = model_file.first(state, trust=settings.trust)
        bindings = settings.bindings(procedure.channels)
        lease = _lease(settings, bindings)
        transport = exits.enter_context(closing(_transport(settings, lease)))
        view = ViewWriter(_view_folder(settings), settings.view.seconds)
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
            goodbye=_status(settings, lease, OFFLINE, is_orderly=True),
            energy_log=energy_log,
            on_decision=on_decision,
            view=None if settings.state is None and settings.http is None else view,
        )
        exits.callback(gateway.stop_storing)
        gateway.recertifier = Recertifier(settings.model, trust=settings.trust)
        if lease is not None:
            gateway.lease = exits.enter_context(closing(lease))
        warm_up(gateway.core.procedure)
        if settings.http is not None:
            exits.enter_context(_served(settings, settings.http, gateway, view))
        if state is not None and settings.mirror is not None:
            mirror = Mirror(state, settings.mirror, settings.commit.segment_bytes)
            state.mirror = exits.enter_context(closing(mirror))
        exits.enter_context(_frozen_garbage())
        yield gateway


@contextmanager
def _served(settings: Settings, http: Http, gateway: Gateway, view: ViewWriter) -> Iterator[None]:
    """Answer over HTTP in a block."""
    from streamfs.gateway.operations.web import ForPages, serve  # noqa: PLC0415 - needs an extra

    actions = _actions(settings, gateway)
    pages = ForPages(view.newest, view.course, actions)
    with serve(http.host, http.port, gateway.statistics, gateway.health, pages) as (host, port):
        _log.info("metrics and health at http://%s:%d", host, port)
        if actions.are_allowed:
            view.http, view.muted = f"http://{host}:{port}", lambda: actions.muted
        yield


def prepare(settings: Settings) -> None:
    """Do what takes long as a gateway starts, so that one that starts later in this process is ready sooner.

    The model is loaded and warmed up, what answers over HTTP is imported, and garbage collection leaves both out.
    """
    warm_up(load_model(settings))
    if settings.http is not None:
        for name in ("web", "metrics"):
            import_module(f"streamfs.gateway.operations.{name}")
    gc.collect()
    gc.freeze()


def systemd_notifier(gateway: Gateway, stop: Event) -> Callable[[], None]:
    """Return a callback for each iteration of the gateway's loop that notifies systemd."""
    every = (watchdog_seconds() or 0.0) / 2
    notified: dict[str, float] = {}

    def update() -> None:
        now = gateway.turned
        if READY not in notified:  # systemd cannot help if there is no broker
            notified[READY] = notified[ALIVE] = now
            notify(READY)
        if stop.is_set() and STOPPING not in notified:
            notified[STOPPING] = now
            notify(STOPPING)
        if every and now - notified.get(ALIVE, 0.0) >= every:
            notified[ALIVE] = now
            notify(ALIVE)

    return update


def status(settings: Settings, word: str) -> Publication:
    """Return the publication that the gateway is online or offline."""
    content = {"status": word, "gateway": settings.name}
    return Publication(status_topic(settings.prefix, settings.name), orjson.dumps(content))


def _status(settings: Settings, lease: Lease | None, word: str, *, is_orderly: bool = False) -> Publication:
    """Return the same, of a gateway that may have a lease."""
    if lease is None:
        return status(settings, word)
    return lease.own.ended(is_orderly=is_orderly).publication(settings.prefix)


def _lease(settings: Settings, bindings: Bindings) -> Lease | None:
    """Return the lease of a gateway that shares streams, or may have a standby; None if it is alone."""
    last = LastRun() if settings.state is None else LastRun.read(settings.state)
    if settings.shard is None and settings.mirror is None and not last.epoch:
        return None
    own = Status(settings.name, ONLINE, settings.shard or "", token_hex(8), time(), last.epoch).of_bindings(
        bindings
    )

    def note() -> None:
        if settings.state is not None:
            LastRun(own.run, own.epoch).write(settings.state)

    return Lease(own, settings.prefix, watch(settings, own.run), last.run, note)


def watch(settings: Settings, run: str) -> Transport:
    """Return a connection of its own for the statuses of gateways, given a name that nobody else has."""
    broker = settings.broker
    return Transport(broker.address(), f"streamfs-watch-{run}", qos=0, keepalive=broker.keepalive)


@contextmanager
def _frozen_garbage() -> Iterator[None]:
    """Exclude what is loaded by now, which is large and stays, from garbage collection."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _view_folder(settings: Settings) -> Path | None:
    """Return where the view is written."""
    if settings.view.folder is not None or settings.state is None:
        return settings.view.folder
    return view_folder(settings.state)


def _actions(settings: Settings, gateway: Gateway) -> Actions:
    """Return what operators may do, with the token that the settings name."""
    topics = {"label": f"{settings.prefix}/label/", "command": f"{settings.prefix}/command/{settings.name}"}
    return Actions(read_token(settings), topics, gateway.send, gateway.request_reload)


def _open_state(folder: Path, settings: Settings) -> State:
    return State(
        folder,
        segment_bytes=settings.commit.segment_bytes,
        segment_seconds=settings.commit.segment_seconds,
        spool=settings.spool,
        decisions_kept=settings.limits.decisions_kept,
    )


def _transport(settings: Settings, lease: Lease | None) -> Transport:
    broker, limits = settings.broker, settings.limits
    transport = Transport(
        broker.address(),
        broker.client_id,
        qos=broker.qos,
        keepalive=broker.keepalive,
        session_expiry=broker.session_expiry,
        receive_maximum=broker.receive_maximum,
        max_packet_bytes=limits.packet_bytes,
        max_queue=max(limits.queue, broker.receive_maximum),
        connect_timeout=_CONNECT_TIMEOUT,
        will=_status(settings, lease, OFFLINE),
        birth=status(settings, ONLINE) if lease is None else None,
    )
    if lease is not None:
        transport.permits = lease.permits
    return transport
