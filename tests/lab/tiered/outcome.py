"""docs/proof/tiered.md: what the audit said and what Kafka did, a section an act and release, written by the campaign.

A section takes the place of the one that is there, so that a campaign may be run in parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "tiered.md"
FIGURES = "Figures"
HEAD = """\
# Tiered storage: what the audit says and what Kafka does

Written by the run of `make lab` (tests/campaigns/tiered/test_campaign.py), a section an act and release. Three
brokers with TopicBasedRemoteLogMetadataManager and Kafka's LocalTieredStorage (4.4.0: a store of the same layout, for
its test jar is not published) behind a storage that holds, refuses and loses copies and deletes. Each scene is a
topic; the scenes of an act share a cluster and what happens to its brokers. Compared are:

- the findings of `tiered audit` with those that the scene must give, by the disks of all brokers, by the live cluster,
  each with and without a listing of the store, and by a saved observation;
- log start, local log start and highest offset of the audit with the leader's answers to ListOffsets earliest,
  earliest-local and latest-tiered (from 3.9 on), before and after the leader was lost, and after it came back;
- `tiered forecast` for the next leader with its log start and the first segment that it uploads;
- the offsets that the audit says are lost with those that a consumer cannot fetch, at last with every object deleted
  that `tiered leftovers` lists.

"found" is what the audit found by the disks, "Kafka" what the leader answered, in order where it changed: log start,
highest tiered offset, local log start. A finding "*" in a scene's table is not compared, for more than one may come.

Under "the metadata topic" each scene has a cluster with three topics on two brokers each, all of which are restarted
afterwards. Compared are the findings by disks, live cluster and saved observation; log start, uploads and first upload
of each topic with the forecast for the broker that leads it then; and the brokers whose log says that the metadata
consumer ended with those for which it was forecast.

On 3.6.2, where tiered storage was early access, a leader that comes back after an unclean election moves the log start
otherwise than later releases, which no forecast says (docs/decisions/0022-tiered.md).

What a release or an act has no section for, was not run. Sections hold what a run gave, also where the scene's own
expectation was wrong and was corrected afterwards.
"""


class Outcome(NamedTuple):
    """One scene: what the audit found, what Kafka answered, and what did not agree ("" for nothing)."""

    scene: str
    found: str
    kafka: str
    wrong: str


def write_section(act: str, release: str, rows: Sequence[Outcome], *, scenes: Sequence[str] = ()) -> None:
    """Put the rows of an act in place of those that are there; the sums of all acts are counted again.

    With `scenes`, which are those of the act in order, the rows that are there of the others stay.
    """
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", text))
    sections.pop(FIGURES, None)
    title = f"{act}, {release}"
    row_of = {row.scene: f"| {row.scene} | {row.found} | {row.kafka} | {_cell(row.wrong) or 'yes'} |" for row in rows}
    there = {line.split(" | ")[0].removeprefix("| "): line for line in sections.get(title, "").splitlines()}
    row_of |= {scene: there[scene] for scene in scenes if scene in there and scene not in row_of}
    ordered = [row_of[scene] for scene in (scenes or row_of) if scene in row_of]
    right = sum(line.endswith("| yes |") for line in ordered)
    head = ["", f"{right} of {len(ordered)} agree.", "", "| scene | found | Kafka | agree |", "|---|---|---|---|"]
    sections[title] = "\n".join([*head, *ordered]) + "\n"
    bodies = [f"## {FIGURES}\n{figures(sections)}"]
    bodies += [f"## {name}\n{body.rstrip()}\n" for name, body in sorted(sections.items())]
    PAGE.write_text("\n".join([HEAD, *bodies]), encoding="utf-8")


def _cell(text: str) -> str:
    shown = text.replace("|", "/").replace("\n", " ")
    return f"**no**: {shown[:400]}" if shown else ""


def figures(sections: dict[str, str]) -> str:
    """A table: how many scenes agree, by release."""
    by_release: dict[str, list[int]] = {}
    for name, body in sections.items():
        counted = re.search(r"(\d+) of (\d+) agree\.", body)
        if counted is not None:
            sums = by_release.setdefault(name.rpartition(", ")[2], [0, 0])
            sums[0] += int(counted[1])
            sums[1] += int(counted[2])
    lines = ["", "| release | scenes | agree | disagree |", "|---|---|---|---|"]
    ordered = sorted(by_release.items(), key=lambda entry: [int(part) for part in entry[0].split(".")])
    lines += [f"| {release} | {total} | {right} | {total - right} |" for release, (right, total) in ordered]
    return "\n".join(lines) + "\n"
