#!/usr/bin/env python3
"""Writes the Grafana dashboard, deploy/grafana/dashboards/juice-maker.json, from the table of panels below.

Usage: make dashboard

A new panel is an entry of the table: an id that no other has, title, description, unit, and the queries by their legends. Panels
fill their section from left to right and from the top. A panel keeps its id, since links to it have that.
"""

import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parents[1] / "deploy/grafana/dashboards/juice-maker.json"
WIDTH = 24
# The data source selected above the dashboard, so that it works in every Grafana.
SOURCE = {"type": "prometheus", "uid": "${datasource}"}

# What queries select.
JOB = '{job="$job"}'
CHOSEN = '{job="$job", instance=~"$instance"}'

# The colors and texts of 1 and 0.
READY = {"1": ("green", "ready"), "0": ("red", "not ready")}


def row(id, title):
    """A heading. The panels after it belong to it."""
    return {"id": id, "type": "row", "title": title, "gridPos": {"h": 1, "w": WIDTH}, "collapsed": False, "panels": []}


def panel(id, kind, title, description, unit, queries, size, field, options):
    """A panel of any kind. What field and options leave out is Grafana's default."""
    return {
        "id": id, "type": kind, "title": title, "description": description, "datasource": SOURCE,
        "gridPos": {"h": size[1], "w": size[0]},
        "fieldConfig": {"defaults": {"unit": unit} | field, "overrides": []},
        "options": options,
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": query, "legendFormat": legend,
             "editorMode": "code", "range": True}
            for index, (legend, query) in enumerate(queries.items())
        ],
    }  # fmt: skip


def numbers(base, red, decimals):
    """Settings of values from 0 up: their color, and from where on they are red."""
    steps = [{"color": base, "value": None}] + ([{"color": "red", "value": red}] if red else [])
    field = {"min": 0, "thresholds": {"mode": "absolute", "steps": steps}}
    return field if decimals is None else field | {"decimals": decimals}


def stat(id, title, description, unit, queries, width=4, decimals=None, red=None, graph="none", text="auto", color="value"):
    """The newest value; with graph="area", above its course."""
    field = numbers("green", red, decimals) | {"color": {"mode": "thresholds"}}
    options = {"colorMode": color, "graphMode": graph, "textMode": text, "reduceOptions": {"calcs": ["lastNotNull"]}}
    return panel(id, "stat", title, description, unit, queries, (width, 4), field, options)


def graph(id, title, description, unit, queries, width=6, decimals=None, red=None, stacked=False, steps=False):
    """Lines over time; with red, a red line at this value."""
    field = numbers("transparent" if red else "green", red, decimals) | {"color": {"mode": "palette-classic"}}
    field["custom"] = {"showPoints": "never", "fillOpacity": 25 if stacked else 8}
    field["custom"] |= {"stacking": {"mode": "normal", "group": "A"}} if stacked else {}
    field["custom"] |= {"lineInterpolation": "stepAfter"} if steps else {}
    field["custom"] |= {"thresholdsStyle": {"mode": "line"}} if red else {}
    options = {"legend": {"showLegend": True}, "tooltip": {"mode": "multi", "sort": "desc"}}
    return panel(id, "timeseries", title, description, unit, queries, (width, 8), field, options)


def states(id, title, description, queries, values):
    """A bar for each series, with a color and a text for each value."""
    field = {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": [{"color": "green", "value": None}]}}
    field["mappings"] = [
        {"type": "value", "options": {value: {"text": text, "color": color, "index": 0}}}
        for value, (color, text) in values.items()
    ]
    field["custom"] = {"fillOpacity": 80}
    options = {"rowHeight": 0.8, "legend": {"showLegend": False}, "tooltip": {"mode": "single", "sort": "none"}}
    return panel(id, "state-timeline", title, description, "none", queries, (6, 8), field, options)


def quantile(q, metric, function="rate", over="$__rate_interval"):
    """A quantile of a histogram's observations in all chosen instances."""
    return f"histogram_quantile({q}, sum by (le) ({function}({metric}_bucket{CHOSEN}[{over}])))"


PANELS = [
    row(1, "Overview: all instances"),
    stat(2, "Ready instances", "Instances that read all their partitions, and instances that Prometheus knows.", "none",
         {"ready": f"sum(juice_ready{JOB})", "known": f"count(up{JOB})"}, decimals=0, text="value_and_name"),
    stat(3, "Answers", "Commands answered for the first time, over 5 minutes.", "ops",
         {"": f"job:juice_commands:rate5m{JOB}"}, graph="area"),
    stat(4, "Orders out of stock", "Share of orders whose juice could not be made, over 5 minutes.", "percentunit",
         {"": 'sum(job_result:juice_commands:rate5m{job="$job", result="out_of_stock"}) '
              '/ sum(job_result:juice_commands:rate5m{job="$job", result=~"juice_made|out_of_stock"})'}, decimals=1, graph="area"),
    stat(5, "Answer latency, p99",
         "From a command's timestamp to its committed answer, over 5 minutes. JuiceAnswersSlow is at 1 s.", "s",
         {"": f"job:juice_answer_latency_seconds:p99_rate5m{JOB}"}, red=1, graph="area"),
    stat(6, "Lag", "Commands that wait, in all partitions.", "short",
         {"": f"job:juice_consumer_lag_records:sum{JOB}"}, decimals=0, graph="area"),
    stat(7, "Stopped partitions",
         "Partitions that nobody reads until somebody repairs them: the log has the juice anchor command.", "none",
         {"": f"sum(juice_stopped_partitions{JOB})"}, decimals=0, red=1),
    graph(8, "Answers by result", "Commands answered for the first time.", "ops",
          {"{{result}}": f"job_result:juice_commands:rate5m{JOB}"}, width=12, stacked=True),
    graph(9, "Answer latency", "From a command's timestamp, set by the sender's clock, to its committed answer.", "s",
          {"p50": f"job:juice_answer_latency_seconds:p50_rate5m{JOB}",
           "p99": f"job:juice_answer_latency_seconds:p99_rate5m{JOB}"}, width=12, red=1),
    graph(10, "Lag by partition", "Records that are not answered yet, markers included.", "short",
          {"{{topic}} {{partition}}": f"max by (topic, partition) (juice_consumer_lag_records{JOB})"}, width=12, decimals=0),
    states(11, "Readiness", "Red while an instance does not read all its partitions; its /health/ready says why.",
           {"{{instance}}": f"juice_ready{JOB}"}, READY),
    states(12, "Alerts", "The alerts that fire. What each means and what to do: docs/OPERATIONS.md.",
           {"{{alertname}}": 'max by (alertname) (ALERTS{alertname=~"Juice.+", alertstate="firing"})'}, {"1": ("red", "firing")}),

    row(13, "Transactions"),
    graph(14, "Transactions by outcome",
          "Failed ones were given up. New producers took the partitions over, and the journal said what became of them.", "ops",
          {"{{outcome}}": f"sum by (outcome) (rate(juice_transactions_total{CHOSEN}[$__rate_interval]))"}, width=8, stacked=True),
    graph(15, "Transaction duration", "From the beginning of a transaction to its confirmed commit.", "s",
          {"p50": quantile(0.5, "juice_transaction_duration_seconds"),
           "p99": quantile(0.99, "juice_transaction_duration_seconds")}, width=8),
    graph(16, "Commands per transaction", "Under load many commands share a transaction.", "short",
          {"{{instance}}": f"sum by (instance) (rate(juice_commands_total{CHOSEN}[$__rate_interval])) / sum by (instance) "
           '(rate(juice_transactions_total{job="$job", instance=~"$instance", outcome="committed"}[$__rate_interval]))'}, width=8),
    graph(17, "Duplicates and forwards",
          "Repeats that got their first answer again, those of them whose answer had to be read back, and commands forwarded to "
          "the partition of their store.", "ops",
          {"duplicates": f"sum(rate(juice_duplicates_total{CHOSEN}[$__rate_interval]))",
           "forwards": f"sum(rate(juice_forwards_total{CHOSEN}[$__rate_interval]))",
           "answers read back": f"sum(rate(juice_answers_read_back_total{CHOSEN}[$__rate_interval]))"}, width=12),
    graph(18, "Dead letters", "Records that named no command, or could not be answered.", "short",
          {"{{instance}}": f"sum by (instance) (increase(juice_dead_letters_total{CHOSEN}[$__rate_interval]))"},
          width=12, decimals=0),

    row(19, "Restores"),
    graph(20, "Still to be read", "Offsets that current restores still have to read.", "short",
          {"{{instance}}": f"sum by (instance) (juice_restore_remaining_records{CHOSEN})"}, width=8, decimals=0),
    graph(21, "Records restored", "Stock records and answers that finished restores have read.", "ops",
          {"{{instance}}": f"sum by (instance) (rate(juice_restored_records_total{CHOSEN}[$__rate_interval]))"}, width=8),
    stat(22, "Restores", "Restores in the time shown.", "short",
         {"": f"sum(increase(juice_restore_duration_seconds_count{CHOSEN}[$__range]))"}, decimals=0),
    stat(23, "Longest restore", "An upper bound of the longest in the time shown.", "s",
         {"": quantile(1, "juice_restore_duration_seconds", "increase", "$__range")}),

    row(24, "State"),
    graph(25, "Assigned partitions", "Partitions that are restored and read.", "short",
          {"{{instance}}": f"sum by (instance) (juice_assigned_partitions{CHOSEN})"}, decimals=0, stacked=True, steps=True),
    graph(26, "Stores", "Stores held in memory: those that were ever changed.", "short",
          {"{{instance}}": f"sum by (instance) (juice_stores{CHOSEN})"}, decimals=0, stacked=True),
    graph(27, "Remembered commands", "Commands whose repeats are known.", "short",
          {"{{instance}}": f"sum by (instance) (juice_remembered_commands{CHOSEN})"}, decimals=0, stacked=True),
    graph(28, "Memory",
          "Resident memory. JuiceMemoryHigh is at 90 % of the limit in deploy/kubernetes/juice-maker.yaml.", "bytes",
          {"{{instance}}": f"process_resident_memory_bytes{CHOSEN}"}),

    row(29, "Kafka client"),
    graph(30, "Round trip", "Of the last probe, one a second; 0 without a broker.", "s",
          {"{{instance}}": f"max by (instance) (juice_kafka_round_trip_seconds{CHOSEN})"}, width=24),

    row(35, "Process"),
    graph(36, "Processor", "Cores in use.", "short",
          {"{{instance}}": f"rate(process_cpu_seconds_total{CHOSEN}[$__rate_interval])"}, decimals=2),
    graph(37, "Threads", "Threads of the process: a few for each worker and each of its six Kafka clients.", "short",
          {"{{instance}}": f"process_threads{CHOSEN}"}, decimals=0),
    graph(38, "Open files", "Open file descriptors, connections included.", "short",
          {"{{instance}}": f"process_open_fds{CHOSEN}"}, decimals=0),
    stat(39, "Up since", "Time since the process started.", "s",
         {"{{instance}}": f"time() - process_start_time_seconds{CHOSEN}"}, width=6, text="value_and_name"),
    stat(40, "Version", "What runs.", "none",
         {"{{version}}": f"count by (version) (juice_build_info{CHOSEN})"},
         width=6, decimals=0, text="value_and_name", color="none"),

    row(42, "Kiosks"),
    states(43, "Readiness of kiosks", "Green while brokers answer and all stock is read.",
           {"{{instance}}": "juice_kiosk_ready"}, READY),
    graph(44, "Open pages", "Event streams that are being written. A kiosk has at most 2,000.", "short",
          {"{{instance}}": "juice_kiosk_pages"}, decimals=0),
    graph(45, "Commands from pages",
          "By whether a broker confirmed them, and the answers that pages waited for.", "ops",
          {"{{kind}} {{outcome}}": "sum by (kind, outcome) (rate(juice_kiosk_commands_total[$__rate_interval]))",
           "answered": "sum(rate(juice_kiosk_answers_total[$__rate_interval]))"}),
    graph(46, "Refused requests", "By the reason that the page is given.", "ops",
          {"{{reason}}": "sum by (reason) (rate(juice_kiosk_refusals_total[$__rate_interval]))"}),
    graph(47, "HTTP connections", "Of services and kiosks.", "short",
          {"{{job}} {{instance}}": "juice_http_connections"}, width=12, decimals=0),
    graph(48, "HTTP connections that were ended",
          "Displaced: idle while all were in use; slow: too slow to send or to read. Of services and kiosks.", "ops",
          {"{{job}} {{reason}}": "sum by (job, reason) (rate(juice_http_ended_connections_total[$__rate_interval]))"}, width=12),
]  # fmt: skip


def variable(name, label, series, **more):
    """A choice above the dashboard: the values of the series' label of this name."""
    query = {"query": f"label_values({series}, {name})", "refId": "StandardVariableQuery"}
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "query": query, "refresh": 2, "sort": 1} | more


BOARD = {
    "uid": "juice-maker",
    "title": "Juice Maker",
    "description": "Orders, answers, transactions and state of Juice Maker. "
                   "Needs the recording rules of deploy/prometheus/alerts.yml.",
    "tags": ["juice-maker", "kafka"],
    "schemaVersion": 39,
    "version": 1,
    "editable": True,
    "graphTooltip": 1,
    "refresh": "30s",
    "timezone": "browser",
    "time": {"from": "now-1h", "to": "now"},
    "templating": {"list": [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1},
        variable("job", "Job", "juice_ready"),
        variable("instance", "Instance", f"juice_build_info{JOB}", multi=True, includeAll=True, allValue=".+",
                 current={"text": "All", "value": "$__all"}),
    ]},
}  # fmt: skip


def placed():
    """The panels, each with its place in the grid."""
    bottoms = [0] * WIDTH
    for panel in PANELS:
        width = panel["gridPos"]["w"]
        if panel["type"] == "row":
            bottoms = [max(bottoms)] * WIDTH
        y, x = min((max(bottoms[x:x + width]), x) for x in range(WIDTH - width + 1))
        bottoms[x:x + width] = [y + panel["gridPos"]["h"]] * width
        yield panel | {"gridPos": panel["gridPos"] | {"x": x, "y": y}}


def document():
    """The dashboard as JSON, with a line for each panel."""
    head = [f"  {json.dumps(name)}: {json.dumps(value)},\n" for name, value in BOARD.items()]
    panels = ",\n".join(f"    {json.dumps(panel)}" for panel in placed())
    return "{\n" + "".join(head) + '  "panels": [\n' + panels + "\n  ]\n}\n"


if __name__ == "__main__":
    FILE.write_text(document())
