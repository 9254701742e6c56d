"""The text format of Prometheus, read strictly: what it does not allow fails.

Source: Prometheus, "Exposition formats", text format 0.0.4.
"""

from __future__ import annotations

import re

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?\d+(?:\.\d+)?)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"')
_ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def samples(text: str) -> dict[str, list[tuple[str, float]]]:
    """Return every sample by its metric; fails if the text is not in the format."""
    found: dict[str, list[tuple[str, float]]] = {}
    announced = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            announced = line.split(" ")[2]
            assert announced not in found, "a family comes once"
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {announced} gauge"
        else:
            matched = SAMPLE.fullmatch(line)
            assert matched and matched[1] == announced, line
            found.setdefault(announced, []).append((matched[2] or "", float(matched[3])))
    assert text.endswith("\n")
    return found


def labels_of(text: str) -> dict[str, str]:
    """Return the labels between the braces of a sample, each with the value that Prometheus keeps."""
    return {name: re.sub(r'\\[\\"n]', lambda found: _ESCAPED[found[0]], value) for name, value in LABEL.findall(text)}
