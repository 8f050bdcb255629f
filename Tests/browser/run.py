#!/usr/bin/env python3
"""Drives the kiosk's page in headless Chromium: run.py BINARIES [test_orders test_page.PageTest …].

Tests wait for events, never for a fixed time.
"""

import pathlib
import signal
import sys
import unittest

from case import KioskTest
from stand import Stand, browser


def main(binaries, names):
    loader = unittest.defaultTestLoader
    folder = str(pathlib.Path(__file__).parent)
    tests = loader.loadTestsFromNames(names) if names else loader.discover(folder, top_level_dir=folder)
    KioskTest.stand = Stand(binaries)
    try:
        KioskTest.driver = browser()
        try:
            result = unittest.TextTestRunner(verbosity=2).run(tests)
        finally:
            KioskTest.driver.quit()
    finally:
        KioskTest.stand.stop()
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    # On SIGTERM, end the started processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1], sys.argv[2:]))
