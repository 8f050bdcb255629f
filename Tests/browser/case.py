"""The base class of the page's tests."""

import contextlib
import http.client
import json
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request
import uuid

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from stand import TOKEN, all_of, one, prefer, size, until, visit

HOSTILE = "<img src=x onerror=document.title='broken'>\"'&"


def order_of(juice, id=None):
    """The value of an order's record."""
    return {"orderId": id or f"kiosk-{uuid.uuid4()}", "juice": juice}


class KioskTest(unittest.TestCase):
    # Set once for all tests, by run.py.
    stand = None
    driver = None

    def setUp(self):
        # A new store for each test, with the menu's stock.
        self.store = f"store-{uuid.uuid4().hex[:8]}"
        size(self.driver, 1280, 900)
        prefer(self.driver)
        visit(self.driver, self.stand.url, self.store)

    def tearDown(self):
        errors = [line for line in self.driver.get_log("browser") if "Content Security Policy" in line["message"]]
        # Otherwise the next page would list this page's orders and send its unanswered commands again. The page is left before,
        # since it writes them again at its next event.
        self.driver.get(f"{self.stand.url}api/menu")
        self.driver.execute_script("sessionStorage.clear()")
        # Otherwise staff stay signed in.
        self.driver.delete_all_cookies()
        self.assertEqual(errors, [])

    @contextlib.contextmanager
    def before_each_page(self, script):
        """Runs a script before those of each page."""
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

    # Parts

    def wait(self, condition, what):
        until(self.driver, condition, what)

    def count(self, fruit):
        """The count of a fruit on the order screen."""
        index = ["strawberry", "banana", "pineapple", "kiwi", "mango"].index(fruit)
        return all_of(self.driver, "#shelf .count")[index].text

    def go(self, screen):
        one(self.driver, f"nav a[href='#{screen}']").click()

    def speak(self, language):
        """Chooses a language. Narrow windows offer only the other one."""
        button = one(self.driver, f"[data-language={language}]")
        if button.get_attribute("aria-pressed") == "false":
            button.click()

    def choose(self, store):
        """Chooses a store that is listed. The list may change between two steps."""
        self.wait(lambda: Select(one(self.driver, "#store")).select_by_value(store) is None, f"{store} can be chosen")

    def press(self, juice):
        """Puts a juice into the basket."""
        button = one(self.driver, f"[data-juice={juice}]")
        # Out from under what stays at the bottom of the window.
        self.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", button)
        button.click()

    def order(self, *juices):
        """Orders juices as one basket."""
        for juice in juices:
            self.press(juice)
        one(self.driver, "#send-order").click()

    def has_focus(self, selector):
        return self.driver.execute_script("return document.activeElement.matches(arguments[0])", selector)

    def keys(self, *pressed):
        ActionChains(self.driver).send_keys(*pressed).perform()

    def tab_to(self, selector):
        for _ in range(60):
            if self.has_focus(selector):
                return
            self.keys(Keys.TAB)
        self.fail(f"no tab leads to {selector}")

    def shift_tab_to(self, selector):
        ActionChains(self.driver).key_down(Keys.SHIFT).perform()
        self.tab_to(selector)
        ActionChains(self.driver).key_up(Keys.SHIFT).perform()

    def wait_for_card(self, state, text):
        self.wait(
            lambda: any(text in card.text for card in all_of(self.driver, f".answer-card[data-state={state}]")),
            f"a card {state}: {text}",
        )

    def wait_until_made(self, text):
        self.wait_for_card("juiceMade", text)

    def leave_an_order(self, age=0):
        """What a page keeps that sent an order of a kiwi juice some seconds ago and has no answer."""
        self.driver.execute_script(
            """const content = { items: [{ juice: "kiwi", quantity: 1 }] }, at = Date.now() - 1000 * arguments[1];
            sessionStorage["juice-commands"] = "juice 1 " + JSON.stringify(
              [{ kind: "order", id: "kiosk-a-1", store: arguments[0], content, at }])""", self.store, age)

    def unlock(self, token=TOKEN):
        self.go("stock")
        one(self.driver, "#token").clear()
        one(self.driver, "#token").send_keys(token + Keys.ENTER)

    def edit(self, mode):
        """Chooses how to edit the stock: step, add or set."""
        one(self.driver, f"label:has([value={mode}])").click()

    def assert_header_is_clear(self):
        """On a phone, in both languages, the connection state in the header overlaps nothing."""
        size(self.driver, 360, 780)
        for language in ("ko", "en"):
            self.speak(language)
            link, *others = (one(self.driver, f".bar {part}").rect for part in ("#link", "img", "#store", ".segments", "nav"))
            for other in others:
                apart = any(
                    first[at] + first[size] <= second[at] for at, size in (("x", "width"), ("y", "height"))
                    for first, second in ((link, other), (other, link)))
                self.assertTrue(apart, f"{language}: {link} {other}")
            self.assertLessEqual(link["x"] + link["width"], 360)

    @contextlib.contextmanager
    def kiosk(self, *options):
        """A kiosk with options of its own."""
        kiosk, url = self.stand.open_kiosk(*options)
        try:
            yield url
        finally:
            kiosk.stop()

    @contextlib.contextmanager
    def menu(self, fruits=(), juices=()):
        """The options of a kiosk with more on its menu."""
        menu = json.loads(subprocess.run([f"{self.stand.binaries}/juice", "menu", "--json"], capture_output=True).stdout)
        menu["fruits"] += fruits
        menu["juices"] += juices
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(menu, file)
            file.flush()
            yield "--menu", file.name

    def juice(self, *arguments):
        return subprocess.run(
            [f"{self.stand.binaries}/juice", *arguments, "--bootstrap-servers", self.stand.brokers, "--wait", "--timeout", "60s"],
            capture_output=True, text=True, timeout=120,
        ).stdout

    def post(self, path, body, url=None, **headers):
        url = urllib.parse.urlparse(url or self.stand.url)
        connection = http.client.HTTPConnection(url.netloc)
        try:
            connection.request("POST", path, json.dumps(body), headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def order_at(self, url, store):
        return self.post(self.path("orders", store), order_of("kiwi"), url, Origin=url.rstrip("/"))

    def settings_after(self, seconds):
        """The kiosk's settings, as a proxy's answer, with a time that is later."""
        settings = json.loads(urllib.request.urlopen(f"{self.stand.url}api/settings").read())
        settings["time"] += seconds
        return 200, {"Content-Type": "application/json", "Juice-Kiosk": "1"}, json.dumps(settings)

    def path(self, topic, store=None):
        return f"/api/{topic}?store={urllib.parse.quote(store or self.store, safe='')}"
