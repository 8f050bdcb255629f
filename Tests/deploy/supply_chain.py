"""Checks of dependencies: exact versions, hashes, licenses and the list of components."""

import json
import re
import sys

from basics import ROOT, ensure
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

sys.path.insert(0, str(ROOT / "scripts"))
import components  # noqa: E402


def check_pins(folder):
    """All package versions are exact, and all Python packages have hashes, indirect ones included."""
    asked = re.findall(r'\.package\(\s*url: "([^"]+)",\s*(.*?)\),?\n', (ROOT / "Package.swift").read_text())
    ensure(asked, "Package.swift asks for no packages")
    pins = json.loads((folder.parents[2] / "Package.resolved").read_text())["pins"]
    resolved = {pin["location"].removesuffix(".git"): pin["state"].get("version") for pin in pins}
    for url, requirement in asked:
        exact = re.fullmatch(r'exact: "(\d+\.\d+\.\d+)"', requirement)
        ensure(exact, f"Package.swift asks for no exact version of {url}: {requirement}")
        ensure(resolved.get(url.removesuffix(".git")) == exact[1], f"{url} was resolved to {resolved.get(url)}")
    packages = check_hashes(ROOT / "Tests" / "requirements.txt")
    installs = re.findall(r"pip install.*", (ROOT / "scripts" / "ci.mk").read_text())
    ensure(installs and all("--require-hashes" in line for line in installs), "scripts/ci.mk installs without hashes")
    return f"{len(asked)} Swift packages, {packages} of Python's"


def check_hashes(lock):
    """Each package of the list has one version and hashes, and every package of requirements.in is in it."""
    place = lock.relative_to(ROOT)
    entries = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", lock.read_text(), flags=re.MULTILINE)).splitlines()
    listed = set()
    for entry in filter(None, entries):
        exact = re.match(r"([\w.-]+)==([^\s;]+)", entry)
        ensure(exact, f"{place} has no exact version of {entry[:40]}")
        ensure(re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), f"{place} has no hash of {exact[1]}")
        listed.add((normalized(exact[1]), exact[2]))
    for line in lock.with_suffix(".in").read_text().splitlines():
        if line and not line.startswith("#"):
            exact = re.fullmatch(r"([\w.-]+)(?:\[.*\])?==(\S+)", line)
            ensure(exact, f"{place.with_suffix('.in')} asks for no exact version: {line}")
            there = (normalized(exact[1]), exact[2]) in listed
            ensure(there, f"{place} does not have {line}: make requirements")
    return len(listed)


def normalized(name):
    """A package's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def check_licenses(folder):
    """docs/LICENSES.md has the licenses of everything linked, and the image contains it."""
    found = components.components(folder)
    actual = components.DOCUMENT.read_text()
    expected = components.document(found)
    differing = "\n".join(sorted(set(actual.splitlines()) ^ set(expected.splitlines())))
    ensure(actual == expected, f"docs/LICENSES.md is not of what is linked (make licenses writes it):\n{differing}")
    run_stage = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    copied = "COPY LICENSE docs/LICENSES.md /usr/share/doc/juice/\n" in run_stage
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    ensure(copied and "docs" not in ignored and "!docs/LICENSES.md" in ignored, "the image does not have the licenses")
    return f"{len(found)} components"


def check_sbom(folder):
    """The list of components follows CycloneDX' schema, and has everything that is linked."""
    found = components.components(folder)
    document = components.sbom(found, "0.0.0")
    # The schema accepts any text as version.
    ensure(document["specVersion"] == SchemaVersion.V1_6.to_version(), "the list of components is of another version")
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))
    ensure(fault is None, f"the list of components is not CycloneDX 1.6: {fault}")
    listed = {entry["purl"] for entry in document["components"]}
    for name, (pin, _) in components.linked(folder).items():
        here = any(purl.lower().endswith(f"/{name}@{pin['state']['version']}".lower()) for purl in listed)
        ensure(here, f"the list of components does not have {name}")
    ensure(any(purl.startswith("pkg:generic/librdkafka@") for purl in listed), "it does not have librdkafka")
    return f"{len(listed)} components, CycloneDX 1.6"
