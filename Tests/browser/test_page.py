"""Languages, keyboard and sizes."""

import urllib.request

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from case import KioskTest
from contrast import CONTRAST
from stand import TOKEN, all_of, one, prefer, proxy, size, texts, visit, wait_until_live


# Words that a line break cuts in two.
BROKEN_WORDS = """
const broken = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; node = walker.nextNode();) {
  if (!node.parentElement.offsetParent) continue;
  for (const word of node.data.matchAll(/\\S+/gu)) {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size > 1) broken.push(word[0]);
  }
}
return broken;
"""
# What has no room for its content.
CUT_OFF = """
return [...document.querySelectorAll("header *, main *, dialog *")].filter((one) => one.offsetParent
  && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline"
  && !one.matches(".hidden, h1 *, select, input, .shelf")).map((one) => one.outerHTML);
"""
# What can be pressed, and is covered by something else while it has the focus.
COVERED = """
const covered = [...document.querySelectorAll("button, input, select, a")].filter((one) => {
  if (!one.offsetParent || one.disabled) return false;
  one.focus();
  one.scrollIntoView({ block: "nearest" });
  const box = one.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return !top || ![one, ...(one.labels ?? [])].some((part) => part.contains(top) || top.contains(part));
}).map((one) => one.outerHTML);
document.activeElement.blur();
return covered;
"""
ON_TOP = """
const box = arguments[0].getBoundingClientRect();
return arguments[0].contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
"""


class PageTest(KioskTest):
    def test_korean(self):
        self.speak("ko")
        self.assertEqual(self.driver.execute_script("return document.documentElement.lang"), "ko")
        self.order("strawberryBanana")
        self.wait_until_made("딸바쥬스 나왔습니다! 맛있게 드세요!")
        self.order("strawberry")
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        self.assertEqual(one(self.driver, "#shortage-text").text, "재고를 수정할까요?")
        self.wait_for_card("outOfStock", "딸기가 모자라요.")
        self.assertEqual([one(self.driver, "#shortage-yes").text, one(self.driver, "#shortage-no").text], ["예", "아니요"])
        one(self.driver, "#shortage-yes").click()
        self.assertEqual(one(self.driver, "#stock-title").text, "재고 수정")
        self.go("order")
        # Korean particles: for several fruits, with and without a final consonant. The basket keeps what was not made.
        for changes, juice, text in (
            (("strawberry=20", "mango=0", "kiwi=0"), "mangoKiwi", "망고와 키위가 모자라요. 재고를 수정할까요?"),
            (("mango=20", "kiwi=20", "pineapple=1"), "pineapple", "파인애플이 모자라요. 재고를 수정할까요?"),
            (("strawberry=0", "kiwi=0"), "kiwi", "딸기, 키위와 파인애플이 모자라요. 재고를 수정할까요?"),
        ):
            self.juice("restock", *changes, "--store", self.store)
            self.wait(lambda: self.count("kiwi") == ("20개" if juice == "pineapple" else "0개"), changes)
            self.order(juice)
            self.wait_for_card("outOfStock", text)
            self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
            one(self.driver, "#shortage-no").click()
        self.driver.refresh()
        self.wait(lambda: one(self.driver, "#order-title").text == "남은 재고", "Korean is remembered")

    def test_it_speaks_the_browsers_language_until_told_otherwise(self):
        with self.kiosk("--language", "ko") as korean:
            agent = self.driver.execute_script("return navigator.userAgent")
            try:
                for url, accepted, language in (
                    (self.stand.url, "ko-KR,en", "ko"), (self.stand.url, "fr,en,ko", "en"), (self.stand.url, "fr", "en"),
                    (korean, "en-US", "ko"),
                ):
                    override = {"userAgent": agent, "acceptLanguage": accepted}
                    self.driver.execute_cdp_cmd("Emulation.setUserAgentOverride", override)
                    self.driver.get(url)
                    self.driver.execute_script("localStorage.removeItem('juice-language')")
                    self.driver.refresh()
                    self.wait(lambda: one(self.driver, "body").get_attribute("data-ready") is not None, "the page is ready")
                    self.assertEqual(one(self.driver, "html").get_attribute("lang"), language, accepted)
                self.speak("en")
                self.driver.refresh()
                self.wait(lambda: one(self.driver, "#order-title").text == "In stock", "what the visitor chose")
            finally:
                self.driver.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": agent})

    def test_the_keyboard_suffices(self):
        def order(juice, key):
            self.tab_to(f"[data-juice={juice}]")
            self.keys(key)
            self.tab_to("#send-order")
            self.keys(key)

        self.tab_to("[data-juice=strawberry]")
        outline = self.driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid")
        order("strawberry", Keys.ENTER)
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        self.tab_to("#shortage-yes")
        self.keys(Keys.ENTER)
        self.wait(lambda: self.driver.switch_to.active_element.get_attribute("id") == "token", "the token's field")
        self.keys(TOKEN, Keys.ENTER)
        self.wait(
            lambda: self.driver.switch_to.active_element.get_attribute("aria-label") == "strawberry +1", "the fruit's stepper"
        )
        self.keys(Keys.ENTER * 2)
        self.wait(lambda: "Applied: 12" in all_of(self.driver, ".stock-row")[0].text, "12 strawberries")
        self.shift_tab_to("[name=mode]")
        self.keys(Keys.ARROW_RIGHT)
        self.tab_to("[data-fruit=strawberry]")
        self.keys("+4", Keys.ENTER)
        self.wait(lambda: "Applied: 16" in all_of(self.driver, ".stock-row")[0].text, "16 strawberries")
        self.shift_tab_to("nav a[href='#order']")
        self.keys(Keys.ENTER)
        self.wait(lambda: one(self.driver, "#order").is_displayed(), "the order screen")
        # The basket still has the juice that was not made.
        self.tab_to("#send-order")
        self.keys(Keys.SPACE)
        self.wait_until_made("strawberry juice")
        # Escape closes the question, too.
        order("strawberry", Keys.SPACE)
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        self.keys(Keys.ESCAPE)
        self.wait(lambda: not one(self.driver, "#shortage").is_displayed(), "the question is gone")

    def show(self, screen):
        # The page measures what stays at the bottom of the window when it is drawn.
        self.driver.execute_async_script(
            """location.hash = arguments[0]; dispatchEvent(new Event("popstate"));
            requestAnimationFrame(() => requestAnimationFrame(arguments[1]))""", screen)
        self.assertTrue(one(self.driver, f"#{screen}").is_displayed())

    def assert_it_fits(self, *screens):
        for language in ("en", "ko"):
            self.speak(language)
            # The last is a window of 1280 × 1024 that is zoomed in to 400 %.
            for width, height in ((320, 640), (360, 780), (768, 1024), (1280, 800), (1920, 1080), (320, 256)):
                size(self.driver, width, height)
                for screen in screens:
                    self.show(screen)
                    wide = self.driver.execute_script("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"{screen} at {width}")
                    for script in (BROKEN_WORDS, CUT_OFF, COVERED):
                        self.assertEqual(self.driver.execute_script(script), [], f"{screen} at {width} in {language}")
                    # The heading is in the first window, and so is the stock, which is one line.
                    self.driver.execute_script("scrollTo(0, 0)")
                    title = one(self.driver, f"#{screen}-title")
                    self.assertTrue(self.driver.execute_script(ON_TOP, title), f"{screen} at {width}")
                lines = {round(element.rect["y"]) for element in all_of(self.driver, "#shelf .fruit")}
                self.assertEqual(len(lines), 1, width)
                self.assertLess(one(self.driver, "header").rect["height"], 80 if width > 700 else 130, width)

    def test_it_fits_every_size_and_has_names_and_contrast(self):
        self.order("kiwi")
        self.wait_until_made("kiwi")
        self.press("strawberryBanana")
        self.press("strawberryBanana")
        one(self.driver, "#basket-open").click()
        self.assert_it_fits("stock")
        self.unlock()
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        self.assert_it_fits("order", "stock", "board")
        self.go("stock")
        self.edit("add")
        self.assert_it_fits("stock")
        nameless = self.driver.execute_script(
            """return [...document.querySelectorAll("button, input, select, a, [role=img], nav, dialog")].filter((one) =>
                !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim()
                  || one.labels?.length)).map((one) => one.outerHTML)"""
        )
        self.assertEqual(nameless, [])
        for screen in ("order", "stock", "board"):
            self.show(screen)
            small = self.driver.execute_script(
                """return [...document.querySelectorAll("main button, header button, nav a, select")]
                    .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 44)
                    .map((one) => one.outerHTML)"""
            )
            self.assertEqual(small, [], screen)
            for scheme in ("light", "dark"):
                prefer(self.driver, scheme)
                self.assertEqual(self.driver.execute_script(CONTRAST), [], f"{screen} {scheme}")

    def test_long_names_and_large_text_fit(self):
        names = ({"en": "supercalifragilisticexpialidocious", "ko": f"스트로베리바나나스페셜{kind}"} for kind in ("과일", "쥬스"))
        fruit, juice = ({"id": "long", "name": name} for name in names)
        with self.menu([fruit | {"initialStock": 10}], [juice | {"recipe": {"long": 12, "kiwi": 3}}]) as options:
            with self.kiosk("--any-store", *options, *self.stand.for_staff) as url:
                visit(self.driver, url, self.store)
                self.press("long")
                self.press("kiwi")
                one(self.driver, "#basket-open").click()
                self.unlock()
                self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
                self.edit("add")
                for zoom in ("", "212.5%"):
                    self.driver.execute_script("document.documentElement.style.fontSize = arguments[0]", zoom)
                    self.assert_nothing_overflows(zoom)

    def assert_nothing_overflows(self, zoom):
        for language in ("en", "ko"):
            self.speak(language)
            for width in (320, 360, 768, 1280):
                size(self.driver, width, 900)
                for screen in ("order", "stock", "board"):
                    self.show(screen)
                    wide = self.driver.execute_script("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"{screen} in {language} {zoom}")
                    self.assertEqual(self.driver.execute_script(CUT_OFF), [], f"{screen} at {width} in {language} {zoom}")
                for dialog in all_of(self.driver, "dialog"):
                    self.driver.execute_script("arguments[0].showModal()", dialog)
                    self.assertEqual(self.driver.execute_script(CUT_OFF), [], f"{width} in {language} {zoom}")
                    self.driver.execute_script("arguments[0].close()", dialog)

    def test_the_focus_is_never_lost(self):
        size(self.driver, 360, 780)
        for language, other in (("ko", "en"), ("en", "ko")):
            self.tab_to(f"[data-language={language}]")
            self.keys(Keys.ENTER)
            self.assertTrue(self.has_focus(f"[data-language={other}]"))
        self.order("kiwi")
        self.wait_until_made("kiwi")
        # Backwards it takes few steps, and the card leaves by itself.
        self.shift_tab_to("[aria-label=Dismiss]")
        self.keys(Keys.ENTER)
        self.assertEqual(all_of(self.driver, ".answer-card"), [])
        self.assertTrue(self.has_focus("#order-title"))

    def test_only_what_happens_to_this_page_is_announced(self):
        self.unlock()
        self.wait(lambda: one(self.driver, "#lock").is_displayed(), "the token is accepted")
        live = self.driver.execute_script(
            "return [...document.querySelectorAll('[role=status], [role=alert], [aria-live], output')].map((one) => one.className)"
        )
        self.assertEqual((live.count("applied"), live.count("count")), (5, 0))

    def test_an_older_browser_shows_what_can_be_read(self):
        css = urllib.request.urlopen(f"{self.stand.url}kiosk.css").read().decode()
        for young in ("light-dark(", "color-mix(", ":has("):
            css = css.replace(young, f"{young[0]}un{young[1:]}")
        styled = lambda method, path: (200, {"Content-Type": "text/css"}, css) if path == "/kiosk.css" else None
        with proxy(self.stand.url, styled) as url:
            visit(self.driver, url, self.store)
            self.press("strawberry")
            for scheme in ("light", "dark"):
                prefer(self.driver, scheme)
                for screen in ("order", "stock", "board"):
                    self.show(screen)
                    self.assertEqual(self.driver.execute_script(CONTRAST), [], f"{screen} {scheme}")
                papers = [part.value_of_css_property("background-color") for part in all_of(self.driver, "body, dialog, .strong")]
                self.assertEqual([paper for paper in papers if paper.startswith("rgba") and not paper.endswith(", 1)")], [])
            self.unlock()
            self.wait(lambda: one(self.driver, "#edit").is_displayed(), "the token is accepted")
            modes = [mode.value_of_css_property("background-color") for mode in all_of(self.driver, "#mode span")]
            self.assertEqual(modes.count(modes[0]), 1, "the chosen mode is marked")

    def test_roles_and_names_need_no_aria_properties(self):
        with self.before_each_page("for (const name of ['Label', 'Pressed', 'Current']) delete Element.prototype[`aria${name}`]"):
            self.driver.refresh()
            wait_until_live(self.driver)
            self.go("board")
            for selector in (
                "nav[aria-label=Screens]", "[role=group][aria-label=Language]", "nav [href='#board'][aria-current=page]",
                "[data-language=en][aria-pressed=true]", "[data-language=ko][aria-pressed=false]",
            ):
                self.assertEqual(len(all_of(self.driver, selector)), 1, selector)

    def test_a_page_that_the_browser_translates_is_not_announced_again(self):
        self.press("kiwi")
        self.driver.execute_script("document.querySelector('#basket-open').textContent = 'Korb: 1'")
        self.juice("restock", "mango=+5", "--store", self.store)
        self.wait(lambda: self.count("mango") == "15", "another's change of the stock")
        self.assertEqual(one(self.driver, "#basket-open").text, "Korb: 1")
        self.press("kiwi")
        self.wait(lambda: one(self.driver, "#basket-open").text == "Basket: 2", "one's own")
        # Names are values, too.
        self.wait(lambda: self.store in texts(self.driver, "#store [value]"), "the store in the list")
        translated = "return [...document.querySelectorAll('#store option, #shelf .name')].filter((one) => one.translate).length"
        self.assertEqual(self.driver.execute_script(translated), 1, "'Another store…'")

    def test_forced_colors_show_what_is_chosen(self):
        prefer(self.driver, forced="active")
        for screen, part in (("order", "nav a"), ("order", ".segments [data-language]")):
            self.go(screen)
            colors = [element.value_of_css_property("background-color") for element in all_of(self.driver, part)]
            self.assertEqual(colors.count(colors[0]), 1, part)

    def test_motion_can_be_reduced(self):
        prefer(self.driver, motion="reduce")
        seconds = self.driver.execute_script("return getComputedStyle(document.querySelector('.fill')).transitionDuration")
        self.assertEqual(seconds, "0s")
