"""The campaign of `kafkactl tiered`: every scene on every release, written to docs/proof/tiered.md section by section.

Each test is one act, or one scene of the metadata topic, on one release and replaces its own section or row, so that a
run may be stopped and taken up again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.harness.pool import Pool
from tests.lab.tiered.acts import ACTS, Act, performed
from tests.lab.tiered.jbod import SEVERAL_DIRECTORIES, refuses_several_directories
from tests.lab.tiered.metadata_scenes import HARMS, Harm, harmed
from tests.lab.tiered.outcome import write_section

OF_METADATA = (*(harm.name for harm in HARMS), SEVERAL_DIRECTORIES)
RELEASES = ("4.3.1", "3.9.2", "4.4.0", "3.6.2", "4.0.2", "3.7.2", "3.8.1")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("title, act", ACTS.items(), ids=list(ACTS))
def test_audit_of_topics_is_right(title: str, act: Act, release: str, tmp_path: Path, lab_pool: Pool) -> None:
    rows = performed(act, release, tmp_path / "cluster")
    write_section(title, release, rows)
    assert [row for row in rows if row.wrong] == []


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.name)
def test_audit_of_a_damaged_metadata_topic_is_right(harm: Harm, release: str, tmp_path: Path, lab_pool: Pool) -> None:
    rows = performed(harmed(harm), release, tmp_path / "cluster", harm.settings)
    write_section("the metadata topic", release, rows, scenes=OF_METADATA)
    assert [row for row in rows if row.wrong] == []


@pytest.mark.parametrize("release", RELEASES)
def test_several_log_directories_are_refused(release: str, tmp_path: Path, lab_pool: Pool) -> None:
    row = refuses_several_directories(release, tmp_path / "jbod")
    write_section("the metadata topic", release, [row], scenes=OF_METADATA)
    assert not row.wrong
