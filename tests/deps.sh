#!/bin/sh
# Install the named Debian packages that are missing; ask the network nothing when none is.
set -eu
missing=
for p in "$@"; do
    s=$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null || true)
    [ "$s" = installed ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "make deps: need root or sudo to install:$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q >/dev/null
# shellcheck disable=SC2086  # the list is meant to split
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
