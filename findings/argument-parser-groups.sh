#!/usr/bin/env bash
# Expected: a command is parsed in time that grows with the number of its options, however they are grouped.
# Instead: in a debug build, each level of nested @OptionGroup multiplies the work: the innermost group is made some four times as
#   often. In a release build it is made as often at any depth, or little more.
# Versions: swift-argument-parser 1.8.2, on Swift 6.
# Source: ArgumentSet.init validates its type if DEBUG is set, and the validators make the sets of all groups in it, which validate
#   theirs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p Sources/groups
cat > Package.swift <<'SWIFT'
// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "groups", dependencies: [.package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")],
    targets: [
        .executableTarget(name: "groups", dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")])
    ])
SWIFT
cat > Sources/groups/Groups.swift <<'SWIFT'
import ArgumentParser

nonisolated(unsafe) var count = 0

struct One: ParsableArguments {
    @Flag var loud = false
    init() { count += 1 }
}
struct Two: ParsableArguments { @OptionGroup var inner: One }
struct Three: ParsableArguments { @OptionGroup var inner: Two }

func parsed<Group: ParsableArguments>(_: Group.Type) throws -> Int {
    count = 0
    _ = try Group.parse(["--loud"])
    return count
}

@main struct Groups {
    static func main() throws { print(try parsed(One.self), try parsed(Two.self), try parsed(Three.self)) }
}
SWIFT
for configuration in debug release; do
    swift build -c $configuration > build.log 2>&1 || { cat build.log; exit 1; }
    read -r one two three < <("$(swift build -c $configuration --show-bin-path)/groups")
    echo "$configuration: the innermost group is made $one, $two, $three times, with one, two and three levels"
    case $configuration in
        debug) [ "$three" -ge $((3 * two)) ] || { echo "this has changed"; exit 1; } ;;
        release) [ "$three" -lt $((2 * two)) ] || { echo "this has changed"; exit 1; } ;;
    esac
done
