"""The page docs/proof/tiered.md, written by the campaign: audits compared with brokers, a row an act and release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.proof_page import last_result, record_part

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "tiered.md"
_AGREE, _DIFFER = " agree: ", "; these differ: "
HEAD = """\
# Tiered storage: the audit compared with Kafka

Repeat with `make lab` (tests/campaigns/tiered/test_campaign.py), which writes this page: a row an act and release.
Three brokers with TopicBasedRemoteLogMetadataManager and Kafka's LocalTieredStorage (4.4.0: a store of the same
layout, for its test jar is not published) behind a storage that holds, refuses and loses copies and deletes. Each
scene is a topic (tests/lab/tiered/*_scenes.py); the scenes of an act share a cluster and what happens to its brokers.
Compared are:

- the findings of `tiered audit` with those that the scene must give, by the disks of all brokers, by the live cluster,
  each with and without a listing of the store, and by a saved observation;
- log start, local log start and highest offset of the audit with the leader's answers to ListOffsets earliest,
  earliest-local and latest-tiered (from 3.9 on), before and after the leader was lost, and after its return;
- `tiered forecast` for the next leader with its log start and the first segment that it uploads;
- the offsets that the audit reports as lost with those that a consumer cannot fetch, at last with every object deleted
  that `tiered leftovers` lists.

In the act "the metadata topic" each scene has a cluster with three topics on two brokers each, all of which are
restarted afterwards. Compared are the findings; log start, uploads and first upload of each topic with the forecast
for the broker that leads it then; and the brokers whose metadata consumer ended with those that were forecast.

The disagreements of 3.6.2, where tiered storage was early access, are leaders that return after an unclean election
and move the log start differently from later releases, which no forecast says (docs/decisions/0022-tiered.md).
"""


class Outcome(NamedTuple):
    """Outcome of a scene: what the audit found, what Kafka answered, and what did not agree ("" for nothing)."""

    scene: str
    found: str
    kafka: str
    wrong: str


def write_section(act: str, release: str, rows: Sequence[Outcome], *, scenes: Sequence[str] = ()) -> None:
    """Put the row of an act in place of its last run.

    With `scenes`, which are those of the act in order, the row names them, and scenes that did not run keep their last
    outcome.
    """
    part = f"{act}, {release}"
    agree = {row.scene: not row.wrong for row in rows}
    if scenes:
        known = _named(last_result(PAGE, part)) | agree
        agree = {name: known[name] for name in scenes if name in known}
    result = f"{sum(agree.values())} of {len(agree)} agree"
    if scenes:
        right, wrong = ([name for name, is_right in agree.items() if is_right is each] for each in (True, False))
        result = f"{sum(agree.values())} of {len(agree)}{_AGREE}{'; '.join(right)}"
        result += f"{_DIFFER}{'; '.join(wrong)}" if wrong else ""
    record_part(PAGE, HEAD, part, result, [f"{row.scene}: {row.wrong}" for row in rows if row.wrong])


def _named(result: str) -> dict[str, bool]:
    """Return the scenes that a row names, and whether each agreed."""
    right, _, wrong = result.partition(_AGREE)[2].partition(_DIFFER)
    return {name: text is right for text in (right, wrong) for name in text.split("; ") if name}
