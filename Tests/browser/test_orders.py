"""Orders, and how pages show them."""

import contextlib
import json
import subprocess
import tempfile
import uuid

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from case import KioskTest
from stand import TOKEN, all_of, one, visit


class OrderTest(KioskTest):
    def test_an_order_is_made_and_the_count_goes_down(self):
        self.order("mangoKiwi")
        self.wait_for_card("juiceMade", "juice made: mango kiwi juice")
        self.wait(lambda: (self.count("mango"), self.count("kiwi")) == ("8", "9"), "8 mangos, 9 kiwis")
        self.go("board")
        self.wait(lambda: self.store in one(self.driver, "#answers li").text, "the answer on the board")

    def test_a_long_menu_is_searched_by_any_name(self):
        self.assertFalse(one(self.driver, "#find").is_displayed())
        menu = json.loads(subprocess.run([f"{self.stand.binaries}/juice", "menu", "--json"], capture_output=True).stdout)
        menu["juices"] += [{"id": f"special{number}", "recipe": {"kiwi": number}} for number in range(1, 7)]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(menu, file)
            file.flush()
            with self.kiosk("--any-store", "--menu", file.name) as url:
                visit(self.driver, url, self.store)
                self.search()

    def search(self):
        field = one(self.driver, "#find")

        def found():
            return [button.get_attribute("data-juice") for button in all_of(self.driver, "[data-juice]")
                    if button.is_displayed()]

        everything = found()
        for text, juices in (
            ("망키", ["mangoKiwi"]), ("망고 키위 쥬스", ["mangoKiwi"]), ("망키주스", ["mangoKiwi"]),
            # Hangul letter by letter.
            ("\u1106\u1161\u11bc\u110f\u1175", ["mangoKiwi"]),
            ("MANGO", ["mango", "mangoKiwi"]), ("strawberry banana", ["strawberryBanana"]), ("durian", []), ("  ", everything),
        ):
            field.clear()
            field.send_keys(text)
            self.wait(lambda: found() == juices, f"{juices} for {text}")
            self.assertEqual(one(self.driver, "#none-found").is_displayed(), juices == [])
        field.clear()
        # Enter only goes on to the juice; the next one adds it to the basket.
        field.send_keys("망키", Keys.ENTER)
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("data-juice"), "mangoKiwi")
        self.assertEqual(all_of(self.driver, ".answer-card"), [])
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        one(self.driver, "#send-order").click()
        self.wait_for_card("juiceMade", "juice made: mango kiwi juice")

    def test_quantity_and_what_cannot_be_made(self):
        self.assertIn("6 strawberry short", one(self.driver, "[data-juice=strawberry]").text)
        self.assertNotIn("short", one(self.driver, "[data-juice=kiwi]").text)
        for _ in range(4):
            self.press("kiwi")
        self.assertIn("5 kiwi short", one(self.driver, "[data-juice=kiwi]").text)
        self.assertIn("4 in the basket", one(self.driver, "[data-juice=kiwi]").get_attribute("textContent"))
        self.assertEqual(one(self.driver, "#basket-short").text, "2 kiwi short")
        one(self.driver, "#basket-open").click()
        less, _, _ = all_of(self.driver, ".basket-line button")
        less.click()
        self.assertFalse(one(self.driver, "#basket-short").is_displayed())
        one(self.driver, "#send-order").click()
        self.wait_for_card("juiceMade", "juice made: 3 × kiwi juice")
        self.wait(lambda: self.count("kiwi") == "1", "1 kiwi")

    def test_a_shortage_leads_to_the_stock_screen(self):
        self.order("strawberry")
        self.wait(lambda: one(self.driver, "#shortage").get_attribute("open"), "the question")
        self.assertEqual(one(self.driver, "#shortage-text").text, "Edit the stock?")
        self.assertEqual(one(self.driver, "#shortage-detail").text, "strawberry: 16 needed, 10 left")
        self.wait_for_card("outOfStock", "out of stock (strawberry)")
        one(self.driver, "#shortage-no").click()
        self.assertTrue(one(self.driver, "#order").is_displayed())
        self.wait(lambda: not one(self.driver, "#shortage").is_displayed(), "the question is gone")
        # What was not made is in the basket again.
        self.assertEqual(one(self.driver, "#basket-open").text, "Basket: 1")
        one(self.driver, "#send-order").click()
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question again")
        one(self.driver, "#shortage-yes").click()
        self.assertTrue(one(self.driver, "#stock").is_displayed())
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("id"), "token")
        self.driver.switch_to.active_element.send_keys(TOKEN + Keys.ENTER)
        self.wait(
            lambda: self.driver.switch_to.active_element.get_attribute("aria-label") == "strawberry +1",
            "the short fruit's stepper has the focus",
        )
        self.go("order")
        self.assertTrue(one(self.driver, "#order").is_displayed())

    def test_a_double_click_is_one_order(self):
        self.press("banana")
        ActionChains(self.driver).double_click(one(self.driver, "#send-order")).perform()
        self.wait_for_card("juiceMade", "banana")
        self.wait(lambda: self.count("banana") == "8", "one juice's bananas are gone")
        # Any other order would have been answered before this one.
        self.order("kiwi")
        self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
        self.assertEqual(self.count("banana"), "8")

    def test_a_repeated_request_charges_once(self):
        origin = self.stand.url.rstrip("/")
        order = {"orderId": f"kiosk-{uuid.uuid4()}", "juice": "banana"}
        for _ in range(5):
            self.assertEqual(self.post(self.path("orders"), order, Origin=origin), 202)
        self.order("kiwi")
        self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
        self.assertEqual(self.count("banana"), "8")

    def test_two_pages_see_each_others_orders(self):
        with self.windows() as first:
            self.driver.switch_to.new_window("window")
            visit(self.driver, self.stand.url, self.store)
            self.order("pineapple")
            self.wait_for_card("juiceMade", "pineapple")
            second = self.driver.current_window_handle
            self.driver.switch_to.window(first)
            self.wait(lambda: self.count("pineapple") == "8", "the other page's order")
            self.assertEqual(all_of(self.driver, ".answer-card"), [])
            self.juice("order", "pineapple", "--store", self.store)
            self.wait(lambda: self.count("pineapple") == "6", "another client's order")
            self.driver.switch_to.window(second)
            self.wait(lambda: self.count("pineapple") == "6", "another client's order on both pages")

    def test_tabs_that_are_not_seen_leave_connections_to_others(self):
        with self.windows() as first:
            self.hide()
            self.order("banana")
            for _ in range(6):
                self.driver.switch_to.new_window("tab")
                visit(self.driver, self.stand.url, self.store)
                self.hide()
            self.hide(False)
            self.order("kiwi")
            self.wait_for_card("juiceMade", "kiwi")
            # What was answered meanwhile is shown as soon as the tab is seen.
            self.driver.switch_to.window(first)
            self.hide(False)
            self.wait_for_card("juiceMade", "banana")

    def hide(self, is_hidden=True):
        """What happens when another tab is chosen. A browser without a window shows all its tabs."""
        self.driver.execute_script(
            """Object.defineProperty(document, "hidden", { value: arguments[0], configurable: true });
            document.dispatchEvent(new Event("visibilitychange"))""", is_hidden)

    @contextlib.contextmanager
    def windows(self):
        """Closes the windows that a test opens."""
        first = self.driver.current_window_handle
        try:
            yield first
        finally:
            for handle in self.driver.window_handles:
                if handle != first:
                    self.driver.switch_to.window(handle)
                    self.driver.close()
            self.driver.switch_to.window(first)

    def test_the_board_counts(self):
        with self.kiosk("--stores", self.store) as url:
            visit(self.driver, url, self.store)
            self.count_orders()

    def count_orders(self):
        for juice in ("banana", "kiwi", "strawberry"):
            self.order(juice)
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        one(self.driver, "#shortage-no").click()
        self.go("board")
        self.wait(lambda: (one(self.driver, "#made").text, one(self.driver, "#short").text) == ("2", "1"), "2 made, 1 short")
        self.wait(lambda: one(self.driver, "#rate").text not in ("0", "–"), "a rate")
        self.assertIn("made 2, out of stock 1", one(self.driver, "#chart").get_attribute("aria-label"))
        self.assertTrue(all_of(self.driver, "#chart rect.made"))
