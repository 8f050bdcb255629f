#!/usr/bin/env python3
"""Runs a command of Swift Testing, and ends it once it has said nothing for 20 minutes: a test that hangs cannot end itself. Then
it names the tests that have begun and not ended.

Usage: scripts/watch_tests.py COMMAND...

>>> unfinished(['◇ Test run started.', '◇ Test a() started.', '◇ Test b(x:) started.', '✔ Test b(x:) with 2 test cases passed'])
['a()']
>>> unfinished(['◇ Suite A started.', '◇ Test a() started.', '✘ Test a() failed after 0.1 seconds with 1 issue.'])
[]
"""
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter

SILENCE = 1200  # Seconds. The longest tests take three minutes, alone on two busy cores.
STARTED = re.compile(r"^\S+ +Test (?!case |run )(.+) started\.$")
ENDED = re.compile(r"^\S+ +Test (.+?)(?: with \d+ test cases?)? (?:passed|failed|skipped|was cancelled)\b")


def unfinished(lines):
    """The names of the tests that started and did not end, each as often as that is so."""
    open_tests = Counter()
    for line in lines:
        if started := STARTED.match(line):
            open_tests[started[1]] += 1
        elif ended := ENDED.match(line):
            open_tests[ended[1]] -= 1
    return sorted(open_tests.elements())


def main():
    # A group of its own, so that what a test has started ends with it.
    command = subprocess.Popen(
        sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)

    def end(number=signal.SIGTERM, _frame=None):
        os.killpg(command.pid, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    lines = []
    is_late = threading.Event()

    def give_up():
        is_late.set()
        end(signal.SIGKILL)

    def new_timer():
        timer = threading.Timer(SILENCE, give_up)
        timer.daemon = True
        timer.start()
        return timer

    timer = new_timer()
    for line in command.stdout:
        timer.cancel()
        print(line, end="", flush=True)
        lines.append(line.rstrip("\n"))
        timer = new_timer()
    timer.cancel()
    status = command.wait()
    if is_late.is_set():
        print(f"✘ nothing has ended for {SILENCE} s; unfinished:", *unfinished(lines) or ["none"], sep="\n✘   ", flush=True)
        return 1
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
