"""What the browser keeps for the page, and a browser that keeps nothing."""

from case import KioskTest
from stand import all_of, one, texts, wait_until_live

BLOCKED = """for (const area of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, area, { get() { throw new DOMException("blocked", "SecurityError"); } });
}
window.BroadcastChannel = function () { throw new DOMException("blocked", "SecurityError"); };"""
FULL = """Storage.prototype.setItem = function () { throw new DOMException("full", "QuotaExceededError"); };"""


class StorageTest(KioskTest):
    def open(self):
        self.driver.get(f"{self.stand.url}?store={self.store}")
        wait_until_live(self.driver)

    def test_orders_do_not_need_it(self):
        for script in (BLOCKED, FULL):
            with self.subTest(script), self.before_each_page(script):
                self.open()
                self.press("banana")
                one(self.driver, "#send-order").click()
                self.wait_until_made("banana")
                self.wait(lambda: len(all_of(self.driver, ".own-order[data-state=made]")) == 1, "it is listed")
                one(self.driver, ".own-order button").click()
                self.wait_for_card("cancelled", "banana")
                self.speak("ko")
                self.speak("en")
        # Each was made once, and cancelled.
        self.wait(lambda: self.count("banana") == "10", "10 bananas")

    def test_a_basket_that_was_ordered_does_not_come_back(self):
        self.open()
        self.press("banana")
        self.driver.execute_script(FULL)
        one(self.driver, "#send-order").click()
        self.wait_until_made("banana")
        self.driver.refresh()
        wait_until_live(self.driver)
        self.assertEqual(one(self.driver, "#basket-open").text, "Basket: empty")

    def test_a_basket_that_was_ordered_before_a_crash_is_no_second_order(self):
        areas = "Object.fromEntries([localStorage, sessionStorage].map((area, at) => [at, { ...area }]))"
        for is_known, made in ((True, 1), (False, 2)):
            self.press("kiwi")
            before = self.driver.execute_script(f"return {areas}")
            one(self.driver, "#send-order").click()
            self.wait_until_made("kiwi")
            after = self.driver.execute_script(f"return {areas}")
            # The browser is killed before all of it is on disk. What is shared by its tabs may be there.
            self.driver.get(f"{self.stand.url}api/menu")
            self.driver.execute_script(
                """for (const area of [localStorage, sessionStorage]) area.clear();
                Object.assign(localStorage, arguments[0]); Object.assign(sessionStorage, arguments[1]);""",
                (after if is_known else before)["0"], before["1"])
            self.open()
            if not is_known:
                self.assertEqual(one(self.driver, "#basket-open").text, "Basket: 1")
                one(self.driver, "#send-order").click()
            self.wait(lambda: len(all_of(self.driver, ".own-order[data-state=made]")) == made, "it is listed")
            self.assertEqual(one(self.driver, "#basket-open").text, "Basket: empty")
            # Any other order would have been answered before this one.
            self.juice("order", "banana", "--store", self.store)
            self.wait(lambda: self.count("banana") == str(10 - 2 * made), "another client's order")
            self.assertEqual(self.count("kiwi"), str(10 - 3 * made))

    def test_a_copy_of_a_tab_has_an_order_of_its_own(self):
        self.press("kiwi")
        copied, first = self.driver.execute_script("return { ...sessionStorage }"), self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        try:
            self.driver.get(f"{self.stand.url}api/menu")
            self.driver.execute_script("Object.assign(sessionStorage, arguments[0])", copied)
            self.open()
            one(self.driver, "#send-order").click()
            self.wait_until_made("kiwi")
        finally:
            self.driver.close()
            self.driver.switch_to.window(first)
        self.wait(lambda: self.count("kiwi") == "7", "the copy's order")
        one(self.driver, "#send-order").click()
        self.wait(lambda: self.count("kiwi") == "4", "this tab's order")

    def test_only_changes_are_written(self):
        self.order("kiwi")
        self.wait_until_made("kiwi")
        script = """const done = arguments[0], set = Storage.prototype.setItem, names = [];
            Storage.prototype.setItem = function (name, text) { names.push(name); set.call(this, name, text); };
            import("/orders.js").then(({ showOrders }) => { showOrders(); showOrders(); done(names); });"""
        self.assertEqual(self.driver.execute_async_script(script), [])

    def test_what_is_not_the_pages_is_ignored(self):
        for junk in ("junk", "{}", "null", "[null]", '[{"juice":"kiwi"}]', "juice 0 [1]"):
            self.driver.execute_script(
                """for (const name of ["commands", "orders", "basket", "page"]) sessionStorage[`juice-${name}`] = arguments[0];
                for (const name of ["language", "store"]) localStorage[`juice-${name}`] = arguments[0];""", junk)
            self.open()
            self.assertEqual(texts(self.driver, ".own-order, .answer-card, .basket-line"), [], junk)
        self.order("banana")
        self.wait_until_made("banana")

    def test_a_command_is_not_sent_again_once_repeats_are_forgotten(self):
        self.leave_an_order(age=3600)
        self.open()
        self.wait_for_card("stopped", "not known whether it arrived")
        # The kiwi would have been taken before the banana.
        self.order("banana")
        self.wait_until_made("banana")
        self.wait(lambda: self.count("banana") == "8", "8 bananas")
        self.assertEqual(self.count("kiwi"), "10")
