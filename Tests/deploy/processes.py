"""The processes of the checks: juice with its embedded broker, and Prometheus."""

import json
import os
import re
import socket
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

from basics import Fault, Hopeless, eventually


class Process:
    """A process whose output is kept. It ends with its `with` block."""

    def __init__(self, command, env=None):
        self.command = command
        self.output = []
        self.process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        # Read all the time, so that the process never blocks on its output.
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.output.append(line)

    def find(self, pattern):
        """The first group of the pattern's match in the output so far."""
        found = re.search(pattern, "".join(self.output))
        if not found:
            self.ensure_running()
        return found and found[1]

    def ensure_running(self):
        """Raises its output if it has ended."""
        if self.process.poll() is not None:
            self.reader.join(5)
            raise Hopeless(f"{self.command[0]} ended with {self.process.returncode}:\n{''.join(self.output)}")

    def stop(self):
        """Terminates the process, by force if needed."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Juice(Process):
    """A juice command that serves health and metrics at a port chosen by the system."""

    def __init__(self, juice, env, *arguments):
        self.name = f"juice {arguments[0]}"
        super().__init__([juice, *arguments], env)

    def wait_until_ready(self):
        """Waits until it can be reached and reports that it is ready."""
        eventually(f"{self.name} says where HTTP is", self.find_address)
        eventually(f"{self.name} is ready", lambda: fetch(f"http://{self.address}/health/ready"))
        fetch(f"http://{self.address}/health/live")

    def find_address(self):
        """Finds the address of health and metrics. A kiosk also prints the address of its page."""
        page = self.find(r"kiosk is at http://(\S+)/") if "kiosk" in self.name else None
        addresses = set(re.findall(r"HTTP at http://(\S+)", "".join(self.output))) - {page}
        self.ensure_running()
        if len(addresses) == 1 and (page or "kiosk" not in self.name):
            (self.address,) = addresses
            return True
        return False

    def metrics(self):
        """The page that Prometheus scrapes."""
        return fetch(f"http://{self.address}/metrics")


def service(juice, env):
    """`juice serve` with a broker of its own."""
    return Juice(juice, env, "serve", "--http", "127.0.0.1:0")


def kiosk(juice, env):
    """`juice kiosk` beside a service."""
    return Juice(juice, env, "kiosk", "--http", "127.0.0.1:0", "--admin-http", "127.0.0.1:0")


class Prometheus(Process):
    """A Prometheus with this configuration and data folder."""

    def __init__(self, prometheus, configuration, folder):
        self.address = f"127.0.0.1:{free_port()}"
        super().__init__(
            [
                prometheus, f"--config.file={configuration}", f"--storage.tsdb.path={folder}",
                f"--web.listen-address={self.address}", "--log.level=warn",
            ]
        )

    def wait_until_ready(self):
        """Waits until it answers."""

        def probe():
            self.ensure_running()
            return fetch(f"http://{self.address}/-/ready")

        eventually("prometheus is ready", probe)

    def ask(self, path, **parameters):
        """The data of an answer of its HTTP API."""
        query = urllib.parse.urlencode(parameters)
        answer = json.loads(fetch(f"http://{self.address}/api/v1/{path}?{query}", errors=True))
        if answer["status"] != "success":
            raise Hopeless(f"Prometheus does not understand {parameters}: {answer['error']}")
        return answer["data"]

    def query(self, expression):
        """The series that an expression gives now."""
        return self.ask("query", query=expression)["result"]

    def alerts(self):
        """The names of pending and firing alerts."""
        return {alert["labels"]["alertname"] for alert in self.ask("alerts")["alerts"]}


def fetch(url, errors=False):
    """The page at an address; an error page only if asked for."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        page = error.read().decode()
        if errors:
            return page
        raise Fault(f"{url}: {error.code} {page}") from None
    except (urllib.error.URLError, OSError) as error:
        raise Fault(f"{url}: {error}") from None


def free_port():
    """A free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def clean_environment(runtime):
    """This process' environment without settings of juice, and with another folder for juice's run files."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JUICE_")}
    return kept | {"XDG_RUNTIME_DIR": str(runtime)}
