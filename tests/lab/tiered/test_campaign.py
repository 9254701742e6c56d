"""The campaign of `kafkactl tiered`: every scene on every release, written to docs/proof/tiered.md section by section.

Each test is one act on one release and replaces its own sections, so that a run may be stopped and taken up again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.harness.pool import Pool
from tests.lab.tiered.acts import ACTS, Act, played
from tests.lab.tiered.jbod import refuses_several_directories
from tests.lab.tiered.metadata_scenes import HARMS, harmed
from tests.lab.tiered.outcome import Outcome, write_section

RELEASES = ("4.3.1", "3.9.2", "4.4.0", "3.6.2", "4.0.2", "3.7.2", "3.8.1")


@pytest.mark.campaign
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("title, act", ACTS.items(), ids=list(ACTS))
def test_topics(title: str, act: Act, release: str, tmp_path: Path, lab_pool: Pool) -> None:
    rows = played(act, release, tmp_path / "cluster")
    write_section(title, release, rows)
    assert [row for row in rows if row.wrong] == []


@pytest.mark.campaign
@pytest.mark.parametrize("release", RELEASES)
def test_the_metadata_topic(release: str, tmp_path: Path, lab_pool: Pool) -> None:
    rows: list[Outcome] = []
    for number, harm in enumerate(HARMS):
        rows += played(harmed(harm), release, tmp_path / f"cluster-{number}", harm.settings)
        write_section("the metadata topic", release, rows)
    rows.append(refuses_several_directories(release, tmp_path / "jbod"))
    write_section("the metadata topic", release, rows)
    assert [row for row in rows if row.wrong] == []
