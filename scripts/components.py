#!/usr/bin/env python3
"""Lists what is linked into the juice command besides its own code: as components, or with their licenses.

    components.py sbom BIN       prints the components in CycloneDX JSON
    components.py licenses BIN   rewrites docs/LICENSES.md

BIN is the folder that `swift build --show-bin-path` prints. The list comes from the linker's input, so it has no packages that
only tests use, or that are not used at all.
"""

import json
import pathlib
import re
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "LICENSES.md"
TEXTS = ROOT / "docs" / "licenses"
APACHE = "Apache-2.0"
SWIFT = "Apache-2.0 WITH Swift-exception"

INTRODUCTION = """\
# Licenses

Juice Maker has the Apache License 2.0: [LICENSE](../LICENSE). This page has the licenses of what is linked into the
`juice` command besides, as in the image, where it is `/usr/share/doc/juice/LICENSES.md`. Debian's packages in the image
have theirs in `/usr/share/doc`, librdkafka among them. `make licenses` writes this page, `make deploy-check`
holds it against what is linked, and `make sbom` lists the same components with their versions.

| component | license |
|---|---|
"""


class Component(typing.NamedTuple):
    """Something that is linked. `notices` are the texts that its license requires, by title."""

    name: str
    version: str
    license: str
    purl: str
    url: str
    notices: dict
    text: str | None = None


def components(folder):
    """All linked components, sorted by name."""
    packages = linked(folder).items()
    found = [package(name, checkouts(folder), pin, modules) for name, (pin, modules) in packages]
    return sorted(found + toolchain(found), key=lambda component: component.name.lower())


def checkouts(folder):
    return folder.parents[1] / "checkouts"


def linked(folder):
    """The linked packages by name: the pin of each, and the source folders of its modules."""
    objects = (folder / "juice.product" / "Objects.LinkFileList").read_text()
    modules = {pathlib.Path(path) for path in re.findall(r"(/\S+\.build)/", objects)}
    pins = json.loads((folder.parents[2] / "Package.resolved").read_text())["pins"]
    resolved = {pin["location"].removesuffix(".git").rpartition("/")[2].lower(): pin for pin in pins}
    packages = {}
    for module in sorted(modules):
        sources = module_sources(module)
        if not sources or not sources[0].startswith(f"{folder.parents[2]}/"):
            sys.exit(f"components: where {module.name} was compiled from is not known")
        owner = re.search(rf"{re.escape(str(checkouts(folder)))}/([^/]+)/", sources[0])
        if owner:
            name = owner[1]
            parents = {pathlib.Path(source).parent for source in sources if f"/checkouts/{name}/" in source}
            packages.setdefault(name, (resolved[name.lower()], set()))[1].update(parents)
    return packages


def module_sources(module):
    """The files that a module was compiled from: Swift has a list of them, C has a dependency file for each."""
    listed = module / "sources"
    if listed.exists():
        return listed.read_text().split()
    rules = [rule.read_text() for rule in sorted(module.glob("**/*.d"))]
    return [path for rule in rules for path in re.findall(r"/(?:\\.|\S)+\.c\w*", rule)]


def package(name, folder, pin, modules):
    """The component of a package, with the notices of the package and of its modules."""
    text = (folder / name / "LICENSE.txt").read_text()
    notices = {}
    for notice in sorted((folder / name).glob("NOTICE*")):
        notices[name] = notice.read_text()
    for place in sorted(modules):
        for own in sorted(place.glob("LICENSE*")):
            notices[f"{name}, {place.name}"] = own.read_text()
    url = pin["location"].removesuffix(".git")
    version = pin["state"]["version"]
    purl = f"pkg:swift/{url.removeprefix('https://')}@{version}"
    return Component(name, version, identifier(name, text), purl, url, notices, text)


def identifier(name, text):
    """The SPDX identifier of a license."""
    if "Apache License" in text and "Version 2.0, January 2004" in text:
        return SWIFT if "Runtime Library Exception" in text else APACHE
    sys.exit(f"components: {name} has a license that is not known here; see to it that it may be linked, and name it")


def toolchain(found):
    """The parts of the Swift toolchain that the image links in: runtime, Foundation and its Unicode library."""
    version = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
    text = next(component.text for component in found if component.license == SWIFT)
    notice = {"ICU, of Foundation": (TEXTS / "icu.txt").read_text()}

    def part(name, license, repository, notices):
        purl = f"pkg:github/{repository}@swift-{version}-RELEASE"
        return Component(name, version, license, purl, f"https://github.com/{repository}", notices, text)

    return [
        part("Swift's runtime, Dispatch and Foundation", SWIFT, "swiftlang/swift", {}),
        part("ICU, of Foundation", "Unicode-3.0", "swiftlang/swift-foundation-icu", notice),
    ]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def document(found):
    """The text of docs/LICENSES.md. It has no versions, because licenses rarely change with them."""
    rows = [f"| [{component.name}]({component.url}) | {component.license} |\n" for component in found]
    parts = [INTRODUCTION, *rows, "\n## Notices\n"]
    for component in found:
        parts += [section(title, text) for title, text in component.notices.items()]
    parts.append("\n## Texts\n")
    for license in (APACHE, SWIFT):
        texts = [component.text for component in found if component.license.split(" AND ")[0] == license]
        # They may differ only in white space; any other difference would have to be in the document.
        if len({" ".join(text.split()) for text in texts}) != 1:
            sys.exit(f"components: not all packages have the same text for {license}")
        parts.append(section(license, texts[0]))
    return "".join(parts)


def section(title, text):
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    return f"\n### {title}\n\n```text\n{lines}\n```\n"


def sbom(found, version):
    """The components in CycloneDX. The same components give the same bytes, so there is no time and no serial number."""
    url = "pkg:generic/juice-maker"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": f"{url}@{version}", "name": "juice-maker", "version": version,
                "purl": f"{url}@{version}", "licenses": [{"expression": APACHE}],
            }
        },
        "components": [
            {
                "type": "library", "bom-ref": component.purl, "name": component.name, "version": component.version,
                "licenses": [{"expression": component.license}], "purl": component.purl,
                "externalReferences": [{"type": "vcs", "url": component.url}],
            }
            for component in [*found, *shared()]
        ],
        "dependencies": [
            {"ref": f"{url}@{version}", "dependsOn": sorted(component.purl for component in [*found, *shared()])}
        ],
    }  # fmt: skip


def shared():
    """The libraries that are loaded when the program starts, with the versions that it was built with."""
    version = output("pkg-config", "--modversion", "rdkafka")
    url = "https://github.com/confluentinc/librdkafka"
    yield Component("librdkafka", version, "BSD-2-Clause", f"pkg:generic/librdkafka@{version}", url, {})


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("sbom", "licenses"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2]).resolve()
    found = components(folder)
    if sys.argv[1] == "licenses":
        DOCUMENT.write_text(document(found))
        print(f"wrote docs/LICENSES.md: {len(found)} components")
    else:
        print(json.dumps(sbom(found, output(folder / "juice", "--version").split()[0]), indent=2))


if __name__ == "__main__":
    main()
