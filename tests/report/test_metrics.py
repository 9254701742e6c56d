"""Answers as Prometheus metrics: the format, the table against the answers' schemas, and the commands that print it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.commands.framework.leaf import LeafCommand
from kafkactl.core.answer_kinds import answer_schema
from kafkactl.report.metrics import Metric, ending_text, metrics, metrics_text
from scripts.make_reference import every_command
from tests.conftest import Run
from tests.report.exposition import samples
from tests.repository.tree import ROOT

WITH_METRICS = {
    ctx.command_path.partition(" ")[2]
    for ctx, command in every_command()
    if isinstance(command, LeafCommand)
    and any("prometheus" in getattr(param.type, "choices", ()) for param in command.params)
}


def properties(schema: Mapping[str, Any], path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas that a field may have, through references and null."""
    name, _, rest = path.partition(".")
    for found in alternatives(schema["properties"][name], schema["$defs_of_all"]):
        if rest:
            if "properties" in found:
                yield from properties({**found, "$defs_of_all": schema["$defs_of_all"]}, rest)
        else:
            yield found


def alternatives(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in schema.get("anyOf", [schema]):
        yield definitions[part["$ref"].rpartition("/")[2]] if "$ref" in part else part


@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: metric.name)
def test_every_field_is_one_of_the_answer(metric: Metric):
    whole = answer_schema(metric.kind)
    schema = {**whole, "$defs_of_all": whole.get("$defs", {})}
    if metric.each is not None:
        found = [part for part in properties(schema, metric.each) if part.get("type") != "null"]
        assert found
        if found[0]["type"] == "object":
            assert {metric.value, *metric.labels.values()} <= {"@key", "@value"}
            return
        (item,) = alternatives(found[0]["items"], schema["$defs_of_all"])
        schema = {**item, "$defs_of_all": schema["$defs_of_all"]}
    if metric.value is not None:
        found = list(properties(schema, metric.value))
        if metric.numbers is not None:
            assert [set(part["enum"]) for part in found] == [set(metric.numbers)]
            return
        types = {part.get("type") for part in found}
        assert types & {"integer", "number", "boolean"} and types <= {"integer", "number", "boolean", "null"}
    for field in metric.labels.values():
        assert list(properties(schema, field))


def test_commands_are_those_of_the_table():
    assert {kind.replace(".", " ") for kind in (metric.kind for metric in metrics())} == WITH_METRICS
    names = [name for name, _ in itertools.groupby(metric.name for metric in metrics())]
    assert len(set(names)) == len(names), "the rows of a metric are not next to each other"


def test_unknown_number_has_no_sample():
    answer = {"kind": "tiered.audit", "totals": {"partitions": 3, "by_state": {"A": 1, "B": 2}, "bytes": None},
              "source": {"bucket": None}, "findings": [{"id": "x", "severity": "info"}] * 2}  # fmt: skip
    found = samples(metrics_text(answer, exit_code=7, ended_s=1.5))
    assert found["kafkactl_tiered_segments"] == [('state="A"', 1), ('state="B"', 2)]
    assert found["kafkactl_findings"] == [('command="tiered audit",id="x",severity="info"', 2)]
    assert found["kafkactl_exit_code"] == [('command="tiered audit"', 7)]
    assert not {"kafkactl_tiered_bytes", "kafkactl_tiered_bucket_objects"} & set(found)


def test_labels_of_others_are_escaped():
    source = {"path": 'a"b\\c\nd\x1b[2J', "end_offset": 1, "last_epoch": 1, "records": 1, "would_cut": None}
    answer = {"kind": "log.verify", "findings": [], "divergences": [], "sources": [source]}
    text = metrics_text(answer, exit_code=0, ended_s=1)
    assert len(samples(text)["kafkactl_log_end_offset"]) == 1
    assert "\x1b" not in text


def test_alerts_of_the_guide_name_metrics_and_labels_that_exist():
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    rules = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])["groups"][0]["rules"]
    labels = {metric.name: set(metric.labels) for metric in metrics()}
    labels |= {name: {"command"} for name in ("kafkactl_exit_code", "kafkactl_end_timestamp_seconds")}
    labels["kafkactl_findings"] = {"command", "id", "severity"}
    assert len(rules) > 5
    for rule in rules:
        names = re.findall(r"kafkactl_[a-z_]+", rule["expr"])
        assert names and set(names) <= set(labels)
        shown = re.findall(r"\$labels\.([a-z_]+)", rule["annotations"]["summary"])
        assert set(shown) <= labels[names[0]]


def test_metrics_of_a_quorum_are_printed(kafkactl: Callable[..., Run]):
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        addresses = ",".join(str(quorum.address(node_id)) for node_id in quorum.nodes)
        run = kafkactl("quorum", "describe", "--bootstrap-controller", addresses, "-o", "prometheus")
        refused = kafkactl("quorum", "describe", "--watch", "--bootstrap-controller", addresses, "-o", "prometheus")
    found = samples(run.stdout)
    assert found["kafkactl_exit_code"][0][1] == run.code == 0
    assert found["kafkactl_quorum_leader_id"][0][1] == quorum.leader_id
    assert len(found["kafkactl_quorum_voter_lag"]) == 3
    assert refused.code == 2 and "--watch" in refused.stderr


def test_without_an_answer_the_exit_code_is_still_there(kafkactl: Callable[..., Run], tmp_path: Path):
    run = kafkactl("storage", "verify", "-c", tmp_path / "none", "-o", "prometheus")
    assert samples(run.stdout)["kafkactl_exit_code"] == [('command="storage verify"', run.code)]
    assert run.code == 2 and "cannot be read" in run.stderr
    assert samples(ending_text("x", exit_code=4, ended_s=0.1234))["kafkactl_end_timestamp_seconds"][0][1] == 0.123
    assert kafkactl("nodes", "list", "-o", "prometheus").code == 2
