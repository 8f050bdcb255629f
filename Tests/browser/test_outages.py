"""Outages of broker, service and kiosk."""

import urllib.parse

from case import KioskTest
from stand import all_of, one, visit, wait_until_live


class OutageTest(KioskTest):
    def test_a_page_says_that_orders_wait(self):
        self.stand.stage.tell("service stop")
        try:
            self.order("banana")
            self.wait(lambda: one(self.driver, "#link").get_attribute("data-state") == "unanswered", "orders wait")
            self.assertIn("have had no answer", one(self.driver, "#alert").text)
            self.assert_header_is_clear()
            # A reload makes no second order.
            self.driver.refresh()
            self.wait_for_card("sent", "Ordering banana juice…")
        finally:
            self.stand.stage.tell("service start")
        self.wait_until_made("juice made: banana juice")
        wait_until_live(self.driver)
        self.order("kiwi")
        self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
        self.assertEqual(self.count("banana"), "8")

    def test_a_broker_that_was_never_reached_is_shown(self):
        with self.kiosk("--any-store", "--bootstrap-servers", "127.0.0.1:1") as url:
            self.driver.get(f"{url}?store={self.store}")
            self.wait(lambda: one(self.driver, "#link").get_attribute("data-state") == "lost", "no broker")
            self.assertIn("The shop cannot be reached", one(self.driver, "#alert").text)
            self.assertEqual(self.count("kiwi"), "–")

    def test_a_lost_broker_is_shown_and_heals(self):
        self.stand.stage.tell("broker down")
        try:
            self.wait(lambda: one(self.driver, "#link").get_attribute("data-state") == "lost", "the broker is gone")
            self.assertIn("The shop cannot be reached", one(self.driver, "#alert").text)
            self.assert_header_is_clear()
            self.order("banana")
        finally:
            self.stand.stage.tell("broker up")
        wait_until_live(self.driver)
        self.assertFalse(one(self.driver, "#alert").is_displayed())
        self.wait_until_made("juice made: banana juice")
        self.wait(lambda: self.count("banana") == "8", "8 bananas")

    def test_a_lost_kiosk_is_shown_and_heals(self):
        kiosk, url = self.stand.open_kiosk("--any-store")
        visit(self.driver, url, self.store)
        kiosk.stop()
        self.wait(lambda: one(self.driver, "#link").get_attribute("data-state") == "unreachable", "the kiosk is gone")
        self.assert_header_is_clear()
        self.order("banana")
        kiosk, _ = self.stand.open_kiosk("--any-store", http=urllib.parse.urlparse(url).netloc)
        try:
            self.wait_until_made("juice made: banana juice")
            wait_until_live(self.driver)
        finally:
            kiosk.stop()

    def test_a_page_loads_the_menu_that_the_kiosk_was_restarted_with(self):
        kiosk, url = self.stand.open_kiosk("--any-store")
        visit(self.driver, url, self.store)
        self.press("kiwi")
        kiosk.stop()
        special = {"id": "special", "name": {"en": "special", "ko": "특별"}, "recipe": {"kiwi": 1}}
        with self.menu(juices=[special]) as options:
            kiosk, _ = self.stand.open_kiosk("--any-store", *options, http=urllib.parse.urlparse(url).netloc)
            try:
                # Not under a basket.
                self.wait(lambda: "have changed" in one(self.driver, "#alert").text, "the page says so")
                self.assertEqual(all_of(self.driver, "[data-juice=special]"), [])
                one(self.driver, "#basket-open").click()
                one(self.driver, ".basket-line .icon").click()
                self.wait(lambda: one(self.driver, "[data-juice=special]").is_displayed(), "the new menu")
                wait_until_live(self.driver)
                self.assertFalse(one(self.driver, "#alert").is_displayed())
            finally:
                kiosk.stop()
