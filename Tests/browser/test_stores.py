"""Which stores there are, and the limits."""

import threading

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from case import KioskTest
from stand import TOKEN, one, proxy, texts, visit, wait_until_live


class StoreTest(KioskTest):
    def test_staff_open_a_store(self):
        with self.kiosk(*self.stand.for_staff) as url:
            visit(self.driver, url, self.store)
            self.wait(lambda: one(self.driver, "#no-store").is_displayed(), "there is no such store")
            self.assertIn("no stock yet", one(self.driver, "#no-store").text)
            self.assertFalse(one(self.driver, "[data-juice=kiwi]").is_enabled())
            self.speak("ko")
            self.assertIn("주문을 받지 않아요", one(self.driver, "#no-store").text)
            self.speak("en")
            self.assertEqual(self.order_at(url, self.store), 404)
            self.unlock(TOKEN)
            self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
            self.edit("add")
            one(self.driver, "[data-fruit=kiwi]").send_keys("5\n")
            self.go("order")
            self.wait(lambda: not one(self.driver, "#no-store").is_displayed(), "the store is open")
            self.order("kiwi")
            self.wait_until_made("juice made: kiwi juice")
            self.wait(lambda: self.count("kiwi") == "12", "12 of 10 and 5 kiwis")

    def test_an_order_for_a_store_that_is_gone_is_refused_in_words(self):
        with self.kiosk() as url:
            visit(self.driver, url, "main")
            self.leave_an_order()
            self.driver.refresh()
            self.wait_for_card("refused", "no orders are taken for it")
            self.order("banana")
            self.wait_until_made("banana")

    def test_a_link_leads_to_a_store_until_another_is_chosen(self):
        def shown():
            return self.driver.execute_script("return document.querySelector('#store').value")

        for name, store in (("a-store", "a-store"), ("", self.store), ("x" * 129, self.store)):
            self.driver.get(f"{self.stand.url}?store={name}")
            wait_until_live(self.driver)
            self.assertEqual(shown(), store)
        self.driver.get(f"{self.stand.url}?store=a-store#board")
        self.choose("main")
        self.driver.refresh()
        self.wait(lambda: shown() == "main", "the store that was chosen")
        self.assertTrue(one(self.driver, "#board").is_displayed())

    def test_the_named_stores_come_first(self):
        with self.kiosk("--stores", "zeta,alpha", "--any-store") as url:
            visit(self.driver, url, "alpha")
            names = texts(self.driver, "#store option")
            self.assertEqual((names[:2], names[-1]), (["zeta", "alpha"], "Another store…"))


    def test_a_long_list_is_searched(self):
        stores = [f"store-{number}" for number in range(1000)]
        with self.kiosk("--stores", ",".join(stores)) as url:
            visit(self.driver, url, "store-7")
            self.assertEqual(texts(self.driver, "#store option"), stores[:20] + ["Another store…"])
            Select(one(self.driver, "#store")).select_by_visible_text("Another store…")
            for name, said in (("nowhere", "There is no such store."), ("store-777", "")):
                one(self.driver, "#other-name").clear()
                one(self.driver, "#other-name").send_keys(name + Keys.ENTER)
                self.assertEqual(one(self.driver, "#other-said").text, said)
            self.assertEqual(texts(self.driver, "#store option:checked"), ["store-777"])


class LimitTest(KioskTest):
    def test_an_order_beyond_the_limit_waits_and_is_made(self):
        is_over = threading.Event()
        with self.kiosk("--any-store", "--order-rate", "1") as kiosk:
            self.wait(lambda: self.order_at(kiosk, "main") == 429, "too many orders")
            answer = (429, {"Juice-Kiosk": "1", "Retry-After": "1"}, '{"error":"tooManyOrders"}')
            refuse = lambda method, path: answer if method == "POST" and not is_over.is_set() else None
            with proxy(kiosk, refuse) as url:
                visit(self.driver, url, self.store)
                self.order("kiwi")
                self.wait_for_card("unsent", "Too many orders at once. Trying again in 1 s.")
                is_over.set()
                self.wait_until_made("juice made: kiwi juice")
                self.wait(lambda: self.count("kiwi") == "7", "the kiwis of one juice are gone")

    def test_too_many_wrong_tokens_are_told(self):
        with self.kiosk(*self.stand.for_staff) as url:
            visit(self.driver, url, "main")

            def refused():
                self.unlock("not-the-right-token")
                return "Too many wrong tries" in one(self.driver, "#staff-said").text

            self.wait(refused, "no more tries")

