#!/bin/sh
# Programs that tests need: sh tests/install.sh PROGRAM..., each mosquitto, chromium, promtool or java. One that is there
# is left alone; else it is Debian's where we may install it, else it is missing, said loudly.

found() {
    for name in "$@"; do
        command -v "$name" >/dev/null && return
    done
    return 1
}

is_there() {
    case $1 in
        chromium) found chromium chromium-browser google-chrome google-chrome-stable ;;
        mosquitto | java | promtool) found "$1" ;;
        *) echo "$1 is not one of mosquitto, chromium, promtool, java" >&2; exit 2 ;;
    esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

take_package() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
}

# Prometheus is a service that would be started; its tool for rules is all that is taken.
unpack_promtool() {
    folder=$(mktemp -d)
    (
        cd "$folder" && as_root apt-get download -qq prometheus 2>/dev/null && dpkg-deb --extract prometheus_*.deb . \
            && as_root install -m 755 usr/bin/promtool /usr/local/bin/promtool
    )
    rm -rf "$folder"
}

PATH="$PATH:/usr/sbin"
missing=""
for program in "$@"; do
    is_there "$program" || missing="$missing $program"
done
[ -z "$missing" ] && exit 0
if found apt-get; then
    as_root apt-get update -qq || true # one source that fails is no reason to give up
    for program in $missing; do
        case $program in
            java) take_package openjdk-17-jre-headless ;;
            promtool) unpack_promtool ;;
            *) take_package "$program" ;;
        esac
    done
fi
for program in $missing; do
    is_there "$program" || echo "*** No $program, and it cannot be installed: TESTS THAT NEED IT ARE SKIPPED ***" >&2
done
