"""Saved observations with anything in any place: every answer comes about, and none of them is a traceback."""

from __future__ import annotations

import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkactl.core.errors import KafkactlError
from kafkactl.migration.checks.registry import check
from kafkactl.migration.compare.comparison import compare_observation
from kafkactl.migration.io.saved_observation import load_observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.view import observed_view
from kafkactl.migration.steps.forward import forward_of, next_step
from kafkactl.migration.steps.gates import gates_seen
from kafkactl.migration.steps.m5 import expected_copy
from kafkactl.migration.steps.rollback import rollback_of
from kafkactl.migration.steps.table import state_of_evidence
from tests.campaigns.goldens.migrations import INTO as GOLDENS
from tests.hypothesis_profiles import examples

STATES = GOLDENS.with_name("states")
NAMES = ("M4L", "M6", "M7", "M11", "split-brain", "incomplete-rollback-one-rolled")
ANYTHING = st.sampled_from([None, True, -1, 0, 1.5, "", "x", "AAAA", "\0", [], {}, [1], {"a": 1}, 1 << 70])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {name: tmp_path_factory.mktemp("state") for name in NAMES}
    for name, folder in found.items():
        with tarfile.open(STATES / f"{name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every place in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in inner for found in places(part, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    held = value
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = new
    return value


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_answer_is_a_traceback(data: st.DataObject, folders: dict[str, Path]) -> None:
    folder = folders[data.draw(st.sampled_from(NAMES))]
    saved = json.loads((folder / "observation.json").read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        saved = put(saved, data.draw(st.sampled_from(places(saved))), data.draw(ANYTHING))
    kept = [path for path in sorted(folder.iterdir()) if data.draw(st.booleans())]
    with tempfile.TemporaryDirectory() as place:
        for path in kept:
            Path(place, path.name).symlink_to(path)
        Path(place, "observation.json").unlink(missing_ok=True)
        Path(place, "observation.json").write_text(json.dumps(saved))
        answer(place)


def answer(folder: str) -> None:
    """Answer everything that is asked of a saved observation; an error is an answer, too."""
    try:
        seen = load_observation(folder)
    except KafkactlError:
        return
    evidence = evidence_of(seen)
    observed = state_of_evidence(evidence)
    gates_seen(observed.state, evidence, checked=check(seen, evidence=evidence))
    forward_of(evidence, observed)
    rollback_of(evidence, observed)
    next_step(evidence, observed)
    observed_view(evidence, observed.state)
    compare_observation(seen)
    expected_copy(evidence, observed.state)
