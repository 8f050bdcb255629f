"""A broker, the service, the kiosk and a browser, for the tests and the screenshots of the page."""

import contextlib
import http.client
import http.server
import os
import pathlib
import queue
import re
import subprocess
import tempfile
import threading
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

TIMEOUT = 120  # Seconds; nothing here takes more than a few, unless the machine is busy.
TOKEN = "a-token-for-the-tests"
PIN = "314159"


class Process:
    """A program whose output lines tests can wait for."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            command,
            env=os.environ | (environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = queue.Queue()
        self.said = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.said.append(line)
            self.lines.put(line)
        self.lines.put(None)

    def expect(self, pattern):
        """The match in the next line that has one."""
        while True:
            try:
                line = self.lines.get(timeout=TIMEOUT)
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no {pattern!r} in the output:\n" + "".join(self.said))
            if found := re.search(pattern, line):
                return found

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.expect("^done")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.reader.join(TIMEOUT)
        self.process.stdout.close()


class Stand:
    """An embedded broker and the service, which tests can stop, and a kiosk on top of them."""

    def __init__(self, binaries, *options):
        self.binaries = pathlib.Path(binaries)
        self.folder = tempfile.TemporaryDirectory()
        token = pathlib.Path(self.folder.name) / "token"
        token.write_text(TOKEN + "\n")
        self.stage = Process([str(self.binaries / "lab"), "fixtures", "kiosk-stage"])
        self.brokers = self.stage.expect(r"^brokers (\S+)")[1]
        self.stage.expect("^ready")
        self.for_staff = ("--staff-token-file", str(token))
        self.pin_file = str(pathlib.Path(self.folder.name) / "pin")
        pathlib.Path(self.pin_file).write_text(PIN + "\n")
        # Each test uses its own store.
        self.kiosk, self.url = self.open_kiosk("--any-store", *self.for_staff, *options)

    def open_kiosk(self, *options, http="127.0.0.1:0"):
        kiosk = Process(
            [str(self.binaries / "juice"), "kiosk", "--bootstrap-servers", self.brokers, "--http", http, *options]
        )
        return kiosk, kiosk.expect(r"The kiosk is at (\S+)")[1]

    def stop(self):
        self.kiosk.stop()
        self.stage.stop()
        self.folder.cleanup()


@contextlib.contextmanager
def proxy(url, answer=lambda method, path: None, host=None, refuses=lambda request: False):
    """A proxy in front of a kiosk, which may send a `Host` of its own. Some requests it answers itself: with 403 if it refuses
    them, or with the status, headers and body of `answer(method, path)`, unless that is None. Gives its URL."""
    kiosk = urllib.parse.urlparse(url).netloc

    class Handler(http.server.BaseHTTPRequestHandler):
        def forward(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            own = (403, {}, "") if refuses(self) else answer(self.command, self.path.split("?")[0])
            if own:
                return self.respond(own[0], own[1].items(), [own[2].encode()])
            connection = http.client.HTTPConnection(kiosk)
            connection.request(self.command, self.path, body, dict(self.headers) | ({"Host": host} if host else {}))
            response = connection.getresponse()
            headers = [one for one in response.getheaders() if one[0].lower() not in ("transfer-encoding", "connection")]
            self.respond(response.status, headers, iter(lambda: response.read1(65536), b""))

        def respond(self, status, headers, parts):
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            for part in parts:
                self.wfile.write(part)

        do_GET = do_POST = forward

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        # The browser ends streams in the middle.
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def browser(width=1280, height=900):
    """Headless Chromium that reaches only this machine."""
    options = Options()
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
        "--lang=en-US",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost , EXCLUDE foreign.test",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(_find("chromedriver")))
    size(driver, width, height)
    return driver


def _find(name):
    for folder in os.environ["PATH"].split(":") + ["/usr/bin", "/opt/homebrew/bin"]:
        path = pathlib.Path(folder) / name
        if path.is_file():
            return str(path)
    raise SystemExit(f"{name} is not installed; scripts/setup.sh browser does it")


def size(driver, width, height, scale=1):
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False},
    )


def prefer(driver, scheme="light", motion="no-preference", forced="none"):
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": motion},
        {"name": "forced-colors", "value": forced},
    ]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def until(driver, condition, what):
    """Waits for a condition, which may read elements that come and go."""

    def holds(_):
        try:
            return condition()
        except Exception:  # An element was replaced while it was read.
            return False

    WebDriverWait(driver, TIMEOUT, poll_frequency=0.05).until(holds, what)


def visit(driver, url, store=None, language="en"):
    """Opens the page and waits until it shows the current state."""
    driver.get(url)
    driver.execute_script(
        "localStorage.setItem('juice-language', arguments[0]);"
        "if (arguments[1]) localStorage.setItem('juice-store', arguments[1])",
        language, store,
    )
    driver.refresh()
    wait_until_live(driver)


def wait_until_live(driver):
    until(driver, lambda: one(driver, "#link").get_attribute("data-state") == "live", "the page is live")


def one(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def all_of(driver, selector):
    return driver.find_elements(By.CSS_SELECTOR, selector)


def texts(driver, selector):
    """The texts of elements, read in one step: the page may replace them between two steps."""
    script = "return [...document.querySelectorAll(arguments[0])].map((element) => element.innerText)"
    return driver.execute_script(script, selector)
