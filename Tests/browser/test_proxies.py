"""What is between the browser and the kiosk: proxies that answer in its place, and files that do not arrive."""

import re
import threading
import time

from case import KioskTest
from stand import all_of, one, proxy, size, texts, visit, wait_until_live

HTML = {"Content-Type": "text/html"}
PAGE = "<!doctype html><title>Proxy</title>"


class ProxyTest(KioskTest):
    def test_what_a_proxy_answers_is_not_the_kiosks_answer(self):
        answers = [
            (401, HTML | {"WWW-Authenticate": "Negotiate"}, PAGE), (413, HTML, PAGE),
            (429, HTML | {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}, PAGE), (200, HTML, PAGE),
            (202, {}, ""), (403, {"Content-Type": "application/json"}, '{"error":"unknownStore"}'),
            (302, {"Location": "/sign-in"}, ""), (302, {"Location": "http://foreign.test/sign-in"}, ""),
        ]
        posts, answer = [], None

        def respond(method, path):
            return posts.append(time.monotonic()) or answer if method == "POST" else None

        with proxy(self.stand.url, respond) as url:
            visit(self.driver, url, self.store)
            for made, answer in enumerate(answers, 1):
                said = "A proxy wants you to sign in" if answer[0] == 302 else f"A proxy answered {answer[0]}"
                self.order("kiwi")
                self.wait_for_card("unsent", f"Ordering kiwi juice… {said}")
                self.assertRegex(texts(self.driver, ".answer-card[data-state=unsent]")[0], r"Trying again in \d+ s\.")
                answer = None
                self.wait(lambda: len(all_of(self.driver, ".own-order[data-state=made]")) == made, f"made after {said}")
                self.juice("restock", "kiwi=10", "--store", self.store)
                self.wait(lambda: self.count("kiwi") == "10", "kiwis for the next one")
            # Pauses grow.
            posts.clear()
            answer = answers[0]
            self.order("kiwi")
            self.wait(lambda: len(posts) == 3, "two more tries")
            first, second = (later - earlier for earlier, later in zip(posts, posts[1:]))
            self.assertGreater(first, 2)
            self.assertGreater(second, 4)

    def test_a_customer_stops_what_does_not_get_through(self):
        with proxy(self.stand.url, lambda method, path: (403, HTML, PAGE) if method == "POST" else None) as url:
            visit(self.driver, url, self.store)
            size(self.driver, 320, 640)
            self.order("strawberryBanana")
            self.wait_for_card("unsent", "A proxy answered 403")
            self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), 320)
            one(self.driver, ".answer-card .quiet").click()
            self.wait_for_card("stopped", "not known whether it arrived")
            self.assertEqual(self.driver.execute_script("return sessionStorage.getItem('juice-commands')"), "juice 1 []")
            # It may have arrived, so it is listed, and the basket is not filled again.
            self.assertEqual(texts(self.driver, ".own-order .text"), ["strawberry banana juice"])
            self.assertEqual(one(self.driver, "#basket-open").text, "Basket: empty")
            one(self.driver, ".own-order button").click()
            self.wait_for_card("unsent", "Cancelling… A proxy answered 403")
            one(self.driver, ".answer-card[data-state=unsent] .quiet").click()
            self.assertEqual(one(self.driver, ".own-order button").text, "Cancel")
            # A proxy's 403 says nothing about the token.
            self.unlock()
            self.wait(lambda: "A proxy answered 403" in one(self.driver, "#staff-said").text, "who refuses it")

    def test_a_proxy_may_be_strict(self):
        def refuses(request):
            """As the OWASP core rules do, `limit_except GET POST` and `auth_basic`."""
            is_json = request.headers["Content-Type"] == "application/json"
            return request.command != "GET" and not (request.command == "POST" and is_json) or "Authorization" in request.headers

        with proxy(self.stand.url, refuses=refuses) as url:
            visit(self.driver, url, self.store)
            self.order("kiwi")
            self.wait(lambda: len(all_of(self.driver, ".own-order[data-state=made]")) == 1, "it is made")
            self.unlock()
            self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
            one(self.driver, "[aria-label='kiwi +1']").click()
            self.wait(lambda: "Applied: 8" in all_of(self.driver, ".stock-row")[3].text, "an edit")
            for step in (one(self.driver, "#lock").click, self.driver.refresh):
                step()
                self.wait(lambda: one(self.driver, "#token").is_displayed(), "signed out")
                self.assertFalse(one(self.driver, "#edit").is_displayed())
            self.wait(lambda: not one(self.driver, "#lock").is_displayed(), "the kiosk has confirmed it")

    def test_what_is_locked_is_hidden_whatever_a_proxy_answers(self):
        answers = {}
        with proxy(self.stand.url, lambda method, path: answers.get(path)) as url:
            visit(self.driver, url, self.store)
            self.unlock()
            self.wait(lambda: one(self.driver, "#edit").is_displayed(), "the token is accepted")
            answers["/api/staff/sign-out"] = (403, HTML, PAGE)
            for step in (one(self.driver, "#lock").click, self.driver.refresh):
                step()
                said = "not signed out yet: A proxy answered 403"
                self.wait(lambda: said in one(self.driver, "#staff-said").text, "what became of it")
                self.assertTrue(one(self.driver, "#token").is_displayed())
                self.assertFalse(one(self.driver, "#edit").is_displayed())
            answers.clear()
            one(self.driver, "#lock").click()
            self.wait(lambda: not one(self.driver, "#lock").is_displayed(), "it is signed out")
            self.assertEqual(one(self.driver, "#staff-said").text, "")

    def test_a_refusal_after_a_try_that_may_have_arrived_is_not_the_end(self):
        refusal = (404, {"Juice-Kiosk": "1"}, '{"error":"unknownStore"}')
        answers = [(502, HTML, PAGE), refusal, refusal]
        with proxy(self.stand.url, lambda method, path: answers.pop(0) if method == "POST" else None) as url:
            visit(self.driver, url, self.store)
            for state, said, listed, basket in (
                ("stopped", "not known whether it arrived", ["kiwi juice"], "Basket: empty"),
                ("refused", "no orders are taken for it", ["kiwi juice"], "Basket: 1"),
            ):
                self.order("kiwi")
                self.wait_for_card(state, said)
                self.assertEqual((texts(self.driver, ".own-order .text"), one(self.driver, "#basket-open").text), (listed, basket))

    def test_no_try_is_later_than_repeats_are_recognized(self):
        stored = "return sessionStorage.getItem('juice-commands')"
        asked, later = [], {}

        def refuse(method, path):
            asked.extend([path] if method == "POST" or path in later else [])
            return (503, HTML, PAGE) if method == "POST" else later.get(path)

        with proxy(self.stand.url, refuse) as url:
            visit(self.driver, url, self.store)
            self.order("kiwi")
            self.wait_for_card("unsent", "A proxy answered 503")
            first = re.findall(r'"\w*[aA]t":([\d.]+)', self.driver.execute_script(stored))
            self.driver.refresh()
            self.wait_for_card("unsent", "A proxy answered 503")
            # A reload is no first try.
            self.assertEqual(re.findall(r'"\w*[aA]t":([\d.]+)', self.driver.execute_script(stored)), first)
            # The device's clock is set: the kiosk's decides.
            self.driver.execute_script("const now = Date.now; Date.now = () => now() + 3_300_000")
            count = len(asked)
            self.wait(lambda: len(asked) > count, "another try")
            # The device slept.
            later["/api/settings"] = self.settings_after(3300)
            self.wait_for_card("stopped", "not known whether it arrived")
            self.assertEqual(asked[-1], "/api/settings")

    def test_a_proxy_that_holds_events_back_is_named(self):
        released = threading.Event()

        def hold(method, path):
            if path == "/api/events":
                released.wait(200)

        with proxy(self.stand.url, hold) as url:
            try:
                self.driver.get(f"{url}?store={self.store}")
                self.wait(lambda: "A proxy holds back" in one(self.driver, "#alert").text, "what is wrong")
            finally:
                released.set()
            wait_until_live(self.driver)
            self.assertFalse(one(self.driver, "#alert").is_displayed())

    def test_the_setting_that_a_proxy_lacks_is_named(self):
        kiosk, url = self.stand.open_kiosk("--any-store", *self.stand.for_staff)
        try:
            with proxy(url, host=re.search("//(.*)/", url)[1]) as address:
                visit(self.driver, address, self.store)
                self.order("kiwi")
                self.wait_for_card("refused", "proxy_set_header Host $http_host")
                self.unlock()
                self.wait(lambda: "proxy_set_header" in one(self.driver, "#staff-said").text, "not that the token is wrong")
            kiosk.expect(r"warning a request was refused: .*proxy_set_header.* host=127\.0\.0\.1:\d+ origin=http://127")
        finally:
            kiosk.stop()

    def test_a_page_that_arrives_incomplete_is_loaded_again(self):
        for path, answer in (
            ("/kiosk.js", (503, HTML, PAGE)), ("/words.js", (200, HTML, PAGE)), ("/kiosk.css", (502, HTML, PAGE)),
            ("/api/menu", (503, HTML, PAGE)),
        ):
            tries, is_over = [], threading.Event()

            def refuse(method, asked):
                return tries.append(asked) or answer if asked == path and not is_over.is_set() else None

            with self.subTest(path), proxy(self.stand.url, refuse) as url:
                self.driver.get(f"{url}?store={self.store}")
                self.wait(
                    lambda: tries if path == "/kiosk.css" else "Trying again" in one(self.driver, "#alert").text,
                    "the page says so")
                is_over.set()
                self.wait(lambda: one(self.driver, "body").value_of_css_property("margin") == "0px", "the page has its style")
                wait_until_live(self.driver)
                self.assertFalse(one(self.driver, "#alert").is_displayed())

    def test_a_page_that_arrives_slowly_is_not_loaded_again(self):
        pages, never = [], threading.Event()

        def slowly(method, path):
            if path == "/":
                pages.append(path)
            elif "." in path:
                never.wait(2)

        # What is 30 s for the page takes 6 s here.
        fast = "{ const wait = setTimeout; window.setTimeout = (step, delay, ...rest) => wait(step, delay / 5, ...rest); }"
        with self.before_each_page(fast), proxy(self.stand.url, slowly) as url:
            self.driver.get(f"{url}?store={self.store}")
            wait_until_live(self.driver)
            self.assertEqual(pages, ["/"])

    def test_a_browser_that_is_too_old_is_told_so(self):
        # Such as Chromium 87, which cannot read this file.
        unread = lambda method, path: (200, {"Content-Type": "text/javascript"}, "const a b") if path == "/state.js" else None
        with self.before_each_page("delete Array.prototype.at"), proxy(self.stand.url, unread) as url:
            self.driver.get(url)
            self.wait(lambda: one(self.driver, "#too-old").is_displayed(), "what is wrong")
            self.assertFalse(one(self.driver, "#alert").is_displayed())
            loaded = "return performance.timeOrigin"
            first = self.driver.execute_script(loaded)
            self.wait(lambda: self.driver.execute_script("return performance.now()") > 8000, "longer than until a new try")
            self.assertEqual(self.driver.execute_script(loaded), first)
