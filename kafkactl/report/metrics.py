"""An answer as Prometheus metrics, in the text format that node_exporter's textfile collector reads.

Which numbers of which answer are metrics is data: schemas/metrics.toml. To these come, for every command, its exit
code, the time at which it ended, and its findings, counted by id and severity.

Source of the format: Prometheus, "Exposition formats", text format 0.0.4.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kafkactl.core.data_files import read_data
from kafkactl.core.frozen import frozen
from kafkactl.core.safe_text import visible

_FILE: Final = "metrics.toml"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_EXIT_CODE: Final = "Exit code of the command: 0 healthy, 7 problems found, 4 not reachable, 6 not known."
_ENDED: Final = "When the command ended, in seconds since 1970."
_FINDINGS: Final = "Findings by id and severity; `kafkactl explain ID` explains them."

Sample = tuple[Mapping[str, str], int | float]


@frozen
class Metric:
    """A gauge: its samples are read from an answer of `kind`, as schemas/metrics.toml describes."""

    kind: str
    name: str
    help: str
    each: str | None = None
    value: str | None = None
    numbers: Mapping[str, int] | None = None
    labels: Mapping[str, str]


def metrics_text(answer: Mapping[str, Any], *, exit_code: int, ended_s: float) -> str:
    """Return all metrics of one answer; `ended_s` is the time of its end in seconds since 1970.

    Unknown numbers (null in the answer) have no sample.
    """
    command = {"command": _command_of(answer["kind"])}
    findings = Counter((finding["id"], finding["severity"]) for finding in _findings(answer))
    counted = [({**command, "id": id, "severity": severity}, n) for (id, severity), n in sorted(findings.items())]
    text = ending_text(command["command"], exit_code=exit_code, ended_s=ended_s)
    text += _family("kafkactl_findings", _FINDINGS, counted)
    return text + "".join(_family(name, help, samples) for name, help, samples in _families(answer))


def _findings(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the findings of an answer and those of its areas."""
    yield from answer.get("findings", ())
    for area in answer.get("areas", ()):
        yield from area.get("findings", ())


def _families(answer: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Sample]]]:
    """Yield name, help and samples of each metric; rows of one name that follow each other are one metric."""
    for (name, help), rows in itertools.groupby(_metrics_of(answer["kind"]), lambda metric: (metric.name, metric.help)):
        yield name, help, [sample for metric in rows for sample in _samples(metric, answer)]


def ending_text(command: str, *, exit_code: int, ended_s: float) -> str:
    """Return the metrics of a command that ended, with or without an answer."""
    labels = {"command": command}
    return _family("kafkactl_exit_code", _EXIT_CODE, [(labels, exit_code)]) + _family(
        "kafkactl_end_timestamp_seconds", _ENDED, [(labels, round(ended_s, 3))]
    )


def _command_of(kind: str) -> str:
    return kind.replace(".", " ")


@functools.cache
def metrics() -> tuple[Metric, ...]:
    """Return the table of all metrics, in the order of the file."""
    import tomli

    rows = tomli.loads(read_data(_FILE).decode("utf-8"))["metric"]
    return tuple(Metric(**{"labels": {}, **row}) for row in rows)


def _metrics_of(kind: str) -> Iterator[Metric]:
    return (metric for metric in metrics() if metric.kind == kind)


def _samples(metric: Metric, answer: Mapping[str, Any]) -> Iterator[Sample]:
    for item in _items(metric, answer):
        value = 1 if metric.value is None else _field(item, metric.value)
        if metric.numbers is not None:
            value = metric.numbers.get(str(value))
        if isinstance(value, int | float) and math.isfinite(value):
            labels = {label: _text(_field(item, field)) for label, field in metric.labels.items()}
            yield labels, int(value) if isinstance(value, bool) else value


def _items(metric: Metric, answer: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    if metric.each is None:
        return (answer,)
    found = _field(answer, metric.each)
    if isinstance(found, Mapping):
        return ({"@key": key, "@value": value} for key, value in found.items())
    return found or ()


def _field(item: Mapping[str, Any], path: str) -> Any:
    """Return the value at `a.b.c`; None if a part of the way is null."""
    value: Any = item
    for name in path.split("."):
        if value is None:
            return None
        value = value[name]
    return value


def _text(value: Any) -> str:
    return "" if value is None else visible(str(value))


def _family(name: str, help: str, samples: Iterable[Sample]) -> str:
    lines = [f"{name}{_braces(labels)} {value}\n" for labels, value in samples]
    escaped = help.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {escaped}\n# TYPE {name} gauge\n{''.join(lines)}" if lines else ""


def _braces(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in labels.items()) + "}"
