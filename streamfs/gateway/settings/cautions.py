"""What is allowed in the settings of a gateway, and lets others read, change or send what they should not."""

import stat
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.options import PREVIOUS, RAISE, RECERTIFY, SAFE, DeviceReturn
from streamfs.gateway.core.speech import safe_for
from streamfs.gateway.messages.topics import overlap
from streamfs.gateway.settings.settings import Settings
from streamfs.gateway.transport.broker_address import BrokerAddress
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.promise_monitor import raised

_HERE = ("localhost", "127.0.0.1", "::1")


def cautions(settings: Settings, address: BrokerAddress, procedure: Procedure) -> list[str]:
    """Return warnings, each with its remedy: of the broker, the promise, and files that are open to others."""
    of_broker = *_of_broker(settings, address), *_of_protocol(settings)
    return [
        *of_broker,
        *_of_sources(settings),
        *_of_promise(settings, procedure),
        *_of_devices(settings),
        *_of_files(settings),
    ]


def _of_broker(settings: Settings, address: BrokerAddress) -> Iterator[str]:
    if address.tls is None and address.host not in _HERE:
        yield f"everybody between here and {address.host} can read and change messages: use TLS, by mqtts://"
    if not (address.user or settings.broker.certificate):
        yield (
            "the gateway has no user name at the broker: if that admits everybody, anyone can send readings and "
            "silence nodes; deploy/mosquitto.acl has an access list"
        )


def _of_protocol(settings: Settings) -> Iterator[str]:
    if settings.broker.protocol != "5":
        yield (
            "with MQTT 3.1.1 the broker does not say what it refuses, so that refused publications are lost, and "
            "decides itself how long it keeps the session; control messages do not expire"
        )


def _of_sources(settings: Settings) -> Iterator[str]:
    for one, other in combinations(settings.sources, 2):
        filters = (source.route().template.filters(("+",))[0] for source in (one, other))
        if overlap(*filters):
            yield (
                f"topics of the sources {one.topic} and {other.topic} overlap: the broker may send twice what "
                "both match, which counts as duplicate readings; make one of them narrower"
            )


def _of_promise(settings: Settings, procedure: Procedure) -> Iterator[str]:
    asked = settings.promise
    if asked.on_withdrawal == RAISE and raised(procedure, asked.raised_to) is None:
        yield (
            f'on_withdrawal = "raise" does nothing: {asked.raised_to:g}, raised_to, is no higher than the '
            "confidence threshold of the model, or the model has several"
        )
    if asked.on_withdrawal == PREVIOUS and settings.state is None:
        yield 'on_withdrawal = "previous" does nothing without a state, which keeps earlier models'
    if asked.on_withdrawal == RECERTIFY:
        thresholds = procedure.rule.thresholds()
        if thresholds is not None and thresholds.gives_up:
            yield (
                'on_withdrawal = "recertify" certifies nothing: the model gives streams up, which are then not '
                "seen whole; collect recordings with labels for `streamfs recertify`"
            )
        elif raised(procedure, 1.0) is None:
            yield 'on_withdrawal = "recertify" does nothing: the model has several confidence thresholds'


def _of_devices(settings: Settings) -> Iterator[str]:
    profiles = {source.number: source.profile for source in settings.sources if source.key}
    reopen_after = settings.streams.reopen_after
    for profile in profiles.values():
        if profile is None:
            continue
        rest = profile.reach.rest
        if reopen_after is not None and rest > reopen_after:
            yield (
                f"devices of {profile.name} rest with a report every {rest:g} s, and are up to that late when an "
                f"episode is reopened: reopen_after is {reopen_after:g} s; set rest in a profile of your own"
            )
        yield _of_return(profile, settings.devices)


def _of_return(profile: DeviceProfile, back: DeviceReturn) -> str:
    """Return what devices of a profile do once the gateway has stopped or died."""
    interval = f"{safe_for(profile, back.safe).most:g} s"
    if profile.reach.returns_after is not None:
        return (
            f"devices of {profile.name} go back to {interval} by themselves, {profile.reach.returns_after:g} s "
            "after they were last asked, however the gateway ends"
        )
    stop = (
        f"are asked for {interval} as the gateway stops"
        if profile.hears_at_once and back.on_stop == SAFE
        else ("keep the interval that they were asked for last when the gateway stops")
    )
    return (
        f"devices of {profile.name} {stop}, and keep the interval that they were asked for last if it dies, "
        f"{profile.reach.rest:g} s at most: only streamfs guard asks them for {interval} then"
    )


def _of_files(settings: Settings) -> Iterator[str]:
    for key, folder in (("state", settings.state), ("spool", settings.spool)):
        if folder is not None:
            yield from _open_to_others(key, folder, 0o077, "go-rwx")
    for path in (settings.model, settings.model.parent):
        yield from _open_to_others("model", path, 0o022, "go-w")
    if settings.broker.password_file is not None:
        yield from _open_to_others("broker.password_file", settings.broker.password_file, 0o007, "o-rwx")


def _open_to_others(key: str, path: Path, unwanted: int, remedy: str) -> Iterator[str]:
    """Yield a warning if a file or folder that is there has unwanted bits in its mode."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    is_sticky = mode & stat.S_ISVTX  # nobody removes or renames what others have made in it
    if mode & unwanted and not is_sticky:
        yield f"{key}: {path} has mode {mode:o}, and is open to other users: chmod {remedy} {path}"
