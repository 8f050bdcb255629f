#!/usr/bin/env python3
"""Checks everything in deploy/, docker-compose.yml and docs/METRICS.md against the service itself and against Prometheus.

Starts `juice serve` with its embedded broker, a kiosk and simulated shops. A real Prometheus scrapes them with the
configuration and rules of deploy/, and must have data for every alert and panel.
"""

import argparse
import contextlib
import pathlib
import signal
import sys
import tempfile

import yaml
from alerts import check_rules, rules, series
from basics import DEPLOY, Fault, Hopeless, ensure, eventually, read_yaml, run
from dashboard import check_provisioning, check_structure, queries, variable_queries
from image import check_image, check_probe, http_port
from manifests import COMPOSE, check_compose, check_kubernetes, check_systemd
from metrics_page import LINUX_ONLY, MetricsPage, check_document
from processes import Process, Prometheus, clean_environment, kiosk, service
from supply_chain import check_licenses, check_pins, check_sbom

# Series that need not be there: on a healthy service no alert fires.
ABSENT = {"ALERTS"} | (LINUX_ONLY if sys.platform != "linux" else set())
# How slow answers are depends on the load of this machine.
TELLS_OF_THE_MACHINE = {"JuiceAnswersSlow"}
# What must fire when the only instance is gone, with its broker, and then when the kiosk is gone.
OUTAGE = {"JuiceInstanceDown", "JuiceNoneReady", "JuicePartitionUnread", "JuiceKioskNotReady"}
GONE = {"JuiceKioskDown"}


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
    parser.add_argument("--write-metrics", action="store_true", help="rewrite docs/METRICS.md")
    return parser.parse_args()


def checks(arguments):
    """Runs all checks in order; yields the name and outcome of each."""
    promtool = arguments.tools / "promtool"
    with tempfile.TemporaryDirectory(prefix="juice-deploy-") as folder:
        folder = pathlib.Path(folder)
        environment = clean_environment(folder)
        yield "alert rules and their tests", check_rules(promtool)
        run(promtool, "check", "config", DEPLOY / "prometheus" / "prometheus.yml")
        yield "dashboard", check_structure()
        yield "provisioning of Grafana", check_provisioning(read_yaml(COMPOSE))
        yield "Dockerfile", check_image(arguments.juice, environment)
        yield "docker-compose.yml", check_compose(arguments.juice, environment)
        yield "Kubernetes manifests", check_kubernetes(arguments.juice, environment)
        yield "systemd unit", check_systemd(arguments.juice, folder)
        yield "versions and hashes", check_pins(arguments.juice.parent)
        yield "docs/LICENSES.md", check_licenses(arguments.juice.parent)
        yield "list of components", check_sbom(arguments.juice.parent)
        yield from live_checks(arguments, environment, folder)


def live_checks(arguments, environment, folder):
    """The checks on running processes."""
    with contextlib.ExitStack() as stack:
        running = {}
        # The kiosk finds the broker of the service.
        for job, start in {"juice-maker": service, "juice-kiosk": kiosk}.items():
            running[job] = stack.enter_context(start(arguments.juice, environment))
            running[job].wait_until_ready()
        containers = read_yaml(COMPOSE)["services"]
        # The embedded broker stands for Kafka's.
        yield "health check of Kafka", check_probe(containers["kafka"], 19092, running["juice-maker"].find(r"broker at (\S+)"))
        yield "health check of the service", check_probe(containers["juice"], http_port(), running["juice-maker"].address)
        configuration = scrape_configuration({job: process.address for job, process in running.items()})
        (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        prometheus = stack.enter_context(
            Prometheus(arguments.tools / "prometheus", folder / "prometheus.yml", folder / "data")
        )
        # First at full speed, to have data; then for as long as the checks run.
        run(arguments.juice, "traffic", "--orders", "300", env=environment)
        traffic = stack.enter_context(Process([arguments.juice, "traffic"], environment))
        prometheus.wait_until_ready()
        eventually("/metrics tells of lag", lambda: with_lag(running["juice-maker"].metrics()))
        pages = {process.name: process.metrics() for process in running.values()}
        for page in pages.values():
            run(arguments.tools / "promtool", "check", "metrics", input=page)
        pages = {name: MetricsPage(page) for name, page in pages.items()}
        yield "/metrics and docs/METRICS.md", check_document(pages, arguments.write_metrics)
        yield "series of the alerts", check_alert_series(prometheus)
        yield "queries of the dashboard", check_queries(prometheus)
        yield "values", check_values(prometheus)
        yield "a healthy service", check_quiet(prometheus)
        traffic.stop()
        running["juice-maker"].stop()
        yield "a dead one", check_alerts(prometheus, OUTAGE)
        for process in running.values():
            process.stop()
        yield "all dead", check_alerts(prometheus, GONE)


def scrape_configuration(addresses):
    """The configuration of deploy/, with other addresses and short intervals."""
    configuration = read_yaml(DEPLOY / "prometheus" / "prometheus.yml")
    configuration["global"] |= {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    configuration["rule_files"] = [str(DEPLOY / "prometheus" / file) for file in configuration["rule_files"]]
    for job in configuration["scrape_configs"]:
        del job["dns_sd_configs"]
        job["static_configs"] = [{"targets": [addresses[job["job_name"]]]}]
    return configuration


def with_lag(page):
    return page if "\njuice_consumer_lag_records{" in page else None


def check_alert_series(prometheus):
    """Every series that an alert reads has data. The alerts' own expressions are empty on a healthy service."""
    asked = {each for rule in rules() for each in series(rule["expr"])}
    for name, matchers in asked:
        if name not in ABSENT:
            eventually(f"series of {name}{matchers}", lambda: prometheus.query(name + matchers))
    for rule in rules():
        prometheus.query(rule["expr"])
    return f"{len(asked)} have data"


def check_queries(prometheus):
    """Prometheus answers each query of the dashboard, with the labels of its legend."""
    for query in queries():
        if any(name in query.sample for name in ABSENT):
            prometheus.query(query.sample)
            continue
        result = eventually(f"panel {query.panel}: {query.sample}", lambda: prometheus.query(query.sample))
        missing = query.legend_labels - result[0]["metric"].keys()
        ensure(not missing, f"panel {query.panel} has no {', '.join(missing)} for its legend:\n{query.expression}")
    for selector, label in variable_queries():
        result = eventually(selector, lambda: prometheus.query(selector))
        ensure(label in result[0]["metric"], f"nothing to choose a {label} from")
    return f"{len(queries())} answered"


def check_values(prometheus):
    """The values are as they must be after 300 orders."""
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
        "juice_kafka_round_trip_seconds > 0",
        'juice_kiosk_ready{job="juice-kiosk"} == 1',
        'juice_http_connections{job="juice-maker"} >= 1',
    ):
        eventually(expression, lambda: prometheus.query(expression))
    return "as they must be after 300 orders"


def check_quiet(prometheus):
    """No alert is pending or firing. One may be for a moment, until the first probe is answered."""
    eventually("no alert on a healthy service", lambda: ensure_quiet(prometheus))
    return "raises no alarm"


def ensure_quiet(prometheus):
    loud = prometheus.alerts() - TELLS_OF_THE_MACHINE
    ensure(not loud, ", ".join(sorted(loud)))
    return True


def check_alerts(prometheus, expected):
    """The expected alerts are pending or firing."""

    def probe():
        silent = expected - prometheus.alerts()
        ensure(not silent, f"silent: {', '.join(sorted(silent))}")
        return True

    eventually("the alerts of an outage", probe)
    return f"raises {', '.join(sorted(expected))}"


if __name__ == "__main__":
    # On SIGTERM, end the started processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
