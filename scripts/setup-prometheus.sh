#!/usr/bin/env bash
# Installs prometheus and promtool if they are missing, and prints their folder on standard output.
#
# Debian's package would start Prometheus as a system service that listens on all interfaces. So the package is only unpacked,
# into .build/prometheus.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "setup: $1" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        command -v sudo >/dev/null || fail "run as root, or ask an administrator for: $*"
        sudo "$@"
    fi
}

unpacked=.build/prometheus
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
    dirname "$(command -v promtool)"
    exit
elif [ "$(uname -s)" = Darwin ]; then
    command -v brew >/dev/null || fail "install Homebrew from https://brew.sh, then try again"
    echo "setup: installing prometheus" >&2
    brew install --quiet prometheus >&2 || fail "brew could not install prometheus; try that by hand to see why"
    dirname "$(command -v promtool)"
    exit
elif [ ! -x $unpacked/usr/bin/prometheus ]; then
    command -v apt-get >/dev/null || fail "install prometheus with your package manager"
    # A fresh machine has no package lists, or outdated ones.
    as_root apt-get update -qq >/dev/null || fail "apt-get update failed; check the machine's package sources, then try again"
    echo "setup: unpacking prometheus into $unpacked" >&2
    rm -rf $unpacked && mkdir -p $unpacked
    (cd $unpacked && apt-get download -qq prometheus >/dev/null 2>&1) || fail "apt-get could not download prometheus"
    dpkg-deb --extract $unpacked/prometheus_*.deb $unpacked
    rm $unpacked/prometheus_*.deb
fi
echo "$unpacked/usr/bin"
