#!/usr/bin/env python3
"""Drives the kiosk's page in headless Chromium: test_kiosk.py BINARIES [TEST …]. No test waits by the clock, only for what is to come."""

import http.client
import http.server
import json
import subprocess
import sys
import threading
import unittest
import urllib.parse
import uuid

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from stand import TOKEN, Stand, all_of, browser, one, prefer, size, until, visit

BINARIES = ".build/debug"
HOSTILE = "<img src=x onerror=document.title='broken'>\"'&"


def setUpModule():
    global stand, driver
    stand = Stand(BINARIES)
    driver = browser()


def tearDownModule():
    driver.quit()
    stand.stop()


class KioskTest(unittest.TestCase):
    def setUp(self):
        # A store of its own, with the menu's stock.
        self.store = f"store-{uuid.uuid4().hex[:8]}"
        size(driver, 1280, 900)
        prefer(driver)
        visit(driver, stand.url, self.store)

    def tearDown(self):
        # What a page has not been answered would be asked for again by the next.
        driver.execute_script("sessionStorage.clear()")
        errors = [line for line in driver.get_log("browser") if "Content Security Policy" in line["message"]]
        self.assertEqual(errors, [])

    # Parts

    def wait(self, condition, what):
        until(driver, condition, what)

    def count(self, fruit):
        """What the order screen says of a fruit."""
        index = ["strawberry", "banana", "pineapple", "kiwi", "mango"].index(fruit)
        return all_of(driver, "#shelf .count")[index].text

    def press(self, juice):
        one(driver, f"[data-juice={juice}]").click()

    def wait_for_card(self, state, text):
        self.wait(
            lambda: any(text in card.text for card in all_of(driver, f".answer-card[data-state={state}]")),
            f"a card {state}: {text}",
        )

    def unlock(self, token=TOKEN):
        one(driver, "nav a[href='#stock']").click()
        one(driver, "#token").clear()
        one(driver, "#token").send_keys(token + Keys.ENTER)

    def juice(self, *arguments):
        return subprocess.run(
            [f"{BINARIES}/juice", *arguments, "--bootstrap-servers", stand.brokers, "--wait"],
            capture_output=True, text=True, timeout=60,
        ).stdout

    def post(self, path, body, **headers):
        url = urllib.parse.urlparse(stand.url)
        connection = http.client.HTTPConnection(url.netloc)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"} | headers)
            return connection.getresponse().status
        finally:
            connection.close()

    # Orders

    def test_an_order_is_made_and_the_count_goes_down(self):
        self.press("mangoKiwi")
        self.wait_for_card("juiceMade", "Your mango kiwi juice is ready! Enjoy!")
        self.wait(lambda: (self.count("mango"), self.count("kiwi")) == ("8", "9"), "8 mangos, 9 kiwis")
        self.wait(lambda: self.store in one(driver, "#answers li").text, "the answer on the board")

    def test_quantity_and_what_cannot_be_made(self):
        self.assertIn("6 strawberry short", one(driver, "[data-juice=strawberry]").text)
        self.assertNotIn("short", one(driver, "[data-juice=kiwi]").text)
        for _ in range(3):
            one(driver, "#more").click()
        self.assertIn("2 kiwi short", one(driver, "[data-juice=kiwi]").text)
        one(driver, "#fewer").click()
        self.press("kiwi")
        self.wait_for_card("juiceMade", "Your 3 × kiwi juice are ready!")
        self.wait(lambda: self.count("kiwi") == "1", "1 kiwi")

    def test_a_shortage_leads_to_the_stock_screen(self):
        self.press("strawberry")
        self.wait(lambda: one(driver, "#shortage").get_attribute("open"), "the question")
        self.assertEqual(one(driver, "#shortage-text").text, "Not enough strawberry. Edit the stock?")
        one(driver, "#shortage-no").click()
        self.assertTrue(one(driver, "#order").is_displayed())
        # Ordered anew on purpose: another order.
        self.wait(lambda: not one(driver, "#shortage").is_displayed(), "the question is gone")
        self.again("strawberry")
        one(driver, "#shortage-yes").click()
        self.assertTrue(one(driver, "#stock").is_displayed())
        self.assertEqual(driver.switch_to.active_element.get_attribute("id"), "token")
        driver.switch_to.active_element.send_keys(TOKEN + Keys.ENTER)
        self.wait(
            lambda: driver.switch_to.active_element.get_attribute("data-fruit") == "strawberry",
            "the short fruit's field has the focus",
        )
        one(driver, "#close-stock").click()
        self.assertTrue(one(driver, "#order").is_displayed())

    def again(self, juice):
        """Presses until the page takes it for another order than the one just before."""
        def asked():
            if not one(driver, "#shortage").is_displayed():
                self.press(juice)
            return one(driver, "#shortage").is_displayed()
        self.wait(asked, "the question again")

    def test_a_double_click_is_one_order(self):
        ActionChains(driver).double_click(one(driver, "[data-juice=banana]")).perform()
        self.wait_for_card("juiceMade", "banana")
        self.wait(lambda: self.count("banana") == "8", "one juice's bananas are gone")
        # Whatever else was sent would have been answered before this.
        self.press("kiwi")
        self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
        self.assertEqual(self.count("banana"), "8")

    def test_a_repeated_request_charges_once(self):
        origin = stand.url.rstrip("/")
        order = {"orderId": str(uuid.uuid4()), "store": self.store, "juice": "banana"}
        for _ in range(5):
            self.assertEqual(self.post("/api/orders", order, Origin=origin), 202)
        self.press("kiwi")
        self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
        self.assertEqual(self.count("banana"), "8")

    # Stock

    def test_stock_is_edited_with_the_token(self):
        self.unlock("not-the-right-token")
        self.wait(lambda: "not right" in one(driver, "#sign-in-said").text, "the token is refused")
        self.assertFalse(one(driver, "#apply").is_enabled())
        one(driver, "#token").clear()
        one(driver, "#token").send_keys(TOKEN + Keys.ENTER)
        self.wait(lambda: one(driver, "#apply").is_enabled(), "the token is accepted")
        rows = all_of(driver, ".stock-row")
        rows[0].find_elements("css selector", "button")[1].click()
        rows[0].find_elements("css selector", "button")[1].click()
        one(driver, "[data-fruit=kiwi]").send_keys("-3")
        one(driver, "#apply").click()
        self.wait(lambda: "Applied: 12" in rows[0].text and "Applied: 7" in rows[3].text, "the applied levels")
        self.wait_for_card("restocked", "Stock is now: strawberry 12, kiwi 7")
        # Edits by others.
        self.juice("restock", "kiwi=40", "--store", self.store)
        self.wait(lambda: rows[3].find_element("css selector", ".count").text == "40", "the other's edit")
        # Set.
        all_of(driver, "#mode label")[1].click()
        one(driver, "[data-fruit=mango]").send_keys("99")
        one(driver, "[data-fruit=mango]").send_keys(Keys.ENTER)
        self.wait(lambda: "Applied: 99" in rows[4].text, "the count that was set")

    def test_a_rejected_edit_says_why(self):
        self.unlock()
        self.wait(lambda: one(driver, "#apply").is_enabled(), "the token is accepted")
        one(driver, "[data-fruit=mango]").send_keys("-11" + Keys.ENTER)
        self.wait_for_card("rejected", "a count cannot go below 0")
        one(driver, "[data-fruit=mango]").clear()
        one(driver, "[data-fruit=mango]").send_keys("many" + Keys.ENTER)
        self.wait(lambda: "Only whole numbers" in all_of(driver, ".stock-row")[4].text, "no number")

    def test_without_a_token_file_editing_is_off(self):
        kiosk, url = stand.open_kiosk("--stores", "a,b")
        try:
            visit(driver, url)
            one(driver, "nav a[href='#stock']").click()
            self.assertIn("cannot be edited here", one(driver, "#editing-off").text)
            self.assertFalse(one(driver, "#apply").is_enabled())
            self.assertEqual([option.text for option in all_of(driver, "#store option")], ["a", "b"])
        finally:
            kiosk.stop()

    # Live

    def test_two_pages_see_each_others_orders(self):
        first = driver.current_window_handle
        driver.switch_to.new_window("window")
        try:
            visit(driver, stand.url, self.store)
            self.press("pineapple")
            self.wait_for_card("juiceMade", "pineapple")
            second = driver.current_window_handle
            driver.switch_to.window(first)
            self.wait(lambda: self.count("pineapple") == "8", "the other page's order")
            self.assertEqual(all_of(driver, ".answer-card"), [])
            self.juice("order", "pineapple", "--store", self.store)
            self.wait(lambda: self.count("pineapple") == "6", "another client's order")
            driver.switch_to.window(second)
            self.wait(lambda: self.count("pineapple") == "6", "another client's order on both pages")
        finally:
            for handle in driver.window_handles:
                if handle != first:
                    driver.switch_to.window(handle)
                    driver.close()
            driver.switch_to.window(first)

    def test_the_board_counts(self):
        all_of(driver, "[data-scope]")[1].click()
        for juice in ("banana", "kiwi", "strawberry"):
            self.press(juice)
        self.wait(lambda: one(driver, "#shortage").is_displayed(), "the question")
        one(driver, "#shortage-no").click()
        self.wait(lambda: (one(driver, "#made").text, one(driver, "#short").text) == ("2", "1"), "2 made, 1 short")
        self.wait(lambda: one(driver, "#lag").text == "0", "nothing waits")
        self.wait(lambda: one(driver, "#rate").text not in ("0", "–"), "a rate")
        self.assertIn("made 2, out of stock 1", one(driver, "#chart").get_attribute("aria-label"))
        self.assertTrue(all_of(driver, "#chart rect.made"))

    # Languages

    def test_korean(self):
        one(driver, "[data-language=ko]").click()
        self.assertEqual(driver.execute_script("return document.documentElement.lang"), "ko")
        self.press("strawberryBanana")
        self.wait_for_card("juiceMade", "딸바쥬스 나왔습니다! 맛있게 드세요!")
        self.press("strawberry")
        self.wait(lambda: one(driver, "#shortage").is_displayed(), "the question")
        self.assertEqual(one(driver, "#shortage-text").text, "딸기가 모자라요. 재고를 수정할까요?")
        self.assertEqual([one(driver, "#shortage-yes").text, one(driver, "#shortage-no").text], ["예", "아니요"])
        one(driver, "#shortage-yes").click()
        self.assertEqual(one(driver, "#stock-title").text, "재고 추가")
        one(driver, "#close-stock").click()
        # Particles: of several, with and without a final consonant.
        self.juice("restock", "mango=0", "kiwi=0", "pineapple=1", "--store", self.store)
        self.wait(lambda: self.count("mango") == "0개", "no mango")
        for juice, text in (
            ("mangoKiwi", "망고와 키위가 모자라요. 재고를 수정할까요?"),
            ("pineapple", "파인애플이 모자라요. 재고를 수정할까요?"),
        ):
            self.press(juice)
            self.wait(lambda: one(driver, "#shortage-text").text == text, text)
            one(driver, "#shortage-no").click()
        driver.refresh()
        self.wait(lambda: one(driver, "#order-title").text == "남은 재고", "Korean is remembered")

    # Strangers

    def test_other_origins_are_refused(self):
        origin = stand.url.rstrip("/")
        order = {"orderId": "stranger", "store": self.store, "juice": "kiwi"}
        for headers, status in (
            ({"Origin": "http://foreign.test"}, 403),
            ({}, 403),
            ({"Origin": origin, "Sec-Fetch-Site": "cross-site"}, 403),
            ({"Origin": origin, "Content-Type": "text/plain"}, 415),
            ({"Origin": origin, "Host": "foreign.test"}, 421),
        ):
            self.assertEqual(self.post("/api/orders", order, **headers), status, headers)
        restock = {"restockId": "stranger", "store": self.store, "set": {"kiwi": 0}}
        for authorization in ("", f"Bearer {TOKEN}x", TOKEN):
            self.assertEqual(self.post("/api/restocks", restock, Origin=origin, Authorization=authorization), 401)
        self.press("banana")
        self.wait(lambda: self.count("banana") == "8", "8 bananas")
        self.assertEqual(self.count("kiwi"), "10")

    def test_a_foreign_page_cannot_order(self):
        class Foreign(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        # The same machine under another port is another origin. Without preflight only a plain text can be sent.
        with http.server.HTTPServer(("127.0.0.1", 0), Foreign) as server:
            threading.Thread(target=server.serve_forever).start()
            driver.get(f"http://127.0.0.1:{server.server_port}/")
            said = driver.execute_async_script(
                """const [url, store, done] = arguments;
                fetch(url + "api/orders", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" },
                    body: JSON.stringify({ orderId: "foreign", store, juice: "kiwi" }) })
                  .then(() => done("sent"), () => done("not sent"));""",
                stand.url, self.store,
            )
            server.shutdown()
        self.assertEqual(said, "sent")
        visit(driver, stand.url, self.store)
        self.press("banana")
        self.wait(lambda: self.count("banana") == "8", "8 bananas")
        self.assertEqual(self.count("kiwi"), "10")

    def test_hostile_names_are_text(self):
        for store in (HOSTILE, "</script><script>document.title='broken'</script>"):
            visit(driver, stand.url, store)
            order = {"orderId": HOSTILE, "store": store, "juice": "kiwi"}
            self.assertEqual(self.post("/api/orders", order, Origin=stand.url.rstrip("/")), 202)
            self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
            self.wait(lambda: store in one(driver, "#answers").text, "the name as it is written")
            self.assertEqual(one(driver, "#store option:checked").text, store)
            self.assertEqual(driver.title, "Juice Maker")
            self.assertEqual(all_of(driver, "main img, body script, #answers script"), [])
        visit(driver, stand.url, self.store)

    # Keyboard, sizes

    def test_the_keyboard_suffices(self):
        def tab_to(selector):
            for _ in range(60):
                if driver.execute_script("return document.activeElement.matches(arguments[0])", selector):
                    return
                ActionChains(driver).send_keys(Keys.TAB).perform()
            self.fail(f"no tab leads to {selector}")

        def keys(*pressed):
            ActionChains(driver).send_keys(*pressed).perform()

        tab_to("[data-juice=strawberry]")
        outline = driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid")
        keys(Keys.ENTER)
        self.wait(lambda: one(driver, "#shortage").is_displayed(), "the question")
        tab_to("#shortage-yes")
        keys(Keys.ENTER)
        self.wait(lambda: driver.switch_to.active_element.get_attribute("id") == "token", "the token's field")
        keys(TOKEN, Keys.ENTER)
        self.wait(
            lambda: driver.switch_to.active_element.get_attribute("data-fruit") == "strawberry", "the fruit's field"
        )
        keys(Keys.ARROW_UP * 6, Keys.ENTER)
        self.wait(lambda: "Applied: 16" in all_of(driver, ".stock-row")[0].text, "16 strawberries")
        ActionChains(driver).key_down(Keys.SHIFT).perform()
        tab_to("#close-stock")
        ActionChains(driver).key_up(Keys.SHIFT).perform()
        keys(Keys.SPACE)
        self.wait(lambda: one(driver, "#order").is_displayed(), "the order screen")
        tab_to("[data-juice=strawberry]")
        keys(Keys.SPACE)
        self.wait_for_card("juiceMade", "strawberry juice")
        # Escape closes the question, too.
        keys(Keys.SPACE)
        def asked():
            if not one(driver, "#shortage").is_displayed():
                keys(Keys.SPACE)
            return one(driver, "#shortage").is_displayed()
        self.wait(asked, "the question")
        keys(Keys.ESCAPE)
        self.wait(lambda: not one(driver, "#shortage").is_displayed(), "the question is gone")

    def test_it_fits_every_size_and_has_names_and_contrast(self):
        for language in ("en", "ko"):
            one(driver, f"[data-language={language}]").click()
            for width in (360, 768, 1280, 1920):
                size(driver, width, 800)
                for screen in ("order", "stock", "board"):
                    driver.execute_script("location.hash = arguments[0]; dispatchEvent(new Event('popstate'))", screen)
                    self.assertTrue(one(driver, f"#{screen if width < 1180 or screen != 'board' else 'order'}").is_displayed())
                    wide = driver.execute_script("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"{screen} at {width}")
        nameless = driver.execute_script(
            """return [...document.querySelectorAll("button, input, select, a, [role=img], nav, dialog")].filter((one) =>
                !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim()
                  || one.labels?.length)).map((one) => one.outerHTML)"""
        )
        self.assertEqual(nameless, [])
        small = driver.execute_script(
            """return [...document.querySelectorAll("main button, header button, nav a, select")]
                .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 44).map((one) => one.outerHTML)"""
        )
        self.assertEqual(small, [])
        for scheme in ("light", "dark"):
            prefer(driver, scheme)
            self.assertEqual(driver.execute_script(CONTRAST), [], scheme)

    def test_motion_can_be_reduced(self):
        prefer(driver, motion="reduce")
        seconds = driver.execute_script("return getComputedStyle(document.querySelector('.fill')).transitionDuration")
        self.assertEqual(seconds, "0s")

    # Outages, in the end: they hold everything up

    def test_y_a_late_answer_says_so_and_arrives(self):
        stand.stage.tell("service stop")
        try:
            self.press("banana")
            self.wait_for_card("late", "No answer for 10 s")
            # Neither pressing again nor a reload is a second order.
            self.press("banana")
            driver.refresh()
            self.wait_for_card("late", "No answer for 10 s")
        finally:
            stand.stage.tell("service start")
        self.wait_for_card("juiceMade", "Your banana juice is ready! Enjoy!")
        self.press("kiwi")
        self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
        self.assertEqual(self.count("banana"), "8")

    def test_z_a_lost_broker_is_shown_and_heals(self):
        stand.stage.tell("broker down")
        try:
            self.wait(lambda: one(driver, "#link").get_attribute("data-state") == "lost", "the broker is gone")
            self.assertIn("No Kafka broker answers", one(driver, "#alert").text)
            self.press("banana")
        finally:
            stand.stage.tell("broker up")
        self.wait(lambda: one(driver, "#link").get_attribute("data-state") == "live", "the broker is back")
        self.assertFalse(one(driver, "#alert").is_displayed())
        self.wait_for_card("juiceMade", "Your banana juice is ready! Enjoy!")
        self.wait(lambda: self.count("banana") == "8", "8 bananas")

    def test_z_a_lost_kiosk_is_shown_and_heals(self):
        kiosk, url = stand.open_kiosk()
        visit(driver, url, self.store)
        kiosk.stop()
        self.wait(lambda: one(driver, "#link").get_attribute("data-state") == "unreachable", "the kiosk is gone")
        self.press("banana")
        kiosk, _ = stand.open_kiosk(http=urllib.parse.urlparse(url).netloc)
        try:
            self.wait_for_card("juiceMade", "Your banana juice is ready! Enjoy!")
            self.wait(lambda: one(driver, "#link").get_attribute("data-state") == "live", "the kiosk is back")
        finally:
            kiosk.stop()


# Texts whose contrast with what is behind them is below WCAG's 4.5 (3 for large ones).
CONTRAST = """
const luminance = (color) => {
  const parts = color.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = (color) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const color = rgba(getComputedStyle(one).backgroundColor);
    if (color[3] === 255) return color;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *")].filter((one) =>
    one.offsetParent && !one.closest(":disabled, .is-locked") &&
    [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((one) => {
    const style = getComputedStyle(one);
    const [front, back] = [luminance(rgba(style.color)), luminance(behind(one))];
    const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    return [contrast, isLarge ? 3 : 4.5, `${one.className} ${one.textContent.trim().slice(0, 30)}`];
  }).filter(([contrast, least]) => contrast < least);
"""

if __name__ == "__main__":
    BINARIES = sys.argv.pop(1)
    unittest.main(verbosity=2)
