"""Attacks by strangers."""

import http.server
import json
import threading

from case import HOSTILE, KioskTest, order_of
from stand import TOKEN, all_of, one, texts, visit


class StrangerTest(KioskTest):
    def test_other_origins_are_refused(self):
        origin = self.stand.url.rstrip("/")
        order = order_of("kiwi")
        for headers, status in (
            ({"Origin": "http://foreign.test"}, 403),
            ({}, 403),
            ({"Origin": origin, "Sec-Fetch-Site": "cross-site"}, 403),
            ({"Origin": origin, "Host": "foreign.test"}, 421),
        ):
            self.assertEqual(self.post(self.path("orders"), order, **headers), status, headers)
        restock = {"restockId": "kiosk-stranger", "set": {"kiwi": 0}}
        for secret in ("", f"{TOKEN}x", TOKEN):
            self.assertEqual(self.post(self.path("restocks"), restock, Origin=origin, **{"Juice-Secret": secret}), 401)
        self.order("banana")
        self.wait(lambda: self.count("banana") == "8", "8 bananas")
        self.assertEqual(self.count("kiwi"), "10")

    def test_a_foreign_page_cannot_order(self):
        class Foreign(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        # Another port of the same machine is another origin. Without a preflight request, only plain text can be sent. A thread for
        # each connection, since the browser keeps one open that it does not use.
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as server:
            threading.Thread(target=server.serve_forever).start()
            self.driver.get(f"http://127.0.0.1:{server.server_port}/")
            # The browser hides the kiosk's answer from that page.
            self.driver.execute_async_script(
                """const [url, order, done] = arguments;
                fetch(url, { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" },
                    body: JSON.stringify(order) }).then(() => done(), () => done());""",
                self.stand.url.rstrip("/") + self.path("orders"), order_of("kiwi"),
            )
            server.shutdown()
        visit(self.driver, self.stand.url, self.store)
        self.order("banana")
        self.wait(lambda: self.count("banana") == "8", "8 bananas")
        self.assertEqual(self.count("kiwi"), "10")

    def test_hostile_names_are_text(self):
        for store in (HOSTILE, "</script><script>document.title='broken'</script>"):
            visit(self.driver, self.stand.url, store)
            order = order_of("kiwi", f"kiosk-{HOSTILE}")
            self.assertEqual(self.post(self.path("orders", store), order, Origin=self.stand.url.rstrip("/")), 202)
            self.wait(lambda: self.count("kiwi") == "7", "7 kiwis")
            self.go("board")
            self.wait(lambda: store in one(self.driver, "#answers").text, "the name as it is written")
            self.assertEqual(texts(self.driver, "#store option:checked"), [store])
            self.assertEqual(self.driver.title, "Juice Maker")
            self.assertEqual(all_of(self.driver, "main img, body script, #answers script"), [])
        visit(self.driver, self.stand.url, self.store)

    def test_names_do_not_turn_the_text_around_them(self):
        store = "a\u202eb\u2028c\u009bd"
        visit(self.driver, self.stand.url, store)
        self.order("kiwi")
        shown = "a\ufffdb\ufffdc\ufffdd"
        self.wait(lambda: shown in texts(self.driver, "#answers bdi"), "the name, made visible")
        self.assertEqual(texts(self.driver, "#store option:checked"), [json.dumps(store)])
