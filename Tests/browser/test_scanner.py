"""A barcode scanner, which types into whatever has the focus."""

import time

from selenium.webdriver.common.keys import Keys

from case import KioskTest
from stand import PIN, all_of, one, visit


class ScannerTest(KioskTest):
    def scan(self, code, pause=0.005):
        """Types a code and Enter, so many seconds from key to key by the keyboard's clock."""
        # Apart from what was typed before.
        start = time.time() + 1
        for place, key in enumerate([*code, "Enter"]):
            event = {"key": key, "text": "\r" if key == "Enter" else key, "timestamp": start + place * pause}
            event["windowsVirtualKeyCode"] = 13 if key == "Enter" else ord(key)
            for kind in ("keyDown", "keyUp"):
                self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", event | {"type": kind})

    def focus(self, selector):
        self.driver.execute_script("document.querySelector(arguments[0]).focus()", selector)

    def test_what_it_types_orders_nothing(self):
        self.press("kiwi")
        one(self.driver, "#basket-open").click()
        for selector in ("[data-item=kiwi]", "#send-order", "[data-juice=banana]"):
            self.focus(selector)
            self.scan("8801234567893")
            self.assertEqual(one(self.driver, "#basket-open").text, "Basket: 1", selector)
            self.assertEqual(one(self.driver, "[data-item=kiwi]").get_attribute("value"), "1", selector)
        # Also where the field was emptied before.
        field = one(self.driver, "[data-item=kiwi]")
        field.send_keys(Keys.BACKSPACE)
        self.scan("8801234567893")
        self.assertEqual((field.get_attribute("value"), one(self.driver, "#basket-open").text), ("", "Basket: 1"))
        # People are slower.
        self.scan("0002", pause=0.1)
        self.wait(lambda: one(self.driver, "#basket-open").text == "Basket: 2", "what was typed")
        self.assertEqual(all_of(self.driver, ".answer-card"), [])

    def test_it_answers_no_question(self):
        self.order("strawberry")
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        self.focus("#shortage-yes")
        self.scan("4006381333931")
        self.assertTrue(one(self.driver, "#shortage").is_displayed())
        self.assertTrue(one(self.driver, "#order").is_displayed())

    def test_the_stock_is_not_what_it_types(self):
        with self.kiosk("--any-store", "--staff-pin-file", self.stand.pin_file) as url:
            visit(self.driver, url, self.store)
            self.go("stock")
            self.focus("#token")
            # A badge.
            self.scan(PIN)
            self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the PIN is accepted")
            self.focus("[aria-label='kiwi +1']")
            self.scan("88012345")
            self.edit("add")
            field = one(self.driver, "[data-fruit=kiwi]")
            field.send_keys("3")
            self.scan("88012345")
            self.assertEqual(field.get_attribute("value"), "3")
            field.send_keys(Keys.ENTER)
            row = all_of(self.driver, ".stock-row")[3]
            self.wait(lambda: "Applied: 13" in row.text, "the edit alone")
            # What is far too much is asked about, once.
            for text, said in (("88012345", "88,012,345 is far more"), ("", "Applied: 88,012,358"), ("5", "Applied: 88,012,363")):
                self.scan(text, pause=0.1)
                self.wait(lambda: said in row.text, said)
