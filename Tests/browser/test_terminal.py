"""A public terminal: its page starts over when it is left alone."""

import urllib.parse

from selenium.webdriver.common.keys import Keys

from case import KioskTest
from stand import all_of, one, proxy, wait_until_live


# The terminal's seconds, which pass when a test says so. The question comes 20 s before.
LONG = 600


class TerminalTest(KioskTest):
    def open(self, url=None):
        self.driver.get(f"{url or self.stand.url}?store={self.store}&terminal={LONG}")
        wait_until_live(self.driver)

    def leave(self, seconds=LONG + 1):
        """As if nobody touched the page for so long."""
        self.driver.execute_script(
            "const now = performance.now.bind(performance); performance.now = () => now() + 1000 * arguments[0]", seconds)

    def ask(self):
        self.leave(LONG - 19)
        self.wait(lambda: one(self.driver, "#idle").is_displayed(), "the question")

    def test_the_next_visitor_finds_nothing_of_the_last(self):
        self.open()
        self.order("kiwi")
        self.wait_until_made("kiwi")
        self.speak("ko")
        self.press("banana")
        self.unlock()
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        self.choose("main")
        # Whoever is still there goes on.
        self.ask()
        self.keys(Keys.ESCAPE)
        self.wait(lambda: not one(self.driver, "#idle").is_displayed(), "the question is gone")
        self.assertTrue(one(self.driver, "#lock").is_displayed())
        self.leave()
        self.wait(lambda: one(self.driver, "#order-title").text == "In stock", "it has started over")
        self.wait(lambda: self.driver.execute_script("return document.querySelector('#store').value") == self.store, "its store")
        self.assertEqual(one(self.driver, "#basket-open").text, "Basket: empty")
        self.assertEqual(all_of(self.driver, ".own-order, .answer-card"), [])
        self.go("stock")
        self.assertTrue(one(self.driver, "#token").is_displayed())

    def test_the_page_stays_while_the_kiosk_cannot_be_reached(self):
        kiosk, url = self.stand.open_kiosk("--any-store")
        self.open(url)
        kiosk.stop()
        self.press("kiwi")
        self.leave()
        self.wait(lambda: not one(self.driver, "main").is_displayed(), "what the visitor did is hidden")
        kiosk, _ = self.stand.open_kiosk("--any-store", http=urllib.parse.urlparse(url).netloc)
        try:
            self.wait(lambda: one(self.driver, "#basket-open").text == "Basket: empty", "it has started over")
        finally:
            kiosk.stop()

    def test_it_starts_over_whatever_a_proxy_answers(self):
        tries = []
        refuse = lambda method, path: tries.append(path) or (403, {}, "") if path == "/api/staff/sign-out" else None
        with proxy(self.stand.url, refuse) as url:
            self.open(url)
            self.press("kiwi")
            self.unlock()
            self.wait(lambda: one(self.driver, "#edit").is_displayed(), "the token is accepted")
            self.leave()
            self.wait(lambda: one(self.driver, "#basket-open").text == "Basket: empty", "it has started over")
            # Once before, and once after.
            self.assertLessEqual(len(tries), 2)
            self.go("stock")
            self.assertTrue(one(self.driver, "#token").is_displayed())
            self.assertFalse(one(self.driver, "#edit").is_displayed())

    def tap(self, selector):
        box = "const { x, y, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();"
        x, y = self.driver.execute_script(f"{box} return [x + width / 2, y + height / 2]", selector)
        for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def test_a_tap_on_the_question_reaches_nothing_below(self):
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        try:
            self.open()
            self.press("kiwi")
            self.ask()
            self.driver.execute_script(
                "window.below = []; addEventListener('click', ({ target }) => below.push(!target.closest('dialog')), true)")
            for taps, selector in ((1, "#send-order"), (2, "#idle button")):
                self.assertTrue(one(self.driver, "#idle").is_displayed())
                self.tap(selector)
                self.wait(lambda: self.driver.execute_script("return below.length") == taps, f"a tap on {selector}")
            self.wait(lambda: not one(self.driver, "#idle").is_displayed(), "the question is gone")
            self.assertEqual(self.driver.execute_script("return below"), [False, False])
            self.assertEqual(one(self.driver, "#basket-open").text, "Basket: 1")
        finally:
            self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})

    def test_what_has_no_answer_keeps_the_page(self):
        self.open()
        self.stand.stage.tell("service stop")
        try:
            self.order("kiwi")
            self.leave()
            self.wait(lambda: one(self.driver, "#link").text == "Orders wait", "the page would have started over long ago")
            self.assertEqual(len(all_of(self.driver, ".own-order")), 1)
        finally:
            self.stand.stage.tell("service start")
        self.wait(lambda: self.count("kiwi") == "7", "it was made")
        self.wait(lambda: all_of(self.driver, ".own-order") == [], "it has started over")

    def test_what_does_not_get_through_keeps_the_page_for_as_long_as_it_is_sent(self):
        later = {}
        refuse = lambda method, path: (503, {}, "") if method == "POST" else later.get(path)
        with proxy(self.stand.url, refuse) as url:
            self.open(url)
            self.order("kiwi")
            self.wait_for_card("unsent", "A proxy answered 503")
            # As after the device slept.
            later["/api/settings"] = self.settings_after(3300)
            self.driver.execute_script("const now = Date.now; Date.now = () => now() + 3_300_000")
            self.leave()
            self.wait(lambda: all_of(self.driver, ".own-order, .answer-card") == [], "it has started over")
