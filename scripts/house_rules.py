#!/usr/bin/env python3
"""Checks the house rules that the formatter does not know: how long lines are, and no second copy of code.

Usage: scripts/house_rules.py    in the repository; prints the lines of each module and what breaks a rule, and ends with
status 1 if anything does
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
            # A text by itself, such as a record's value, may be longer: nobody reads half of it.
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


def sizes(files):
    """The number of lines of Swift in each module, so that growth is seen."""
    modules = defaultdict(int)
    for path, lines in files.items():
        if path.suffix == ".swift":
            modules["/".join(path.parts[:2]) if len(path.parts) > 2 else str(path.parts[0])] += len(lines)
    return modules


def main():
    files = tracked()
    broken = [f"{path}:{line}: {what}" for rule in (long_lines, copies) for path, line, what in rule(files)]
    modules = sizes(files)
    for module, lines in sorted(modules.items()):
        print(f"{lines:7,} {module}")
    print(f"{sum(modules.values()):7,} lines of Swift in all")
    print("\n".join(broken) if broken else f"{len(files)} files keep the house rules")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
