#!/usr/bin/env python3
"""Checks everything in deploy/, docker-compose.yml and docs/METRICS.md against the service itself and against Prometheus.

Starts `juice serve` with its embedded broker, has simulated shops order from it, and has a real Prometheus scrape it with
the configuration, rules and dashboard that are there for it.
"""

import argparse
import contextlib
import pathlib
import sys
import tempfile

import yaml
from alerts import RULES, check_rules, rules
from basics import DEPLOY, Fault, Hopeless, ensure, eventually, read_yaml, run
from dashboard import check_provisioning, check_structure, queries, variable_queries
from manifests import COMPOSE, check_compose, check_kubernetes
from metrics_page import LINUX_ONLY, MetricsPage, check_document
from processes import Process, Prometheus, Service, clean_environment
from promql import metrics, selectors
from supply_chain import check_licenses, check_pins, check_sbom

# What Prometheus itself has of every target, and of the alerts that fire, of which there is none on a healthy service.
PROMETHEUS_OWN = {"up", "ALERTS"}
# How slow answers are depends on what else this machine does.
TELLS_OF_THE_MACHINE = {"JuiceAnswersSlow"}
# What must fire when the only instance is gone.
OUTAGE = {"JuiceInstanceDown", "JuiceNoneReady", "JuicePartitionUnread"}


def main():
    arguments = parse_arguments()
    done = 0
    try:
        for name, outcome in checks(arguments):
            print(f"  {name}: {outcome}", flush=True)
            done += 1
    except (Hopeless, Fault) as fault:
        print(f"deploy-check: {fault}", file=sys.stderr)
        sys.exit(1)
    print(f"deploy-check: {done} checks passed")


def parse_arguments():
    parser = argparse.ArgumentParser(description="Checks what is in deploy/.")
    parser.add_argument("juice", type=lambda path: pathlib.Path(path).resolve(), help="the juice command")
    parser.add_argument("tools", type=pathlib.Path, help="the folder of prometheus and promtool")
    parser.add_argument("--write-metrics", action="store_true", help="write docs/METRICS.md anew")
    return parser.parse_args()


def checks(arguments):
    """All checks, in order: of each what it was about and what there is to say of it."""
    promtool = arguments.tools / "promtool"
    with tempfile.TemporaryDirectory(prefix="juice-deploy-") as folder:
        folder = pathlib.Path(folder)
        environment = clean_environment(folder)
        yield "alert rules and their tests", check_rules(promtool)
        run(promtool, "check", "config", DEPLOY / "prometheus" / "prometheus.yml")
        yield "dashboard", check_structure()
        yield "provisioning of Grafana", check_provisioning(read_yaml(COMPOSE))
        yield "docker-compose.yml", check_compose(arguments.juice, environment)
        yield "Kubernetes manifests", check_kubernetes(arguments.juice, environment)
        yield "versions and hashes", check_pins(arguments.juice.parent)
        yield "docs/LICENSES.md", check_licenses(arguments.juice.parent)
        yield "list of components", check_sbom(arguments.juice.parent)
        with Service(arguments.juice, environment) as service:
            yield from live_checks(arguments, service, environment, folder)


def live_checks(arguments, service, environment, folder):
    """The checks on a running service."""
    service.wait_until_ready()
    configuration = scrape_configuration(service.address)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    with contextlib.ExitStack() as stack:
        prometheus = stack.enter_context(
            Prometheus(arguments.tools / "prometheus", folder / "prometheus.yml", folder / "data")
        )
        # At full speed first, so that there is something to see; then as long as it is looked at.
        run(arguments.juice, "traffic", "--orders", "300", "--seed", "1", env=environment)
        traffic = stack.enter_context(Process([arguments.juice, "traffic", "--seed", "2"], environment))
        prometheus.wait_until_ready()
        page = eventually("/metrics tells of lag", lambda: with_lag(service.metrics()))
        run(arguments.tools / "promtool", "check", "metrics", input=page)
        page = MetricsPage(page)
        yield "/metrics and docs/METRICS.md", check_document(page, arguments.write_metrics)
        yield "metrics in alerts and dashboard", check_names(page)
        yield "series of the alerts", check_alert_series(prometheus)
        yield "queries of the dashboard", check_queries(prometheus)
        yield "values", check_values(prometheus)
        yield "a healthy service", check_quiet(prometheus)
        traffic.stop()
        service.stop()
        yield "a dead one", check_outage(prometheus)


def scrape_configuration(address):
    """The configuration of deploy/, for a service at another address and for impatient people."""
    configuration = read_yaml(DEPLOY / "prometheus" / "prometheus.yml")
    configuration["global"] |= {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    configuration["rule_files"] = [str(DEPLOY / "prometheus" / file) for file in configuration["rule_files"]]
    configuration["scrape_configs"][0]["static_configs"][0]["targets"] = [address]
    return configuration


def with_lag(page):
    return page if "\njuice_consumer_lag_records{" in page else None


def check_names(page):
    """Does everything that is asked for exist?"""
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    known = page.names | recorded | PROMETHEUS_OWN | (LINUX_ONLY if sys.platform != "linux" else set())
    asked = [(f"{RULES.name}, {rule.get('alert') or rule['record']}", rule["expr"]) for rule in rules()]
    asked += [(f"panel {query.panel}", query.expression) for query in queries()]
    asked += [(f"variable {label}", series) for series, label in variable_queries()]
    for place, expression in asked:
        unknown = metrics(expression) - known
        ensure(not unknown, f"{place} asks for {', '.join(unknown)}, which nobody shows:\n{expression}")
    return f"{len(set().union(*(metrics(expression) for _, expression in asked)))} names in {len(asked)} expressions"


def check_alert_series(prometheus):
    """Is there a series for each that an alert looks at? Alerts themselves come to nothing on a healthy service."""
    asked = {series for rule in rules() for series in selectors(rule["expr"])}
    for name, matchers in asked:
        if is_known_here(name):
            eventually(f"series of {name}{matchers}", lambda: prometheus.query(name + matchers))
    for rule in rules():
        prometheus.query(rule["expr"])
    return f"{len(asked)} have data"


def check_queries(prometheus):
    """Does Prometheus answer each query of the dashboard, with the labels that its legend names?"""
    for query in queries():
        names = metrics(query.sample)
        if "ALERTS" in names or not all(is_known_here(name) for name in names):
            prometheus.query(query.sample)
            continue
        result = eventually(f"panel {query.panel}: {query.sample}", lambda: prometheus.query(query.sample))
        missing = query.legend_labels - result[0]["metric"].keys()
        ensure(not missing, f"panel {query.panel} has no {', '.join(missing)} for its legend:\n{query.expression}")
    for series, label in variable_queries():
        result = prometheus.query(series)
        ensure(result and label in result[0]["metric"], f"nothing to choose a {label} from")
    return f"{len(queries())} answered"


def is_known_here(metric):
    return sys.platform == "linux" or metric not in LINUX_ONLY


def check_values(prometheus):
    """Are the values what they must be after 300 orders?"""
    for expression in (
        'up{job="juice-maker"} == 1',
        'juice_ready{job="juice-maker"} == 1',
        'sum(juice_commands_total{result=~"juice_made|out_of_stock"}) >= 300',
        "sum(juice_assigned_partitions) == 4",
        "job:juice_commands:rate5m > 0",
        "job:juice_answer_latency_seconds:p99_rate5m > 0",
        "count(job:juice_consumer_lag_records:sum) == 1",
        "juice_stores > 0",
        "sum(juice_restore_duration_seconds_count) >= 1",
        'juice_kafka_round_trip_p50_seconds{client="consumer"} > 0',
    ):
        eventually(expression, lambda: prometheus.query(expression))
    return "as they must be after 300 orders"


def check_quiet(prometheus):
    """Is no alert about to fire? One may be for a moment, while the first statistics are awaited."""
    eventually("no alert on a healthy service", lambda: ensure_quiet(prometheus))
    return "raises no alarm"


def ensure_quiet(prometheus):
    loud = prometheus.alerts() - TELLS_OF_THE_MACHINE
    ensure(not loud, ", ".join(sorted(loud)))
    return True


def check_outage(prometheus):
    """Are the alerts about to fire that must when nobody is there?"""

    def probe():
        silent = OUTAGE - prometheus.alerts()
        ensure(not silent, f"silent: {', '.join(sorted(silent))}")
        return True

    eventually("the alerts of an outage", probe)
    return f"raises {', '.join(sorted(OUTAGE))}"


if __name__ == "__main__":
    main()
