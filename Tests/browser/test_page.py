"""Languages, keyboard and sizes."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from case import KioskTest
from contrast import CONTRAST
from stand import TOKEN, all_of, one, prefer, size


class PageTest(KioskTest):
    def test_korean(self):
        one(self.driver, "[data-language=ko]").click()
        self.assertEqual(self.driver.execute_script("return document.documentElement.lang"), "ko")
        self.order("strawberryBanana")
        self.wait_for_card("juiceMade", "딸바쥬스 나왔습니다! 맛있게 드세요!")
        self.order("strawberry")
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        self.assertEqual(one(self.driver, "#shortage-text").text, "딸기가 모자라요. 재고를 수정할까요?")
        self.assertEqual([one(self.driver, "#shortage-yes").text, one(self.driver, "#shortage-no").text], ["예", "아니요"])
        one(self.driver, "#shortage-yes").click()
        self.assertEqual(one(self.driver, "#stock-title").text, "재고 추가")
        one(self.driver, "#close-stock").click()
        # Korean particles: for several fruits, with and without a final consonant.
        self.juice("restock", "mango=0", "kiwi=0", "pineapple=1", "--store", self.store)
        self.wait(lambda: self.count("mango") == "0개", "no mango")
        for juice, text in (
            ("mangoKiwi", "망고와 키위가 모자라요. 재고를 수정할까요?"),
            ("pineapple", "파인애플이 모자라요. 재고를 수정할까요?"),
        ):
            self.order(juice)
            self.wait(lambda: one(self.driver, "#shortage-text").text == text, text)
            one(self.driver, "#shortage-no").click()
        self.driver.refresh()
        self.wait(lambda: one(self.driver, "#order-title").text == "남은 재고", "Korean is remembered")

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
            lambda: self.driver.switch_to.active_element.get_attribute("data-fruit") == "strawberry", "the fruit's field"
        )
        self.keys(Keys.ARROW_UP * 6, Keys.ENTER)
        self.wait(lambda: "Applied: 16" in all_of(self.driver, ".stock-row")[0].text, "16 strawberries")
        ActionChains(self.driver).key_down(Keys.SHIFT).perform()
        self.tab_to("#close-stock")
        ActionChains(self.driver).key_up(Keys.SHIFT).perform()
        self.keys(Keys.SPACE)
        self.wait(lambda: one(self.driver, "#order").is_displayed(), "the order screen")
        order("strawberry", Keys.SPACE)
        self.wait_for_card("juiceMade", "strawberry juice")
        # Escape closes the question, too.
        order("strawberry", Keys.SPACE)
        self.wait(lambda: one(self.driver, "#shortage").is_displayed(), "the question")
        self.keys(Keys.ESCAPE)
        self.wait(lambda: not one(self.driver, "#shortage").is_displayed(), "the question is gone")

    def test_it_fits_every_size_and_has_names_and_contrast(self):
        self.order("kiwi")
        self.wait_for_card("juiceMade", "kiwi")
        self.press("strawberryBanana")
        self.press("strawberryBanana")
        for language in ("en", "ko"):
            one(self.driver, f"[data-language={language}]").click()
            for width in (360, 768, 1280, 1920):
                size(self.driver, width, 800)
                for screen in ("order", "stock", "board"):
                    self.driver.execute_script("location.hash = arguments[0]; dispatchEvent(new Event('popstate'))", screen)
                    self.assertTrue(one(self.driver, f"#{screen if width < 1180 or screen != 'board' else 'order'}").is_displayed())
                    wide = self.driver.execute_script("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"{screen} at {width}")
        nameless = self.driver.execute_script(
            """return [...document.querySelectorAll("button, input, select, a, [role=img], nav, dialog")].filter((one) =>
                !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim()
                  || one.labels?.length)).map((one) => one.outerHTML)"""
        )
        self.assertEqual(nameless, [])
        small = self.driver.execute_script(
            """return [...document.querySelectorAll("main button, header button, nav a, select")]
                .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 44).map((one) => one.outerHTML)"""
        )
        self.assertEqual(small, [])
        for scheme in ("light", "dark"):
            prefer(self.driver, scheme)
            self.assertEqual(self.driver.execute_script(CONTRAST), [], scheme)

    def test_motion_can_be_reduced(self):
        prefer(self.driver, motion="reduce")
        seconds = self.driver.execute_script("return getComputedStyle(document.querySelector('.fill')).transitionDuration")
        self.assertEqual(seconds, "0s")
