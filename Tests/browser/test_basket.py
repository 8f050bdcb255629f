"""The basket, and cancels of the page's own orders."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.keys import Keys

from case import KioskTest
from stand import all_of, one, size, texts, visit, wait_until_live

SELECT_ALL = Keys.CONTROL + "a" + Keys.NULL


class BasketTest(KioskTest):
    def said(self):
        return one(self.driver, "#basket-open").text

    def open(self):
        one(self.driver, "#basket-open").click()

    def own_orders(self):
        return texts(self.driver, ".own-order .text")

    def cancel_button(self, place=0):
        return all_of(self.driver, ".own-order button")[place]

    def test_the_keyboard_suffices_on_a_phone(self):
        size(self.driver, 360, 780)
        for language, made in (
            ("en", "juice made: 2 × kiwi juice, strawberry banana juice"),
            ("ko", "키위쥬스, 딸바쥬스 나왔습니다! 맛있게 드세요!"),
        ):
            self.speak(language)
            self.tab_to("[data-juice=kiwi]")
            self.keys(Keys.ENTER)
            self.tab_to("[data-juice=strawberryBanana]")
            self.keys(Keys.ENTER)
            self.tab_to("#basket-open")
            self.keys(Keys.ENTER, Keys.TAB)
            self.assertTrue(self.has_focus(".basket-line button"))
            self.tab_to("[data-item=kiwi]")
            if language == "en":
                # Four kiwi juices need 12.
                self.driver.switch_to.active_element.send_keys(SELECT_ALL, "4")
                self.wait(lambda: one(self.driver, "#basket-short").text == "kiwi: 2 short", "what the basket lacks")
                self.driver.switch_to.active_element.send_keys(SELECT_ALL, "2", Keys.ENTER)
                self.wait(lambda: self.said() == "Basket: 3", "the sum")
            self.assertFalse(one(self.driver, "#basket-short").is_displayed())
            self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), 360)
            self.tab_to("#send-order")
            self.keys(Keys.ENTER)
            self.wait_until_made(made)
            self.assertEqual(all_of(self.driver, ".basket-line"), [])
            self.tab_to(".own-order button")
            self.keys(Keys.SPACE)
            self.wait(lambda: self.count("kiwi").startswith("10"), "the kiwis are back")
            self.wait(lambda: self.cancel_button().get_attribute("aria-disabled") == "true", "it is cancelled")
            # The button keeps the focus, and pressed again it does nothing.
            self.assertEqual(self.driver.switch_to.active_element, self.cancel_button())
        self.speak("en")

    def test_a_basket_is_changed(self):
        for juice in ("kiwi", "banana", "kiwi", "mango"):
            self.press(juice)
        self.assertEqual(self.said(), "Basket: 4")
        self.assertFalse(one(self.driver, "#basket-lines").is_displayed())
        self.open()
        self.assertEqual(texts(self.driver, ".basket-line .name"), ["kiwi juice", "banana juice", "mango juice"])
        # Removing a line, or stepping down to none, moves the focus to a neighbour.
        one(self.driver, "[aria-label='Remove mango juice']").click()
        one(self.driver, "[aria-label='banana juice −1']").send_keys(Keys.ENTER)
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("data-item"), "kiwi")
        field = one(self.driver, "[data-item=kiwi]")
        for typed, shown in (("500", "100"), ("", "100"), ("１２", "12"), ("1", "1")):
            field.send_keys(SELECT_ALL, Keys.DELETE, typed, Keys.ENTER)
            self.wait(lambda: field.get_attribute("value") == shown, f"{shown} after {typed!r}")
        self.keys(Keys.ARROW_DOWN)
        self.keys("0", Keys.ENTER)
        one(self.driver, "[aria-label='Remove kiwi juice']").send_keys(Keys.ENTER)
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("id"), "basket-open")
        self.assertEqual(self.said(), "Basket: empty")
        one(self.driver, "#send-order").click()
        self.assertEqual(all_of(self.driver, ".answer-card"), [])

    def test_what_the_basket_lacks_is_shown_before_it_is_sent(self):
        # Each of the two can be made, but not both.
        self.press("strawberryBanana")
        self.assertFalse(one(self.driver, "#basket-short").is_displayed())
        self.assertNotIn("short", one(self.driver, "[data-juice=strawberryBanana]").text)
        self.press("strawberryBanana")
        self.assertEqual(one(self.driver, "#basket-short").text, "strawberry: 10 short")
        # The basket and its juices say the same.
        for juice in ("strawberry", "strawberryBanana"):
            self.assertIn("strawberry: 10 short", one(self.driver, f"[data-juice={juice}]").text)
        self.juice("restock", "strawberry=+10", "--store", self.store)
        self.wait(lambda: not one(self.driver, "#basket-short").is_displayed(), "there are enough now")

    def test_a_digit_that_is_being_typed_survives_a_change_of_the_stock(self):
        self.press("kiwi")
        self.open()
        field = one(self.driver, "[data-item=kiwi]")
        field.send_keys(SELECT_ALL, "3")
        self.juice("restock", "mango=+5", "--store", self.store)
        self.wait(lambda: self.count("mango") == "15", "the stock has changed")
        self.assertEqual(field.get_attribute("value"), "3")
        self.keys(Keys.ENTER)
        self.wait(lambda: self.said() == "Basket: 3", "the sum")

    def test_what_is_typed_counts_at_once_and_the_wheel_changes_nothing(self):
        self.press("kiwi")
        self.open()
        field = one(self.driver, "[data-item=kiwi]")
        field.send_keys(SELECT_ALL, "2")
        self.wait(lambda: self.said() == "Basket: 2", "the count of what is in the field")
        ActionChains(self.driver).scroll_from_origin(ScrollOrigin.from_element(field), 0, -50).perform()
        one(self.driver, "#send-order").click()
        self.wait_until_made("2 × kiwi juice")

    def test_the_devices_clock_does_not_matter(self):
        self.order("kiwi")
        self.wait_until_made("kiwi")
        for number, hours in ((1, 2), (2, -2)):
            self.driver.execute_script(f"const now = Date.now; Date.now = () => now() + {hours} * 3_600_000")
            self.order("banana")
            self.wait_until_made("banana")
            listed = ["banana juice"] * number + ["kiwi juice"]
            self.assertEqual(self.own_orders(), listed)
            self.cancel_button().click()
            self.wait_for_card("cancelled", "banana")
            self.driver.refresh()
            self.wait(lambda: self.own_orders() == listed, "the orders after a reload")
        self.order("mango")
        self.wait_until_made("mango")
        self.driver.execute_script("const now = Date.now; Date.now = () => now() - 7_200_000")
        # Not from under the pointer.
        ActionChains(self.driver).move_to_element(one(self.driver, "h1")).perform()
        self.wait(lambda: all_of(self.driver, ".answer-card") == [], "good news leaves")

    def test_an_order_says_why_its_cancel_was_rejected(self):
        self.order("kiwi")
        self.wait_until_made("kiwi")
        self.juice("restock", "kiwi=1000000000", "--store", self.store)
        self.wait(lambda: self.count("kiwi") == "1,000,000,000", "the shelf is full")
        self.cancel_button().click()
        self.wait_for_card("rejected", "kiwi cannot go above 1000000000")
        self.assertIn("kiwi cannot go above 1000000000", one(self.driver, ".own-order .said").text)
        # A repeat would get the same answer.
        self.assertEqual(self.cancel_button().text, "Not cancelled")
        self.assertEqual(self.cancel_button().get_attribute("aria-disabled"), "true")

    def test_an_order_is_cancelled_once(self):
        with self.kiosk("--stores", self.store) as url:
            visit(self.driver, url, self.store)
            self.cancel_once()

    def cancel_once(self):
        self.order("kiwi", "banana")
        self.wait_until_made("juice made: kiwi juice, banana juice")
        self.wait(lambda: (self.count("kiwi"), self.count("banana")) == ("7", "8"), "the fruits are taken")
        ActionChains(self.driver).double_click(self.cancel_button()).perform()
        self.wait_for_card("cancelled", "cancelled: kiwi 3, banana 2 returned")
        # It is the only card: nobody gets this juice.
        self.assertEqual(len(all_of(self.driver, ".answer-card")), 1)
        self.wait(lambda: (self.count("kiwi"), self.count("banana")) == ("10", "10"), "the fruits are back")
        self.assertEqual(self.cancel_button().text, "Cancelled")
        said = one(self.driver, ".own-order .said")
        self.assertEqual(said.text, "cancelled: kiwi 3, banana 2 returned")
        self.speak("ko")
        self.assertEqual(said.text, "취소했어요. 키위 3개, 바나나 2개를 되돌렸습니다.")
        self.speak("en")
        self.go("board")
        self.wait(lambda: one(self.driver, "#cancelled").text == "1", "the board counts one cancel")
        self.wait(lambda: "cancelled: kiwi 3, banana 2 returned" in one(self.driver, "#answers").text, "it is on the board")

    def test_orders_survive_a_reload_and_those_not_made_are_not_listed(self):
        self.order("kiwi")
        self.wait_until_made("kiwi")
        self.order("strawberry")
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        one(self.driver, "#shortage-no").click()
        self.assertEqual(self.own_orders(), ["kiwi juice"])
        # The basket has what was not made, and what was chosen since; it survives the reload, too.
        self.press("mango")
        self.driver.refresh()
        self.wait(lambda: self.said() == "Basket: 2", "the basket after a reload")
        self.assertEqual([line.get_attribute("textContent") for line in all_of(self.driver, ".basket-line .name")],
                         ["strawberry juice", "mango juice"])
        self.wait(lambda: self.own_orders() == ["kiwi juice"], "the order after a reload")
        self.cancel_button().click()
        self.wait_for_card("cancelled", "cancelled: kiwi 3 returned")

    def test_an_order_without_an_answer_can_be_cancelled(self):
        self.stand.stage.tell("service stop")
        try:
            self.order("kiwi")
            self.wait(lambda: self.own_orders() == ["kiwi juice"], "the order")
            self.cancel_button().click()
            self.assertEqual(self.cancel_button().text, "Cancelling…")
        finally:
            self.stand.stage.tell("service start")
        self.wait_for_card("cancelled", "cancelled: kiwi 3 returned")
        self.wait(lambda: self.count("kiwi") == "10", "the kiwis are back")

    def test_an_order_is_listed_for_as_long_as_it_can_be_cancelled(self):
        self.order("kiwi")
        self.wait_until_made("kiwi")
        self.driver.execute_script(
            """const text = sessionStorage.getItem("juice-orders");
            sessionStorage.setItem("juice-orders", text.replace(/"at":(\\d+)/, (_, at) => `"at":${at - 3_601_000}`));"""
        )
        self.driver.refresh()
        wait_until_live(self.driver)
        self.assertFalse(one(self.driver, "#orders").is_displayed())
