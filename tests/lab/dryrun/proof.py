"""docs/proof/dryrun.md: what the campaign of predictions found, a section a cluster, written by the campaign itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "dryrun.md"
HEAD = """\
# Predictions from the log, made true on live clusters

Written by the run of `make lab` (tests/lab/dryrun/test_reality.py), a section a cluster. Four brokers, 20
partitions of one to three replicas, some of which allow unclean elections. Before each experiment the metadata log
is read from the disk and `kafkactl dryrun` predicts; then it is done, the log is read again, and all are compared:
of every partition replicas, leader, ISR, ELR, last known leader, recovery state, what is being added or removed,
and, where the order of events is known, the leader epoch; the records that were appended, one by one and in bytes
(their kinds only, where followers catch up in steps); who was elected without being in sync; error codes and texts.
Where the order decides, the outcome must be one of those told.

Under "hazards": `dryrun report`, run as an operator runs it, against `kafka-topics --describe`; the worst set of two
brokers; brokers that come back in the wrong order; a rolling restart from one prediction; a broker with an empty
disk; a live broker that is unregistered; partitions that a touched `min.insync.replicas` strands; configurations of a
removed topic and records of an aborted transaction that a restart brings back, asked of each broker. Under "growth":
one node with its own limits. Under "commit bound": a leader cut off from its followers, all three folders read, and
what was left when the followers went on.

Under "returns" and "clean returns": two or three brokers that are down are started in each order with pauses of 0 to 4
seconds, again and again, and what came about has to be one of the outcomes that were predicted; all that were seen to
differ were shown as uncertain. Then a broker that was unregistered while it was down and comes back, one that was
unregistered while it was alive and is asked to stop (it ended 301 and 302 s after SIGTERM on 3.9.2 and 4.3.1), and a
reassignment that is taken back.
"""


class Row(NamedTuple):
    """One experiment: what was done, whether it came out as predicted, and how long it took."""

    name: str
    right: bool
    seconds: float


def write_section(title: str, rows: Sequence[Row]) -> None:
    """Put the section of a cluster in place of the one that is there."""
    right = sum(row.right for row in rows)
    lines = [f"## {title}", "", f"{right} of {len(rows)} as predicted.", "", "| experiment | | s |", "|---|---|---|"]
    lines += [
        f"| {row.name} | {'as predicted' if row.right else '**not as predicted**'} | {row.seconds:.0f} |"
        for row in rows
    ]
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", text))
    sections[title] = "\n".join(lines[1:]) + "\n"
    bodies = [f"## {name}\n{body.rstrip()}\n" for name, body in sorted(sections.items())]
    PAGE.write_text("\n".join([HEAD, *bodies]), encoding="utf-8")
