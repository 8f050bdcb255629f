"""Orders, and how pages show them."""

import contextlib

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from case import KioskTest, order_of
from stand import TOKEN, all_of, one, texts, visit


class OrderTest(KioskTest):
    def test_an_order_is_made_and_the_count_goes_down(self):
        self.order("mangoKiwi")
        self.wait_until_made("juice made: mango kiwi juice")
        self.wait(lambda: (self.count("mango"), self.count("kiwi")) == ("8", "9"), "8 mangos, 9 kiwis")
        self.go("board")
        self.wait(lambda: self.store in one(self.driver, "#answers li").text, "the answer on the board")

    def test_a_long_menu_is_searched_by_any_name(self):
        self.assertFalse(one(self.driver, "#find").is_displayed())
        juices = [{"id": f"special{number}", "recipe": {"kiwi": number}} for number in range(1, 7)]
        with self.menu(juices=juices) as options, self.kiosk("--any-store", *options) as url:
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
        # Enter does nothing; the next stop of the keyboard is the juice.
        field.send_keys("망키", Keys.ENTER, Keys.TAB)
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("data-juice"), "mangoKiwi")
        self.assertEqual(all_of(self.driver, ".answer-card"), [])
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        one(self.driver, "#send-order").click()
        self.wait_until_made("juice made: mango kiwi juice")

    def test_quantity_and_what_cannot_be_made(self):
        self.assertIn("strawberry: 6 short", one(self.driver, "[data-juice=strawberry]").text)
        self.assertNotIn("short", one(self.driver, "[data-juice=kiwi]").text)
        for _ in range(4):
            self.press("kiwi")
        self.assertIn("kiwi: 2 short", one(self.driver, "[data-juice=kiwi]").text)
        self.assertIn("4 in the basket", one(self.driver, "[data-juice=kiwi]").get_attribute("textContent"))
        self.assertEqual(one(self.driver, "#basket-short").text, "kiwi: 2 short")
        one(self.driver, "#basket-open").click()
        less, _, _ = all_of(self.driver, ".basket-line button")
        less.click()
        self.assertFalse(one(self.driver, "#basket-short").is_displayed())
        one(self.driver, "#send-order").click()
        self.wait_until_made("juice made: 3 × kiwi juice")
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

    def test_a_question_does_not_follow_to_another_screen(self):
        self.go("board")
        self.go("order")
        self.order("strawberry")
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        self.driver.back()
        self.wait(lambda: one(self.driver, "#board").is_displayed(), "the board")
        self.assertFalse(one(self.driver, "#shortage").is_displayed())

    def test_a_double_click_is_one_order(self):
        self.press("banana")
        ActionChains(self.driver).double_click(one(self.driver, "#send-order")).perform()
        self.wait_until_made("banana")
        self.wait(lambda: self.count("banana") == "8", "one juice's bananas are gone")
        # Any other order would have been answered before this one.
        self.order("kiwi")
        self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
        self.assertEqual(self.count("banana"), "8")

    def test_a_repeated_request_charges_once(self):
        origin = self.stand.url.rstrip("/")
        order = order_of("banana")
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
            self.wait_until_made("pineapple")
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
            self.wait_until_made("kiwi")
            # What was answered meanwhile is shown as soon as the tab is seen.
            self.driver.switch_to.window(first)
            self.hide(False)
            self.wait_until_made("banana")

    def test_more_windows_than_a_browser_has_connections(self):
        with self.windows() as first:
            for _ in range(7):
                self.driver.switch_to.new_window("window")
                visit(self.driver, self.stand.url, self.store)
            self.order("kiwi")
            self.wait_until_made("kiwi")
            # They take turns, so each gets to know it.
            for handle in self.driver.window_handles:
                self.driver.switch_to.window(handle)
                self.wait(lambda: self.count("kiwi") == "7", "the other window's order")
                self.assertEqual(one(self.driver, "#link").get_attribute("data-state"), "live")
            self.driver.switch_to.window(first)

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
        self.wait(lambda: (one(self.driver, "#made").text, one(self.driver, "#outOfStock").text) == ("2", "1"), "2 made, 1 short")
        self.wait(lambda: one(self.driver, "#rate").text not in ("0", "–"), "a rate")
        self.assertIn("made 2, out of stock 1", one(self.driver, "#chart").get_attribute("aria-label"))
        self.assertTrue(all_of(self.driver, "#chart rect.is-good"))
        self.assertEqual(texts(self.driver, "#chart .scale span"), ["4", "0", "4"])

    def shown_cards(self):
        """The classes of the cards that are shown, which are their colours."""
        return [card.get_attribute("class").split()[1:] for card in all_of(self.driver, ".answer-card") if card.is_displayed()]

    def test_a_burst_leaves_room_for_the_page(self):
        self.stand.stage.tell("service stop")
        try:
            for _ in range(5):
                self.order("banana")
            self.wait(lambda: one(self.driver, "#more-cards").text == "2 more without an answer", "the others are counted")
            self.assertEqual(len(self.shown_cards()), 3)
            self.go("board")
            self.assertEqual(self.shown_cards(), [])
            self.go("order")
        finally:
            self.stand.stage.tell("service start")
        self.wait(lambda: self.shown_cards() == [["is-good"]] * 3, "the answers")
        self.assertEqual(len(all_of(self.driver, ".own-order")), 5)
        self.wait(lambda: self.shown_cards() == [], "good news leaves by itself")
        self.order("banana")
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        self.keys(Keys.ESCAPE)
        # It is in the basket again.
        self.juice("restock", "banana=+10", "--store", self.store)
        self.wait(lambda: self.count("banana") == "10", "bananas")
        self.assertEqual(self.shown_cards(), [["is-bad"]])
        one(self.driver, "#send-order").click()
        self.wait(lambda: self.shown_cards() == [["is-good"]], "the newest answer alone")

    def test_a_card_says_which_store_it_is_about(self):
        self.order("kiwi")
        self.wait_until_made("juice made: kiwi juice")
        self.choose("main")
        self.wait_until_made(f"\u2068{self.store}\u2069: juice made: kiwi juice")

    def test_a_time_of_another_day_has_its_date(self):
        script = """const [days, done] = arguments;
            import("/view.js").then(({ clock }) => done(clock(Date.now() - days * 86_400_000)))"""
        for days, form in ((0, r"\d\d:\d\d:\d\d"), (1, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")):
            self.assertRegex(self.driver.execute_async_script(script, days), f"^{form}$")

    def test_juices_are_listed_as_a_language_does(self):
        listed = """const [language, items, done] = arguments;
            Promise.all([import("/words.js"), import("/state.js")]).then(([{ Words }, { menu }]) =>
                done(new Words(menu, language).items(items)))"""
        kiwi, two, mango = ({"juice": juice, "quantity": quantity} for juice, quantity in
                            (("kiwi", 1), ("banana", 2), ("mango", 1)))
        for language, items, text in (
            ("en", [], ""), ("en", [kiwi], "kiwi juice"), ("en", [two, kiwi], "2 × banana juice and kiwi juice"),
            ("en", [kiwi, two, mango], "kiwi juice, 2 × banana juice, and mango juice"),
            ("ko", [two, kiwi], "바나나쥬스 2잔 및 키위쥬스"), ("ko", [kiwi, mango, two], "키위쥬스, 망고쥬스 및 바나나쥬스 2잔"),
        ):
            self.assertEqual(self.driver.execute_async_script(listed, language, items), text)
