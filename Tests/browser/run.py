#!/usr/bin/env python3
"""Drives the kiosk's page in headless Chromium: run.py BINARIES [test_orders test_page.PageTest …].

Tests wait for events, never for a fixed time. Since they mostly wait, two processes share them, each with a stand and a browser of
its own.
"""

import multiprocessing
import pathlib
import signal
import sys
import tempfile
import unittest

from case import KioskTest
from stand import Stand, browser


class Shared(unittest.TestSuite):
    """The tests that are left, each for whoever asks first."""

    def __init__(self, tests):
        super().__init__()
        self.tests = list(flattened(tests))
        self.next = multiprocessing.Value("i", 0)

    def __iter__(self):
        while True:
            with self.next:
                index = self.next.value
                self.next.value += 1
            if index >= len(self.tests):
                return
            yield self.tests[index]

    def _removeTestAtIndex(self, index):
        """Keeps them: the index is not that in ``tests``."""


def flattened(tests):
    for test in tests:
        yield from flattened(test) if isinstance(test, unittest.TestSuite) else [test]


def run(binaries, tests, output=sys.stderr):
    KioskTest.stand = Stand(binaries)
    try:
        KioskTest.driver = browser()
        try:
            result = unittest.TextTestRunner(output, verbosity=2).run(tests)
        finally:
            KioskTest.driver.quit()
    finally:
        KioskTest.stand.stop()
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)


def main(binaries, names):
    loader = unittest.defaultTestLoader
    folder = str(pathlib.Path(__file__).parent)
    tests = Shared(loader.loadTestsFromNames(names) if names else loader.discover(folder, top_level_dir=folder))
    if len(tests.tests) < 2:
        run(binaries, tests)
    with tempfile.TemporaryFile("w+") as output:
        other = multiprocessing.Process(target=run, args=(binaries, tests, output))
        other.start()
        try:
            run(binaries, tests)
        finally:
            other.join()
            output.seek(0)
            sys.stderr.write(output.read())
            if other.exitcode:
                sys.exit(1)


if __name__ == "__main__":
    def end(*_):
        for process in multiprocessing.active_children():
            process.terminate()
        sys.exit(143)

    # On SIGTERM, end the started processes, too.
    signal.signal(signal.SIGTERM, end)
    main(sys.argv[1], sys.argv[2:])
