"""Checks /metrics against its description in docs/METRICS.md."""

import collections
import re
import sys

from basics import ROOT, ensure

DOCUMENT = ROOT / "docs" / "METRICS.md"

# Only Linux has these.
LINUX_ONLY = {
    "process_open_fds", "process_resident_memory_bytes", "process_threads", "process_virtual_memory_bytes",
}  # fmt: skip

# Labels whose values are documented.
ENUMERATED = {"outcome", "client"}

INTRODUCTION = """\
# Metrics

What `juice serve --http HOST:PORT` and `juice kiosk --admin-http HOST:PORT` show at `/metrics`. `make deploy-check` holds this page
against running ones, and `make deploy-check ARGS=--write-metrics` writes it. Alerts and a dashboard made of these:
[deploy](../deploy).

- Counters start at 0 with each process, so look at their `rate`. They count only what was committed.
- A histogram has the series `_bucket` (label `le`), `_sum` and `_count`.
- Lag is measured once a second, against the end of the log at the last fetch.
- Latency histograms leave out commands whose timestamp lies more than a minute ahead or more than 7 days back.
- `juice_clock_difference_seconds` is the median of 15 commands, one a second. Each was written after the instance last looked where
  its partition ends, so none waited in a backlog. Without new commands the value stays.
- `worker` numbers the workers of an instance from 0. `kind` is that of a [command](CONTRACT.md#commands), `result` the type of an
  [answer](CONTRACT.md#answers), such as `juice_made`.
"""

TABLE = """\

| metric | type | labels | what it says |
|---|---|---|---|
"""


class MetricsPage:
    """The metrics on a page of /metrics."""

    def __init__(self, text):
        self.helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
        self.types = dict(re.findall(r"^# TYPE (\S+) (.*)$", text, re.MULTILINE))
        self.labels = collections.defaultdict(lambda: collections.defaultdict(set))
        for name, labels in re.findall(r"^([a-zA-Z_:][\w:]*)\{(.*)\} ", text, re.MULTILINE):
            for label, value in re.findall(r'(\w+)="([^"]*)"', labels):
                self.labels[self.family(name)][label].add(value)

    def family(self, name):
        """The metric that a series name belongs to."""
        stem = re.sub("_(bucket|sum|count)$", "", name)
        return stem if self.types.get(stem) == "histogram" else name

    def rows(self, names):
        """The table rows of these metrics."""
        rows = []
        for name in sorted(names):
            labels = "; ".join(
                f"`{label}`: {', '.join(f'`{value}`' for value in sorted(values))}" if label in ENUMERATED else f"`{label}`"
                for label, values in sorted(self.labels[name].items())
                if label != "le"
            )
            rows.append(f"| `{name}` | {self.types[name]} | {labels} | {self.helps[name]} |\n")
        return "".join(rows)


def document(pages):
    """The expected docs/METRICS.md: the metrics of all commands, then those of each."""
    common = set.intersection(*(set(page.types) for page in pages.values()))
    text = INTRODUCTION + "\n## All of them\n" + TABLE + next(iter(pages.values())).rows(common)
    for command, page in pages.items():
        text += f"\n## {command}\n" + TABLE + page.rows(page.types.keys() - common)
    return text


def check_document(pages, write):
    """docs/METRICS.md matches the pages of the commands."""
    for command, page in pages.items():
        nameless = page.types.keys() - page.helps.keys()
        ensure(not nameless, f"{command} has metrics without help: {', '.join(sorted(nameless))}")
    expected = document(pages)
    if write:
        DOCUMENT.write_text(expected)
    actual = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    if sys.platform != "linux":
        actual = "".join(
            line for line in actual.splitlines(keepends=True) if not any(f"`{name}`" in line for name in LINUX_ONLY)
        )
    differing = set(actual.splitlines()) ^ set(expected.splitlines())
    ensure(
        actual == expected,
        "docs/METRICS.md is not what is shown (make deploy-check ARGS=--write-metrics rewrites it):\n"
        + "\n".join(sorted(differing)),
    )
    return f"{len(set().union(*(page.types for page in pages.values())))} metrics"
