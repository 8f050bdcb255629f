"""Finds the series and metrics in a PromQL expression."""

import re

TEXT = r'"(?:\\.|[^"\\])*"'
MATCHERS = rf"\{{(?:{TEXT}|[^}}\"])*\}}"
NAME = r"(?<![\w:.])[a-zA-Z_:][\w:]*"
WORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan"}


def selectors(expression):
    """The series of the expression: metric names, each with its matchers in braces."""
    # First blank out matchers, strings, ranges and label lists, at the same length to keep positions.
    text = re.sub(MATCHERS, blank, expression)
    for pattern in (TEXT, r"\[[^\]]*\]", r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)"):
        text = re.sub(pattern, blank, text)
    for name in re.finditer(NAME, text):
        is_function = re.match(r"\s*\(", text[name.end() :])
        if name[0].lower() in WORDS or is_function:
            continue
        matchers = re.match(rf"\s*{MATCHERS}", expression[name.end() :])
        yield name[0], matchers[0].strip() if matchers else ""


def blank(match):
    return " " * len(match[0])


def metrics(expression):
    """The names of the metrics in the expression."""
    return {name for name, _ in selectors(expression)}
