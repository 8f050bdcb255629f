#!/usr/bin/env python3
"""Checks the house rules that the formatter does not know: the length of lines and files, no second copy of code, no growth
without a reason.

Usage: scripts/house_rules.py               prints the lines of each module and what breaks a rule, and ends with status 1 if
                                            anything does
       scripts/house_rules.py --baseline    writes scripts/lines.txt, from which growth is counted: after a release, when the
                                            changelog's marks of growth go
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = (".swift", ".c", ".h", ".py", ".sh", ".js", ".css")
LONGEST_LINE = 132
# As many lines of code in a row, the same in two places, are a second copy.
COPY = 7
LONGEST_FILE = 620
LARGEST_FILE = 500_000
BASELINE = ROOT / "scripts/lines.txt"
# How many files may name each of these: what a change to a command or an answer costs. Lower a number with its count.
MENTIONS = {"quantity": 28, "cancel": 57, "juiceMade": 21, "restocked": 23}
# How many types other files can use although no word of their own name is in their file's. Lower it with the count.
STRANGERS = 57
# Files that are named for an idea, and hold its parts.
IDEAS = {
    "Answer", "Bench", "Invariants", "KafkaPort", "KafkaProtocol", "KioskState", "Menu", "Places", "Records", "Report", "Topics",
}
# Sources may grow by this many lines over the baseline. More needs a line in the changelog with what a user has of it, such as
# "- Orders can be sent for later (+420 lines)."
GROWTH = 200


def tracked():
    """The source files, by path, with their lines."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    paths = (ROOT / name for name in sorted(listed.stdout.split("\0")) if name.endswith(CODE))
    return {path.relative_to(ROOT): path.read_text().split("\n")[:-1] for path in paths if path.exists()}


def long_lines(files):
    for path, lines in files.items():
        for number, line in enumerate(lines, 1):
            # A text by itself, such as a record's value, may be longer: it is not read line by line.
            if len(line) > LONGEST_LINE and not re.fullmatch(r' *#?".*"#?,?', line):
                yield path, number, f"{len(line)} characters, at most {LONGEST_LINE}"


def copies(files):
    """Runs of lines that stand twice. What says nothing by itself is passed over: comments, imports, punctuation."""
    thin = re.compile(r"^(?:[^\w]*|import \S+|(?://|#|\*|/\*).*|else \{|return|break|\}? ?else ?\{?)$")
    places = defaultdict(list)
    for path, lines in files.items():
        telling = [(number, line.strip()) for number, line in enumerate(lines, 1) if not thin.match(line.strip())]
        for index in range(len(telling) - COPY + 1):
            window = telling[index:index + COPY]
            places[path.suffix, tuple(text for _, text in window)].append((path, window[0][0]))
    known = set()
    for (first, line), (second, other) in sorted(
        (found[0], place) for found in places.values() for place in found[1:]
    ):
        # The run goes on with the next line.
        if (first, second, line - other) not in known:
            yield second, other, f"{COPY} lines or more that stand at {first}:{line}, too"
        known.add((first, second, line - other))


def long_files(files):
    for path, lines in files.items():
        if path.parts[0] == "Sources" and path.suffix == ".swift" and len(lines) > LONGEST_FILE:
            yield path, LONGEST_FILE, f"{len(lines)} lines, at most {LONGEST_FILE}"


def large_files():
    """What was added by mistake, such as a program: it would stay in the history."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for path in filter(None, listed.split("\0")):
        if (ROOT / path).is_file() and (ROOT / path).stat().st_size > LARGEST_FILE:
            yield f"{path}: over {LARGEST_FILE:,} bytes"


def mentions():
    """How many files have each word, without those that others wrote."""
    def count(word):
        paths = ["--", ".", ":!docs/LICENSES.md", ":!scripts/house_rules.py", ":!CONTRIBUTING.md"]
        found = subprocess.run(["git", "grep", "-lw", word, *paths], cwd=ROOT, check=True, capture_output=True, text=True)
        return len(found.stdout.splitlines())
    return {word: count(word) for word in MENTIONS}


def strangers(files):
    """The types that nobody would look for in their files.

    >>> code = ["public struct TopicList {}", "private enum Cache {}", "final class OpenFiles {", "  struct Inner {}"]
    >>> list(strangers({Path("a/TopicReader.swift"): code, Path("a/Menu.swift"): ["struct Fruit {"]}))
    ['TopicReader: OpenFiles']
    """
    declaration = re.compile(
        r"(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|final|indirect) )*(?:struct|class|enum|protocol|actor) (\w+)")

    def words(name):
        return {word.removesuffix("s") for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*", name)}

    for path, lines in files.items():
        if path.suffix == ".swift" and path.stem not in IDEAS and not path.stem.endswith("Support"):
            found = filter(None, map(declaration.match, lines))
            yield from (f"{path.stem}: {name[1]}" for name in found if not words(name[1]) & words(path.stem))


def sizes(files):
    """The number of lines of Swift in each module."""
    modules = defaultdict(int)
    for path, lines in files.items():
        if path.suffix == ".swift":
            modules["/".join(path.parts[:2]) if len(path.parts) > 2 else str(path.parts[0])] += len(lines)
    return dict(modules)


def growth(modules, baseline, changelog):
    """How the lines of Sources break the rule of growth, if they do.

    >>> growth({"Sources/a": 500, "Tests/a": 9000}, {"Sources/a": 300}, "")
    >>> growth({"Sources/a": 501, "Sources/b": 9}, {"Sources/a": 300}, "- A wish (+9 lines).")
    'Sources has grown by 210 lines, at most 209: name in CHANGELOG.md what a user has of them, with "(+1 lines)"'
    >>> growth({"Sources/a": 501}, {"Sources/a": 300}, "- A wish (+1 lines).")
    """
    grown, before = (sum(lines for name, lines in each.items() if name.startswith("Sources/")) for each in (modules, baseline))
    grown -= before
    allowed = GROWTH + sum(int(lines) for lines in re.findall(r"\(\+(\d+) lines\)", changelog))
    if grown > allowed:
        what = f'name in CHANGELOG.md what a user has of them, with "(+{grown - allowed} lines)"'
        return f"Sources has grown by {grown} lines, at most {allowed}: {what}"
    return None


def main():
    files = tracked()
    modules = sizes(files)
    if sys.argv[1:] == ["--baseline"]:
        BASELINE.write_text("".join(f"{lines:7} {module}\n" for module, lines in sorted(modules.items())))
    baseline = {module: int(lines) for lines, module in map(str.split, BASELINE.read_text().splitlines())}
    broken = [
        f"{path}:{line}: {what}" for rule in (long_lines, copies, long_files) for path, line, what in rule(files)
    ]
    broken += large_files()
    broken += filter(None, [growth(modules, baseline, (ROOT / "CHANGELOG.md").read_text())])
    mentioned = mentions()
    broken += [f"{count} files have the word {word}, at most {MENTIONS[word]}: say it where it is known already"
               for word, count in mentioned.items() if count > MENTIONS[word]]
    strange = list(strangers(files))
    if len(strange) > STRANGERS:
        broken.append(f"{len(strange)} types are in a file of another name, at most {STRANGERS}: " + ", ".join(strange))
    print(f"types in a file of another name: {len(strange)}")
    print("files that name " + ", ".join(f"{word}: {count}" for word, count in mentioned.items()))
    for module in sorted(modules | baseline):
        lines = modules.get(module, 0)
        print(f"{lines:7,} {lines - baseline.get(module, 0):+7,} {module}")
    print(f"{sum(modules.values()):7,} {sum(modules.values()) - sum(baseline.values()):+7,} lines of Swift in all")
    print("\n".join(broken) if broken else f"{len(files)} files keep the house rules")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
