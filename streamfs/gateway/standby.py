"""A standby: takes over once the broker says that the gateway is gone."""

from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from threading import Event
from time import monotonic, time

from streamfs.errors import SettingsError, TransportError
from streamfs.gateway.host import prepare, watch
from streamfs.gateway.settings.settings import Settings
from streamfs.gateway.statuses import Status, status_topic
from streamfs.gateway.storage.last_run import LastRun
from streamfs.gateway.storage.mirror import sever
from streamfs.gateway.storage.state import journal_path
from streamfs.gateway.transport.transport import Transport

_POLL = 0.1  # seconds that is waited for a status at most
_PATIENCE = 2.0  # seconds for the broker to answer
_GOODBYE = 0.2  # seconds for disconnecting


def stand_by(settings: Settings, stop: Event, say: Callable[[str], object]) -> bool:
    """Wait until the gateway of these settings is gone, and fence it; its mirror is `state` here.

    Parameters
    ----------
    settings : Settings
        Those of the gateway, but for the state, which is its mirror.
    stop : threading.Event
        Ends the wait.
    say : callable
        Called with what happens.

    Returns
    -------
    bool
        Whether a gateway is to be run with the settings now.

    Raises
    ------
    SettingsError
        If they have no state.
    TransportError
        If the broker does not answer while the gateway is fenced.

    Notes
    -----
    What was acknowledged to the broker is in the mirror. First the gateway's status says, under a higher epoch,
    that it is taken over: it does not connect any more. Then its connection is taken over, so that it
    acknowledges nothing more. Only then the mirror is read.
    """
    if settings.state is None:
        raise SettingsError(f"{settings.file}: state is missing, expected the mirror of the gateway")
    prepare(settings)
    run, topic = token_hex(8), status_topic(settings.prefix, settings.name)
    transport = watch(settings, run)
    try:
        transport.subscribe([topic])
        is_standing_by = False
        while not stop.is_set():
            messages = transport.poll(_POLL)
            if transport.is_subscribed and not is_standing_by:
                is_standing_by = True
                say(f"standing by for {settings.name} at {settings.broker.address()}; stop with Ctrl-C")
            for message in messages:
                transport.acknowledge(1)
                status = Status.read(message.payload) if message.topic == topic else None
                if status is not None and _is_gone(status, settings.state):
                    say(f"gateway {status.gateway} is gone: taking over")
                    _take_over(settings, settings.state, transport, status, run)
                    return True
        return False
    finally:
        transport.close(_GOODBYE)


def _is_gone(status: Status, state: Path) -> bool:
    """Return whether a gateway has ended without saying so, and there is something to go on with."""
    return not (status.is_online or status.is_orderly) and journal_path(state).exists()


def _take_over(settings: Settings, state: Path, transport: Transport, gone: Status, run: str) -> None:
    """Fence a gateway that is gone, and make its mirror a state."""
    taken = Status(settings.name, shard=settings.shard or "", run=run, since=time(), epoch=gone.epoch + 1)
    transport.publish(taken.publication(settings.prefix), run)
    deadline = monotonic() + _PATIENCE
    while run not in transport.confirmed():
        if monotonic() > deadline:
            raise TransportError("the broker does not confirm the status of a standby")
        transport.poll(_POLL)
    broker = settings.broker
    fence = Transport(broker.address(), broker.client_id, qos=broker.qos, session_expiry=broker.session_expiry)
    fence.connect(_PATIENCE)
    fence.close(_GOODBYE)
    sever(state)
    LastRun(run, taken.epoch).write(state)
