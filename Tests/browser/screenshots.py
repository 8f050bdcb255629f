#!/usr/bin/env python3
"""Takes the pictures of the kiosk: screenshots.py BINARIES FOLDER [all]. `all` adds the sizes that only developers need."""

import io
import pathlib
import sys
import tempfile

from PIL import Image
from stand import TOKEN, Process, browser, one, prefer, size, until, visit

SCREENS = ("order", "stock", "board")


def picture(driver, path, width=None):
    image = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    if width and image.width > width:
        image = image.resize((width, round(image.height * width / image.width)), Image.LANCZOS)
    if width:
        palette = Image.new("P", (1, 1))
        palette.putpalette([part for color in colors(image) for part in color])
        image = image.quantize(palette=palette, dither=Image.Dither.NONE)
    image.save(path, optimize=True)


def colors(image):
    """The most frequent colors that differ visibly. The page has few, and a palette reduces the file to a third."""
    kept = []
    for _, color in sorted(image.getcolors(1 << 24), reverse=True):
        if all(max(abs(one - other) for one, other in zip(color, known)) > 5 for known in kept):
            kept.append(color)
        if len(kept) == 256:
            break
    return kept


def show(driver, screen):
    driver.execute_script("location.hash = arguments[0]; dispatchEvent(new PopStateEvent('popstate'))", screen)
    if screen == "stock" and one(driver, "#sign-in").is_displayed():
        one(driver, "#token").send_keys(TOKEN + "\n")
        until(driver, lambda: not one(driver, "#sign-in").is_displayed(), "the stock can be edited")
    driver.execute_script("scrollTo(0, 0); document.activeElement.blur()")


def click(driver, *selectors):
    # Not with the mouse: it would stay there and highlight the last button.
    for selector in selectors:
        driver.execute_script("arguments[0].click()", one(driver, selector))


def main(binaries, folder, is_all):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as private:
        token = pathlib.Path(private) / "token"
        token.write_text(TOKEN)
        demo = Process(
            [f"{binaries}/juice", "demo", "--kiosk", "--http", "127.0.0.1:0", "--staff-token-file", str(token)],
            {"XDG_RUNTIME_DIR": private},
        )
        driver = browser()
        try:
            url = demo.expect(r"the page: ([^ ;]+)")[1].strip()
            visit(driver, url, "gangnam", "en")
            until(driver, lambda: int(one(driver, "#made").get_attribute("textContent")) >= 60, "something to see in the chart")
            click(driver, "[data-juice=kiwi]", "#send-order")
            until(driver, lambda: one(driver, ".answer-card:is(.is-good, .is-bad)"), "an answer")
            if one(driver, "#shortage").get_attribute("open"):
                one(driver, "#shortage-no").click()
            click(driver, "[data-juice=pineapple]", "[data-juice=mango]", "[data-juice=mango]")
            for scheme in ("light", "dark"):
                prefer(driver, scheme, "reduce")
                for screen in ("order", "stock"):
                    size(driver, 1440, 900)
                    show(driver, screen)
                    picture(driver, folder / f"kiosk-{screen}-{scheme}.png", 960)
                if is_all:
                    more(driver, folder, scheme)
        finally:
            driver.quit()
            demo.stop()


def more(driver, folder, scheme):
    for language in ("en", "ko"):
        click(driver, f"[data-language={language}]")
        for width, height in ((360, 780), (800, 1000), (1920, 1080)):
            for screen in SCREENS:
                size(driver, width, height)
                show(driver, screen)
                picture(driver, folder / f"{width}-{screen}-{language}-{scheme}.png")
    click(driver, "[data-language=en]")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "all" in sys.argv[3:])
