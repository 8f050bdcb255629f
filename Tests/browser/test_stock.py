"""The stock screen."""

import urllib.parse

from selenium.webdriver.common.keys import Keys

from case import KioskTest
from stand import PIN, TOKEN, all_of, one, texts, visit, wait_until_live


class StockTest(KioskTest):
    def test_stock_is_edited_with_the_token(self):
        self.unlock("not-the-right-token")
        self.wait(lambda: "not right" in one(self.driver, "#staff-said").text, "the token is refused")
        self.assertFalse(one(self.driver, "#edit").is_displayed())
        one(self.driver, "#token").clear()
        one(self.driver, "#token").send_keys(TOKEN + Keys.ENTER)
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        rows = all_of(self.driver, ".stock-row")
        self.edit("add")
        one(self.driver, "[data-fruit=strawberry]").send_keys("2")
        one(self.driver, "[data-fruit=kiwi]").send_keys("-3")
        one(self.driver, "#apply").click()
        self.wait(lambda: "Applied: 12" in rows[0].text and "Applied: 7" in rows[3].text, "the applied levels")
        self.wait_for_card("restocked", "restocked: strawberry +2, now 12; kiwi -3, now 7")
        # Edits by others.
        self.juice("restock", "kiwi=40", "--store", self.store)
        self.wait(lambda: rows[3].find_element("css selector", ".count").text == "40", "the other's edit")
        # Set instead of add.
        self.edit("set")
        one(self.driver, "[data-fruit=mango]").send_keys("99")
        one(self.driver, "[data-fruit=mango]").send_keys(Keys.ENTER)
        self.wait(lambda: "Applied: 99" in rows[4].text, "the count that was set")

    def test_a_step_counts_when_it_is_made(self):
        self.unlock()
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        more, less = (one(self.driver, f"[aria-label='kiwi {step}']") for step in ("+1", "−1"))
        row = all_of(self.driver, ".stock-row")[3]
        for _ in range(3):
            more.click()
        self.wait(lambda: "Applied: 13" in row.text, "three more")
        less.click()
        self.wait(lambda: "Applied: 12" in row.text, "one less")
        self.assertEqual(all_of(self.driver, ".answer-card"), [])
        self.juice("restock", "kiwi=0", "--store", self.store)
        self.wait(lambda: less.get_attribute("aria-disabled") == "true", "nothing to take away")
        less.click()
        more.click()
        self.wait(lambda: "Applied: 1" in row.text, "one")

    def test_phones_show_digits_where_only_a_pin_is_needed(self):
        pin = ("--staff-pin-file", self.stand.pin_file)
        for options, label, mode in (
            (pin, "Staff PIN", "numeric"), (self.stand.for_staff, "Staff token", "text"),
            (pin + self.stand.for_staff, "Staff PIN or token", "text"),
        ):
            with self.kiosk(*options) as url:
                visit(self.driver, f"{url}#stock")
                self.assertEqual(one(self.driver, "#token-label").text, label)
                self.assertEqual(one(self.driver, "#token").get_attribute("inputmode"), mode)

    def test_staff_sign_in_once(self):
        with self.kiosk("--staff-pin-file", self.stand.pin_file) as url:
            visit(self.driver, url, "main")
            self.unlock("000000")
            self.wait(lambda: "not right" in one(self.driver, "#staff-said").text, "the PIN is refused")
            self.unlock("".join(chr(ord(digit) + 0xFEE0) for digit in PIN))
            self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the PIN is accepted, in the digits of an input method")
            self.assertEqual(self.driver.execute_script("return document.cookie"), "")
            # To the browser, another port of the machine is the same host.
            visit(self.driver, self.stand.url, "main")
            self.unlock()
            self.wait(lambda: one(self.driver, "#lock").is_displayed(), "signed in at another kiosk")
            visit(self.driver, url, "main")
            self.go("stock")
            self.wait(lambda: one(self.driver, "#lock").is_displayed(), "still signed in")
            one(self.driver, "[aria-label='kiwi +1']").click()
            self.wait(lambda: "Applied" in all_of(self.driver, ".stock-row")[3].text, "an edit")
            one(self.driver, "#lock").click()
            self.wait(lambda: one(self.driver, "#token").is_displayed(), "signed out")
            self.driver.refresh()
            self.wait(lambda: one(self.driver, "#token").is_displayed(), "still signed out")

    def test_a_session_ends_with_the_kiosk(self):
        kiosk, url = self.stand.open_kiosk("--any-store", *self.stand.for_staff)
        visit(self.driver, url, self.store)
        self.unlock()
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        kiosk.stop()
        kiosk, _ = self.stand.open_kiosk("--any-store", *self.stand.for_staff, http=urllib.parse.urlparse(url).netloc)
        try:
            wait_until_live(self.driver)
            one(self.driver, "[aria-label='kiwi +1']").click()
            self.wait_for_card("refused", "Please sign in again")
            self.assertTrue(self.has_focus("#token"))
            self.assertEqual(one(self.driver, "#staff-said").text, "")
            self.unlock()
            self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted again")
        finally:
            kiosk.stop()
        one(self.driver, "#lock").click()
        self.wait(lambda: "not signed out yet: The kiosk cannot" in one(self.driver, "#staff-said").text, "it is locked here alone")
        self.assertFalse(one(self.driver, "#edit").is_displayed())

    def test_input_methods_have_digits_and_signs_of_their_own(self):
        self.unlock()
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        self.edit("add")
        for text, level in (("３", 13), ("＋３", 16), ("－３", 13), ("–3", 10), ("−１", 9)):
            one(self.driver, "[data-fruit=kiwi]").send_keys(text + Keys.ENTER)
            self.wait(lambda: f"Applied: {level}" in all_of(self.driver, ".stock-row")[3].text, f"{level} after {text}")

    def test_amounts_are_typed_for_one_store(self):
        self.unlock()
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        self.edit("add")
        one(self.driver, "[data-fruit=kiwi]").send_keys("5")
        self.speak("ko")
        self.speak("en")
        self.assertEqual(one(self.driver, "[data-fruit=kiwi]").get_attribute("value"), "5")
        self.choose("main")
        self.assertEqual(one(self.driver, "[data-fruit=kiwi]").get_attribute("value"), "")

    def test_a_rejected_edit_says_why(self):
        self.unlock()
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        self.edit("add")
        one(self.driver, "[data-fruit=mango]").send_keys("-11" + Keys.ENTER)
        self.wait_for_card("rejected", "cannot go below 0")
        # Only the service can say why, so that stays in its language.
        self.speak("ko")
        self.wait_for_card("rejected", "cannot go below 0")
        self.speak("en")
        one(self.driver, "[data-fruit=mango]").clear()
        one(self.driver, "[data-fruit=mango]").send_keys("many" + Keys.ENTER)
        self.wait(lambda: "Only whole numbers" in all_of(self.driver, ".stock-row")[4].text, "no number")

    def test_without_a_token_file_editing_is_off(self):
        kiosk, url = self.stand.open_kiosk("--stores", "a,b")
        try:
            visit(self.driver, f"{url}#stock")
            self.assertFalse(one(self.driver, "nav a[href='#stock']").is_displayed())
            self.assertTrue(one(self.driver, "#order").is_displayed())
            self.assertEqual(texts(self.driver, "#store option"), ["a", "b"])
            # The page says who can edit the stock.
            self.juice("restock", "kiwi=0", "--store", "a")
            self.order("kiwi")
            self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the shortage")
            self.assertEqual(one(self.driver, "#shortage-text").text, "Please ask the staff: they can add more.")
            self.assertFalse(one(self.driver, "#shortage-yes").is_displayed())
            self.keys(Keys.ENTER)
            self.wait(lambda: not one(self.driver, "#shortage").is_displayed(), "OK closes it")
        finally:
            kiosk.stop()
