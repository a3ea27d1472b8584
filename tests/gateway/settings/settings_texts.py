"""Settings of a gateway, as texts."""

LEAST = 'model = "rooms.streamfs"\n[broker]\nurl = "mqtt://localhost"\n'
ALL = """
model = "models/rooms.streamfs"
name = "attic"
prefix = "house/streamfs"
state = "/var/lib/streamfs"
spool = "spool"
trust = true
profile = "cc2420"

[broker]
url = "mqtts://broker.example:8884"
user = "me"
password_file = "password"
ca = "ca.pem"
certificate = "me.pem"
key = "me.key"
keepalive = 60
qos = 0
receive_maximum = 100
session_expiry = 0
client_id = "upstairs"

[time]
lateness = 5
grace = 20.5
overtaking = 1

[streams]
pairs_file = "nodes.csv"
reopen_after = 60

[streams.pairs.desk]
a = "n1"
b = "n2"

[[streams.group]]
nodes = ["n3", "n4", "n5"]
roles = ["a", "b"]

[[source]]
topic = "zigbee2mqtt/{node}"
format = "json"
fields = { "illuminance" = "light@flag:300", "climate.t" = "temperature" }
time = "last_seen"
time_unit = "iso"
sequence = "n"

[[source]]
topic = "raw/{node}"
format = "array"
channel = "acceleration@every:2"

[limits]
streams = 1000
streams_when_full = "evict"
evicted_per_hour = 0.5
queue = 50
payload_bytes = 1024
batch_samples = 500
pending = 2000
decisions_kept = 10
outbox = 500
ahead = 60

[commit]
messages = 10
seconds = 0.5
snapshot_seconds = 5
segment_bytes = 65536
segment_seconds = 20

[http]
host = "::1"
port = 0

[log]
format = "json"
level = "debug"

[homeassistant]
prefix = "ha"

[drift]
delta = 0.01
"""
