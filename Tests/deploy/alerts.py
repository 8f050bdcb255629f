"""Checks of the alert rules."""

import re

from basics import DEPLOY, ROOT, ensure, read_yaml, run

RULES = DEPLOY / "prometheus" / "alerts.yml"
TESTS = DEPLOY / "prometheus" / "alerts_test.yml"
GUIDE = ROOT / "docs" / "OPERATIONS.md"
# Where the guide stands, for users to replace.
BOOKS = "https://docs.example.com/juice-maker"
# Metrics in PromQL, each with its matchers in braces. What else has letters is passed over: texts, ranges, lists of labels, words,
# and functions, which have arguments. Neither promtool nor Prometheus 2 tells which series an expression reads.
SERIES = re.compile(
    r"""
    "(?:\\.|[^"\\])*"  |  \[[^\]]*\]  |  \b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)
    |  (?<![\w:.]) (?!(?:and|or|unless|bool|offset)\b)  ([a-zA-Z_:][\w:]*)  (?![\w:])
       (?!\s*(?:(?:by|without)\s*\([^)]*\)\s*)?\()  \s*(\{(?:"(?:\\.|[^"\\])*"|[^}"])*\})?
    """,
    re.VERBOSE,
)


def rules():
    """All rules of the file."""
    return [rule for group in read_yaml(RULES)["groups"] for rule in group["rules"]]


def series(expression):
    """The series that an expression reads: metrics, each with its matchers."""
    return [(name, matchers) for name, matchers in SERIES.findall(expression) if name]


def check_rules(promtool):
    """Prometheus accepts the rules, their tests pass, and each alert has what somebody on call needs."""
    run(promtool, "check", "rules", "--lint=all", "--lint-fatal", RULES)
    run(promtool, "test", "rules", TESTS)
    tested = [test for group in read_yaml(TESTS)["tests"] for test in group.get("alert_rule_test", [])]
    headings = guide_headings()
    alerts = [rule for rule in rules() if "alert" in rule]
    for rule in alerts:
        name, annotations = rule["alert"], rule["annotations"]
        ensure(rule["labels"]["severity"] in ("critical", "warning"), f"{name} has an unknown severity")
        ensure("for" in rule and annotations["summary"] and annotations["description"], f"{name} says too little")
        ensure(annotations["runbook_url"] == f"{BOOKS}/OPERATIONS.md#{name.lower()}", f"{name} names another runbook")
        ensure(headings is None or name in headings, f"docs/OPERATIONS.md has no section {name}")
        outcomes = {bool(test.get("exp_alerts")) for test in tested if test["alertname"] == name}
        ensure(outcomes == {True, False}, f"{name} wants a test that it fires and one that it does not")
    return f"{len(alerts)} alerts, {len(tested)} tests"


def guide_headings():
    """The headings of the operations guide; None without a guide."""
    if not GUIDE.exists():
        return None
    return set(re.findall(r"^#+ (.*?)\s*$", GUIDE.read_text(), re.MULTILINE))
