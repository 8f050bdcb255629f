"""Checks of the Grafana dashboard."""

import json
import re
import sys

from basics import DEPLOY, ROOT, ensure, read_json, read_yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

sys.path.insert(0, str(ROOT / "scripts"))
from grafana import FILE, document  # noqa: E402


class Query:
    """An expression on a panel, and the same with its variables replaced as Grafana would."""

    def __init__(self, panel, target):
        self.panel = panel["title"]
        self.expression = target["expr"]
        self.legend_labels = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]))
        self.sample = self.expression
        for variable, value in {
            "$__rate_interval": "30s", "$__range": "5m", "$job": "juice-maker", "$instance": ".+",
        }.items():  # fmt: skip
            self.sample = self.sample.replace(variable, value)
        ensure("$" not in self.sample, f"panel {self.panel}: an unknown variable in {self.expression}")


def panels():
    """All panels that show data."""
    return [panel for panel in read_json(FILE)["panels"] if panel["type"] != "row"]


def queries():
    """All expressions of the panels."""
    return [Query(panel, target) for panel in panels() for target in panel["targets"]]


def variable_queries():
    """The series and label from which each variable gets its values."""
    for variable in read_json(FILE)["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
            ensure(found, f"variable {variable['name']} asks for something else than a label's values")
            yield found[1].replace("$job", "juice-maker"), found[2]


def check_structure():
    """The dashboard is what its table makes, and has everything that Grafana and its readers need."""
    ensure(FILE.read_text() == document(), f"{FILE.name} is not what scripts/grafana.py makes: make dashboard")
    board = read_json(FILE)
    check_model(board)
    identifiers = [panel["id"] for panel in board["panels"]]
    ensure(len(set(identifiers)) == len(identifiers), "two panels have the same id")
    # An id belongs to one Grafana's database; links to the dashboard use the uid.
    ensure(board["uid"] and board["title"] and "id" not in board, "the dashboard wants a uid and a title, and no id")
    ensure(all(panel["title"] for panel in board["panels"]), "a panel has no title")
    for panel in panels():
        for needed in (panel["description"], panel["fieldConfig"]["defaults"]["unit"], panel["targets"]):
            ensure(needed, f"panel {panel['title']} lacks a description, a unit or a query")
    return f"{len(panels())} panels, {len(queries())} queries"


def check_model(board):
    """Grafana's own model of a dashboard knows every field. Others would be lost when Grafana saves it."""
    register_default_plugins()
    lost = sorted(missing(board, json.loads(JSONEncoder().encode(Dashboard.from_json(board)))))
    ensure(not lost, f"Grafana does not know of {', '.join(lost)}")


def missing(value, known, place=""):
    """The places in a document whose values the other lacks. Empty values may be missing."""
    if isinstance(value, dict) and isinstance(known, dict):
        for name, member in value.items():
            if name in known:
                yield from missing(member, known[name], f"{place}/{name}")
            elif member not in (None, False, 0, "", [], {}):
                yield f"{place}/{name}"
    elif isinstance(value, list) and isinstance(known, list) and len(value) == len(known):
        for index, (item, other) in enumerate(zip(value, known, strict=True)):
            yield from missing(item, other, f"{place}/{index}")
    elif value != known:
        yield place


def check_provisioning(compose):
    """Grafana's settings and mounts in docker-compose.yml fit together."""
    grafana = compose["services"]["grafana"]
    mounts = dict(volume.split(":")[1::-1] for volume in grafana["volumes"])
    folder = DEPLOY / "grafana" / "provisioning"
    provider = read_yaml(folder / "dashboards" / "juice-maker.yml")["providers"][0]
    ensure(mounts[provider["options"]["path"]] == "./deploy/grafana/dashboards", "the dashboards are elsewhere")
    ensure(mounts["/etc/grafana/provisioning"] == "./deploy/grafana/provisioning", "the provisioning is elsewhere")
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    ensure(home == f"{provider['options']['path']}/{FILE.name}", "the home dashboard is elsewhere")
    source = read_yaml(folder / "datasources" / "prometheus.yml")["datasources"][0]
    host, port = source["url"].removeprefix("http://").split(":")
    published = compose["services"][host]["ports"]
    ensure(any(entry.endswith(f":{port}") for entry in published), f"{source['url']} is not where Prometheus is")
    interval = read_yaml(DEPLOY / "prometheus" / "prometheus.yml")["global"]["scrape_interval"]
    ensure(source["jsonData"]["timeInterval"] == interval, f"Grafana is told of another interval than {interval}")
    return "data source and dashboard are where Grafana looks"
