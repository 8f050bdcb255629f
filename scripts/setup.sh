#!/usr/bin/env bash
# Checks that a Swift toolchain is there, and installs librdkafka and a C compiler if they are missing. Arguments name more
# to install: `python` (with virtual environments), `kcat`, `systemd-analyze` and `valgrind` (on Linux), `browser` (Chromium,
# its driver and a font for Korean).
set -euo pipefail

fail() {
    echo "setup: $1" >&2
    exit 1
}

minimum="6.2"
command -v swift >/dev/null || fail "no Swift toolchain found; install Swift $minimum or newer from https://www.swift.org/install"
version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
[ -n "$version" ] ||
    fail "\`swift --version\` says nothing; repair the toolchain or install $minimum or newer from https://www.swift.org/install"
[ "$(printf '%s\n' "$minimum" "$version" | sort -V | head -n 1)" = "$minimum" ] ||
    fail "Swift $version is too old; install Swift $minimum or newer from https://www.swift.org/install"

# librdkafka counts as installed if a C program that includes it compiles: that is what the build needs.
has_librdkafka() {
    echo "#include <librdkafka/rdkafka.h>" | ${CC:-cc} -fsyntax-only -x c - 2>/dev/null
}

is_librdkafka_too_old() {
    ! printf '#include <librdkafka/rdkafka.h>\n#if RD_KAFKA_VERSION < 0x020002ff\n#error\n#endif\n' |
        ${CC:-cc} -fsyntax-only -x c - 2>/dev/null
}

install_debian() {
    local as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "run as root, or ask an administrator for: apt-get install $*"
        as_root="sudo env DEBIAN_FRONTEND=noninteractive"
    fi
    echo "setup: installing $*"
    export DEBIAN_FRONTEND=noninteractive
    # A fresh machine has no package lists, or outdated ones.
    $as_root apt-get update -qq >/dev/null ||
        fail "apt-get update failed; check the machine's package sources, then try again"
    $as_root apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" >/dev/null ||
        fail "apt-get could not install $*; try that by hand to see why"
}

case "$(uname -s)" in
Linux)
    missing=()
    command -v cc >/dev/null || command -v clang >/dev/null || missing+=(gcc libc6-dev)
    CC=${CC:-$(command -v cc || command -v clang || echo cc)}
    has_librdkafka || missing+=(librdkafka-dev)
    for tool in "$@"; do
        case "$tool" in
        python) python3 -c "import ensurepip, venv" 2>/dev/null || missing+=(python3-venv) ;;
        browser)
            command -v chromedriver >/dev/null || missing+=(chromium chromium-driver)
            # Without a Korean font the pictures would show boxes.
            ls /usr/share/fonts/opentype/noto/NotoSansCJK* >/dev/null 2>&1 || missing+=(fonts-noto-cjk)
            ;;
        systemd-analyze) command -v systemd-analyze >/dev/null || missing+=(systemd) ;;
        *) command -v "$tool" >/dev/null || missing+=("$tool") ;;
        esac
    done
    if [ ${#missing[@]} -gt 0 ]; then
        command -v apt-get >/dev/null || fail "install these with your package manager: ${missing[*]}"
        install_debian "${missing[@]}"
    fi
    if is_librdkafka_too_old; then
        fail "the installed librdkafka is older than 2.0.2; that of Debian 12, Ubuntu 24.04 and newer will do"
    fi
    ;;
Darwin)
    command -v brew >/dev/null || fail "install Homebrew from https://brew.sh, then try again"
    for formula in pkgconf librdkafka "$@"; do
        # Only on Linux.
        [ "$formula" != systemd-analyze ] && [ "$formula" != valgrind ] || continue
        if [ "$formula" = browser ]; then
            command -v chromedriver >/dev/null || brew install --quiet --cask chromium chromedriver ||
                fail "brew could not install chromium and chromedriver; try that by hand to see why"
            continue
        fi
        brew list --formula "$formula" >/dev/null 2>&1 && continue
        echo "setup: installing $formula"
        brew install --quiet "$formula" || fail "brew could not install $formula; try that by hand to see why"
    done
    ;;
*)
    fail "this works on Linux and macOS; on $(uname -s), use the Dockerfile"
    ;;
esac
