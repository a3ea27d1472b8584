#!/bin/sh
# A Chromium for the tests of the page: one that is there, else Debian's where we may install it, else none, said loudly.
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && exit 0
done
if command -v apt-get >/dev/null; then
    if [ "$(id -u)" = 0 ]; then
        become=""
    elif sudo -n true 2>/dev/null; then
        become="sudo -n"
    else
        become="false"
    fi
    $become apt-get update -qq || true # one source that fails is no reason to give up
    $become env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null || true
fi
command -v chromium >/dev/null && exit 0
echo "*********************************************************************************" >&2
echo "* No Chromium, and it cannot be installed: THE TESTS THAT NEED IT ARE SKIPPED    *" >&2
echo "*********************************************************************************" >&2
