#!/usr/bin/env bash
# Makes the API documentation of built modules, in .build/docs; a warning is an error.
#
# It does not use SwiftPM's plugin, which plans the whole build again for each module and needs two more packages.
#
# Usage: scripts/docs.sh folder-of-the-build module ...    each module after the modules that it imports
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
shift
work=.build/docs.work
rm -rf $work .build/docs
mkdir -p $work

docc=docc
[ "$(uname -s)" != Darwin ] || docc="xcrun docc"
target=$(swift -print-target-info | sed -nE 's/.*"triple": "(.*)".*/\1/p' | head -n 1)

# The C modules that Swift modules import: with their own module map, or with one that SwiftPM wrote.
maps=()
for map in Sources/*/module.modulemap .build/checkouts/*/Sources/*/include/module.modulemap "$build"/*.build/module.modulemap; do
    [ ! -e "$map" ] || maps+=(-Xcc "-fmodule-map-file=$map")
done

archives=()
known=()
for module in "$@"; do
    mkdir "$work/$module"
    swift symbolgraph-extract -module-name "$module" -target "$target" -I "$build/Modules" "${maps[@]}" \
        -minimum-access-level public -output-dir "$work/$module"
    $docc convert --additional-symbol-graph-dir "$work/$module" --output-path "$work/$module.doccarchive" \
        --fallback-display-name "$module" --fallback-bundle-identifier "$module" --warnings-as-errors \
        --transform-for-static-hosting --enable-experimental-external-link-support ${known[@]+"${known[@]}"}
    archives+=("$work/$module.doccarchive")
    known+=(--dependency "$work/$module.doccarchive")
done
$docc merge "${archives[@]}" --output-path .build/docs
rm -r $work
