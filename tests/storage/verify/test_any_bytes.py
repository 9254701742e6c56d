"""Robustness of verify for any content of the files: it never raises, and its answer is consistent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Run
from tests.hypothesis_profiles import examples
from tests.storage.verify.nodes import VerifyNode, blocker_ids

VERSIONS = ("3.3.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.2.1", "4.3.1", "4.4.0")
NEW_FILES = (
    "d1/__cluster_metadata-0/quorum-state",
    "d1/__cluster_metadata-0/partition.metadata",
    "d1/__cluster_metadata-0/leader-epoch-checkpoint",
    "d1/__cluster_metadata-0/00000000000000000007-0000000001.checkpoint",
    "d1/__cluster_metadata-0/00000000000000000009.log",
    "d1/recovery-point-offset-checkpoint",
    "d1/bootstrap.checkpoint",
)


@pytest.fixture(params=[("3.6.2", False), ("4.3.1", True), ("4.4.0", True), ("4.4.0", False)])
def started(request: pytest.FixtureRequest, tmp_path: Path, kafkactl: Callable[..., Run]) -> VerifyNode:
    version, dynamic = request.param
    node = VerifyNode(tmp_path, kafkactl, version)
    formatted = node.format("--standalone") if dynamic else node.format(static=True)
    return formatted.started_once()


@st.composite
def edits(draw: st.DrawFn, size: int) -> Callable[[bytes], bytes]:
    """Cut, change, insert, or replace."""
    at = draw(st.integers(0, max(size - 1, 0)))
    piece = draw(st.binary(max_size=24))
    kind = draw(st.sampled_from(("cut", "overwrite", "insert", "replace", "drop")))
    return {
        "cut": lambda data: data[:at],
        "overwrite": lambda data: data[:at] + piece + data[at + len(piece) :],
        "insert": lambda data: data[:at] + piece + data[at:],
        "replace": lambda data: piece,
        "drop": lambda data: data[:at] + data[at + len(piece) :],
    }[kind]


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_in_a_file_are_verified_without_an_exception(started: VerifyNode, data: st.DataObject) -> None:
    files = [str(file.relative_to(started.root)) for file in started.root.glob("d1/**/*") if file.is_file()]
    name = data.draw(st.sampled_from(sorted({*files, *NEW_FILES})))
    version = data.draw(
        st.sampled_from(VERSIONS if "bootstrap.servers" not in started.file.read_text() else VERSIONS[4:])
    )
    file = started.root / name
    before = file.read_bytes() if file.exists() else None
    old = before or b""
    if before is not None:
        file.chmod(0o644)
    file.write_bytes(data.draw(edits(len(old)))(old))
    try:
        answer = started.verify(version)
    finally:
        if before is None:
            file.unlink()
        else:
            file.write_bytes(before)
    assert (answer.will_start is False) == (answer.expected_failure is not None)
    assert answer.will_start is not False or blocker_ids(answer)
    assert not answer.would_lose or blocker_ids(answer)
    assert answer.expected_failure is None or answer.expected_failure.message
    assert all(finding.message and finding.subject for finding in answer.findings)
