#!/bin/sh
# Java 17 for Spark: one that is there, else Debian's where we may install it; without it the tests cannot run.
command -v java >/dev/null && exit 0
if command -v apt-get >/dev/null; then
    if [ "$(id -u)" = 0 ]; then become=""; else become="sudo -n"; fi
    $become apt-get update -qq || true # one source that fails is no reason to give up
    $become env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless >/dev/null
fi
command -v java >/dev/null || { echo "no Java, and it cannot be installed: Spark needs version 17 or newer" >&2; exit 1; }
