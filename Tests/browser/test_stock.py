"""The stock screen."""

from selenium.webdriver.common.keys import Keys

from case import KioskTest
from stand import TOKEN, all_of, one, texts, visit


class StockTest(KioskTest):
    def test_stock_is_edited_with_the_token(self):
        self.unlock("not-the-right-token")
        self.wait(lambda: "not right" in one(self.driver, "#sign-in-said").text, "the token is refused")
        self.assertFalse(one(self.driver, "#apply").is_enabled())
        one(self.driver, "#token").clear()
        one(self.driver, "#token").send_keys(TOKEN + Keys.ENTER)
        self.wait(lambda: one(self.driver, "#apply").is_enabled(), "the token is accepted")
        rows = all_of(self.driver, ".stock-row")
        rows[0].find_elements("css selector", "button")[1].click()
        rows[0].find_elements("css selector", "button")[1].click()
        one(self.driver, "[data-fruit=kiwi]").send_keys("-3")
        one(self.driver, "#apply").click()
        self.wait(lambda: "Applied: 12" in rows[0].text and "Applied: 7" in rows[3].text, "the applied levels")
        self.wait_for_card("restocked", "Stock is now: strawberry 12, kiwi 7")
        # Edits by others.
        self.juice("restock", "kiwi=40", "--store", self.store)
        self.wait(lambda: rows[3].find_element("css selector", ".count").text == "40", "the other's edit")
        # Set instead of add.
        all_of(self.driver, "#mode label")[1].click()
        one(self.driver, "[data-fruit=mango]").send_keys("99")
        one(self.driver, "[data-fruit=mango]").send_keys(Keys.ENTER)
        self.wait(lambda: "Applied: 99" in rows[4].text, "the count that was set")

    def test_a_rejected_edit_says_why(self):
        self.unlock()
        self.wait(lambda: one(self.driver, "#apply").is_enabled(), "the token is accepted")
        one(self.driver, "[data-fruit=mango]").send_keys("-11" + Keys.ENTER)
        self.wait_for_card("rejected", "a count cannot go below 0")
        one(self.driver, "[data-fruit=mango]").clear()
        one(self.driver, "[data-fruit=mango]").send_keys("many" + Keys.ENTER)
        self.wait(lambda: "Only whole numbers" in all_of(self.driver, ".stock-row")[4].text, "no number")

    def test_without_a_token_file_editing_is_off(self):
        kiosk, url = self.stand.open_kiosk("--stores", "a,b")
        try:
            visit(self.driver, url)
            one(self.driver, "nav a[href='#stock']").click()
            self.assertIn("cannot be edited here", one(self.driver, "#editing-off").text)
            self.assertFalse(one(self.driver, "#apply").is_enabled())
            self.assertEqual(texts(self.driver, "#store option"), ["a", "b"])
        finally:
            kiosk.stop()
