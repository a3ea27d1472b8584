"""Settings that bind simulated devices."""

from sensors_sim.devices import KINDS


def device_lines(devices):
    """Return lines of `gateway.toml`: sources and aliases of devices, given as their profiles and names."""
    devices = list(devices)
    addresses = {name: KINDS[kind].address.format(name=name) for kind, name in devices}
    lines = [f'[[source]]\ndevice = "{kind}"' for kind in dict.fromkeys(kind for kind, _ in devices)]
    aliases = {name: address for name, address in addresses.items() if address != name}
    return lines + [f'[node."{name}"]\nalias = ["{address}"]' for name, address in aliases.items()]
