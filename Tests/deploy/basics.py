"""Helpers of all checks."""

import json
import pathlib
import subprocess
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


class Fault(Exception):
    """A check failed."""


class Hopeless(Exception):
    """A check failed, and trying again is useless."""


def ensure(condition, fault):
    """Raises a fault unless the condition holds."""
    if not condition:
        raise Fault(fault)


def run(*command, input=None, env=None):
    """Runs a command and returns its output; raises a fault if it fails."""
    # On a busy machine promtool takes two minutes for the tests of the alerts.
    done = subprocess.run(
        [str(word) for word in command], input=input, env=env, capture_output=True, text=True, timeout=600
    )
    ensure(done.returncode == 0, f"{command_line(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def command_line(command):
    return " ".join(pathlib.Path(word).name if index == 0 else str(word) for index, word in enumerate(command))


def eventually(what, probe, timeout=60):
    """Calls the probe until its result is true, and returns that. A Fault counts as not yet true."""
    deadline = time.monotonic() + timeout
    while True:
        fault = ""
        try:
            if answer := probe():
                return answer
        except Fault as error:
            fault = f": {error}"
        ensure(time.monotonic() < deadline, f"{what}: not within {timeout} s{fault}")
        time.sleep(0.1)


def read_yaml(path):
    """The document in a YAML file."""
    return yaml.safe_load(path.read_text())


def read_json(path):
    """The document in a JSON file."""
    return json.loads(path.read_text())
