#!/usr/bin/env bash
# Fetches a version of librdkafka into .build/librdkafka if it is not there, and prints its folder, for LD_LIBRARY_PATH.
#
# Nothing is compiled: the wheels of confluent-kafka on PyPI each contain a built librdkafka. librdkafka-wheels.txt has the hashes
# of some versions; others, and `newest`, are taken as PyPI has them today.
#
# Usage: scripts/librdkafka.sh path/to/python 2.8.0|newest
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "librdkafka: $1" >&2
    exit 1
}

python=$1
version=$2
folder=$PWD/.build/librdkafka/$version
[ "$(uname -s)" = Linux ] || fail "other versions can only be put under the command on Linux"

[ "$(uname -m)/$version" != aarch64/2.0.2 ] || fail "PyPI has no wheel of 2.0.2 for aarch64; leave it out: make compat VERSIONS=..."

asked=$folder/requirement.txt
hashes=()
if [ "$version" = newest ]; then
    rm -rf "$folder" && mkdir -p "$folder"
    echo confluent-kafka > "$asked"
elif [ ! -e "$folder/librdkafka.so.1" ]; then
    rm -rf "$folder" && mkdir -p "$folder"
    if grep "^confluent-kafka==$version " scripts/librdkafka-wheels.txt > "$asked"; then
        hashes=(--require-hashes)
    else
        echo "librdkafka: scripts/librdkafka-wheels.txt has no hash of confluent-kafka $version; fetching it unchecked" >&2
        echo "confluent-kafka==$version" > "$asked"
    fi
fi
if [ -e "$asked" ]; then
    echo "librdkafka: fetching $version" >&2
    machine=$(uname -m)
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: "${hashes[@]}" \
        --implementation cp --python-version 3.11 --platform "manylinux_2_28_$machine" \
        --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" \
        --dest "$folder" --requirement "$asked" >&2 || fail "PyPI has no wheel of confluent-kafka $version for $machine"
    "$python" -m zipfile --extract "$folder"/*.whl "$folder/wheel"
    mv "$folder"/wheel/confluent_kafka.libs/* "$folder"
    ln -s "$(cd "$folder" && ls librdkafka-*.so.1)" "$folder/librdkafka.so.1"
    rm -r "$folder/wheel" "$folder"/*.whl "$asked"
fi
echo "$folder"
