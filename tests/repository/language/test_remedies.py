"""Remedies that could destroy the last copy of something are listed with their proof in docs/proof/remedies.md."""

from __future__ import annotations

import re

from kafkactl.core.explanations import explanations
from tests.repository.tree import ROOT

PAGE = ROOT / "docs" / "proof" / "remedies.md"
DESTROYS = re.compile(
    r"\b(format(ted)? (it|the|them|again|these|only)|unformat|reformat|wip(e|es|ed|ing)|empt(y|ies) (their|its|the)|"
    r"remove (the (file|folder|stray|copy)|__cluster_metadata-0)|move the file away|an empty disk|"
    r"new director(y|ies)|replace the disk|format \w+ with|restore the segment|"
    r"delet(e|es|ing)|unclean(ly)?|unregister|accept-loss|accept-strays|drop-empty|controller be elected|rename)\b",
    re.IGNORECASE,
)
TAKES_THE_LOG = re.compile(
    r"\bmove (its )?`__cluster_metadata-0`|(node fetch|fetches) (it|the (whole )?log|everything) again"
)


def test_each_remedy_that_may_destroy_a_copy_is_listed():
    listed = set(re.findall(r"`([a-z0-9-]+)`", PAGE.read_text()))
    missing = sorted(id for id, found in explanations().items() if DESTROYS.search(found.remedy) and id not in listed)
    assert not missing, f"state when the remedy is shown and what proves that nothing is lost: {PAGE}"


def test_each_listed_id_is_explained():
    ids = {
        id
        for row in PAGE.read_text().splitlines()
        if row.startswith("| `")
        for id in re.findall(r"`([a-z0-9-]+)`", row.split("|")[1])
    }
    assert not ids - set(explanations())


def test_each_remedy_that_takes_a_metadata_log_away_requires_a_majority():
    found = {id: each.remedy for id, each in explanations().items() if TAKES_THE_LOG.search(each.remedy)}
    assert len(found) > 3
    assert not sorted(id for id, remedy in found.items() if "majority" not in remedy)
