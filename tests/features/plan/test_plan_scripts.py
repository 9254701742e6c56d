"""The scripts in tests/scripts/plans: a cluster, a command, `----`, and what the plan says.

`REWRITE_SCRIPTS=1 pytest tests/features/plan/test_plan_scripts.py` writes the plans of today into them; read the diff.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkactl.cluster.departed_node import STOPPED
from kafkactl.cluster.state import ClusterState
from kafkactl.cluster.unregister_plan import plan_unregister
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding
from kafkactl.core.values import Role
from kafkactl.features.plan.change import upgrade_type
from kafkactl.features.plan.min_insync import OPTION
from kafkactl.features.plan.plan import FeaturePlan, plan_change
from kafkactl.features.plan.predict import predicted_acceptance
from kafkactl.features.plan.request import FeatureRequest, Operation, parse_request
from tests.features.clusters import Cluster

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "scripts" / "plans").glob("features_*.txt"))
OPERATIONS = tuple(operation.value for operation in Operation)
KAFKA = {True: "accepts", False: "refuses", None: "cannot be told"}


def parse(words: list[str]) -> FeatureRequest:
    """Return the flags of `kafkactl features upgrade|downgrade|disable`, as far as they decide what is asked for."""
    operation, flags = Operation(words[0]), set()
    named: dict[str, str | None] = {"--metadata": None, "--release-version": None, OPTION: None}
    features, rest = [], iter(words[1:])
    for word in rest:
        if word == "--feature":
            features.append(next(rest))
        elif word in named:
            named[word] = next(rest)
        else:
            flags.add(word)
    assert flags <= {"--unsafe", "--convert-quorum"}
    return parse_request(
        operation,
        metadata=named["--metadata"],
        release_version=named["--release-version"],
        features=features,
        unsafe="--unsafe" in flags,
        convert_quorum="--convert-quorum" in flags,
        accepted_min_insync=None if named[OPTION] is None else int(named[OPTION]),
    )


def answer(state: ClusterState, command: str) -> Iterator[str]:
    words = shlex.split(command)
    if words[0] == "unregister":
        stopped = STOPPED in words
        named = [word for word in words[2:] if word != STOPPED]
        found = plan_unregister(state, int(words[1]), Role(named[0]) if named else None, stopped=stopped)
        yield f"{found.outcome.value}: {found.role.value if found.role else 'nobody'} {found.node_id}"
        yield from shown(found.findings)
        return
    try:
        request = parse(words)
    except InputError as error:
        yield f"error {error.id}: {error.message}"
        return
    yield from shown_plan(state, plan_change(state, request))


def shown_plan(state: ClusterState, plan: FeaturePlan) -> Iterator[str]:
    yield plan.outcome.value
    for change in plan.changes:
        way = "" if not change.moves else ", way back" if change.reversible else ", no way back"
        yield f"  {change.name} {change.before} -> {change.after}: {change.kind.value}{way}"
    for step in plan.steps:
        yield f"step {step.number} ({step.type.name.lower()}): {step.text}"
    yield from shown(plan.findings)
    accepted = predicted_acceptance(state, plan.request.levels, upgrade_type(plan.request))
    if plan.outcome.value == "refused":
        yield "kafka: " + ", ".join(f"{name} {KAFKA[key]}" for name, key in accepted.items())


def shown(findings: tuple[Finding, ...]) -> Iterator[str]:
    for finding in findings:
        yield f"{finding.severity.value} {finding.id}: {finding.message}"
        if finding.severity.value == "blocker":
            yield f"    -> {finding.advice}"


def run_script(text: str) -> str:
    """Return the script with the answers of today."""
    out, cluster, skipping = [], Cluster(), False
    for line in text.splitlines():
        words = line.split()
        if skipping:
            if line.strip():
                continue
            skipping = False
        out.append(line)
        if not words or line.startswith("#"):
            continue
        if words[0] == "cluster":
            cluster = Cluster()
        elif words[0] in (*OPERATIONS, "unregister"):
            command = line
        elif words[0] == "----":
            out += list(answer(cluster.state(), command))
            skipping = True
        else:
            cluster.read(line.split(" #")[0])
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_plans_are_as_written_down(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    output = run_script(text)
    if os.environ.get("REWRITE_SCRIPTS"):
        path.write_text(output, encoding="utf-8")
    assert output == text


def test_scripts_are_found() -> None:
    assert len(SCRIPTS) >= 5
