"""Checks of the Dockerfile's image, as far as possible without Docker, and of images in docker-compose.yml."""

import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from basics import ROOT, ensure, run

DOCKERFILE = (ROOT / "Dockerfile").read_text()
# The volumes that the other images declare.
VOLUMES = {
    "apache/kafka": ["/etc/kafka/secrets", "/mnt/shared/config", "/var/lib/kafka/data"],
    "prom/prometheus": ["/prometheus"],
    "grafana/grafana": [],
}


def image_environment():
    """The environment variables that the image sets."""
    words = [word for line in re.findall(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE) for word in shlex.split(line)]
    return dict(word.split("=", 1) for word in words)


def http_port():
    """The port at which the image serves HTTP."""
    return int(image_environment()["JUICE_HTTP"].rpartition(":")[2])


def image_user():
    """The ids of the image's user and group. From a name, Kubernetes cannot verify that it is not root."""
    (line,) = re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE)
    ensure(re.fullmatch(r"[1-9]\d*:[1-9]\d*", line), f"the image's user is not given in numbers: {line}")
    user, group = line.split(":")
    made = f"groupadd --gid {group} juice" in DOCKERFILE and f"useradd --uid {user} --gid juice " in DOCKERFILE
    ensure(made, f"the image's user {line} has no name")
    return int(user), int(group)


def check_image(juice, base):
    """The image has an unprivileged user, refuses to run without brokers, and is built without the tests."""
    user, group = image_user()
    ensure(f"EXPOSE {http_port()}\n" in DOCKERFILE, f"the image does not expose {http_port()}")
    done = subprocess.run(
        [juice, "config"], env=base | image_environment(), capture_output=True, text=True, timeout=60
    )
    ensure(done.returncode == 78 and "JUICE_BOOTSTRAP_SERVERS" in done.stderr, "the image runs without brokers")
    check_build_without_tests()
    return f"user {user}, group {group}, built without the tests"


def check_build_without_tests():
    """The package's products need only Sources."""
    ensure(not re.search(r"^COPY .*\bTests\b", DOCKERFILE, re.MULTILINE), "a change of a test rebuilds the image")
    with tempfile.TemporaryDirectory(prefix="juice-image-") as folder:
        shutil.copy(ROOT / "Package.swift", folder)
        Path(folder, "Sources").symlink_to(ROOT / "Sources")
        described = run("swift", "package", "--package-path", folder, "describe")
    absent = [name for name in ("Tests", "Tools", "Examples") if f"{name}/" in described]
    ensure(not absent, f"the package names folders that the image has not: {absent}")


def check_probe(service, inside, address):
    """The health check of a container, which asks at a port inside, passes with a server at this address, and fails without one."""
    probe = service["healthcheck"]["test"]
    ensure(probe[:3] == ["CMD", "bash", "-c"] and "/bin/kafka-" not in probe[3], "the health check may start a JVM")
    host, _, port = address.partition(":")
    for port, expected in ((port, 0), ("1", 1)):
        script = probe[3].replace("$$", "$").replace(f"127.0.0.1/{inside}", f"{host}/{port}")
        ensure(f"/{port}" in script, "the health check asks elsewhere")
        done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60)
        ensure(done.returncode == expected, f"the health check at port {port} ends with {done.returncode}")
    return "holds with a server, fails without"
