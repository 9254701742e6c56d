"""Answers of `kafkactl tiered` about three tiering brokers, against the brokers themselves: one scene of each kind.

All scenes, on all releases: test_campaign.py. Nothing here waits for a time; looks are repeated until both sides agree.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.harness.pool import Pool
from tests.lab.tiered.acts import leader_lost, performed
from tests.lab.tiered.store_scenes import SCENES

FEW = (
    "healthy", "killed after the upload", "the newest two removed", "topic deleted, store refuses",
    "log object removed", "delete refused of one",
)  # fmt: skip
FEWER = ("healthy", "killed after the upload")


@pytest.mark.parametrize(
    "release, names, returns",
    [("4.3.1", FEW, True), pytest.param("3.9.2", FEWER, False, marks=pytest.mark.campaign)],
    ids=["4.3.1", "3.9.2"],
)
def test_audit_is_what_brokers_answer_and_do(
    release: str,
    names: tuple[str, ...],
    returns: bool,
    tmp_path: Path,
    lab_pool: Pool,
) -> None:
    scenes = [scene for scene in SCENES if scene.name in names]
    assert len(scenes) == len(names)
    rows = performed(lambda stage: leader_lost(stage, scenes, returns=returns), release, tmp_path / "cluster")
    assert [row for row in rows if row.wrong] == []
