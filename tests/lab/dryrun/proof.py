"""The page docs/proof/dryrun.md, written by the campaign of predictions: a row a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.proof_page import record_part

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "dryrun.md"
HEAD = """\
# Predictions from the log, compared with live clusters

Repeat with `make lab` (tests/lab/dryrun/test_reality.py), which writes this page: a row a cluster. Four brokers, 20
partitions of one to three replicas, some of which allow unclean elections. Before each experiment the metadata log
is read from the disk and `kafkactl dryrun` predicts; then the experiment is carried out, the log is read again, and
both are compared: of every partition replicas, leader, ISR, ELR, last known leader, recovery state, what is being
added or removed, and, where the order of events is known, the leader epoch; the appended records, one by one and in
bytes (only their kinds where followers catch up in steps); replicas that were elected without being in sync; error
codes and texts. Where the order decides, the outcome must be one of those that were predicted.

- A release alone: kills, returns, elections, reassignments, configurations, unregistrations, one after the other.
- *hazards*: `dryrun report` against `kafka-topics --describe`; the worst set of two brokers; brokers that return in the
  wrong order; a rolling restart; a broker with an empty disk; a live broker that is unregistered; partitions that a
  touched `min.insync.replicas` strands; configurations of a removed topic and records of an aborted transaction that a
  restart brings back.
- *growth*: one node with its own limits. *commit bound*: a leader cut off from its followers, all three folders read.
- *returns*, *clean returns*: two or three brokers that are down are started in each order with pauses of 0 to 4 s.
  Then a broker that was unregistered while it was down, one that was unregistered while alive and is asked to stop (it
  ended 301 and 302 s after SIGTERM on 3.9.2 and 4.3.1), and a reassignment that is cancelled.
"""


class Row(NamedTuple):
    """Experiment: what was done, whether it came out as predicted, and how long it took."""

    name: str
    right: bool
    seconds: float


def write_section(title: str, rows: Sequence[Row]) -> None:
    """Put the row of a cluster in place of its last run."""
    wrong = [f"{row.name}: not as predicted" for row in rows if not row.right]
    result = f"{len(rows) - len(wrong)} of {len(rows)} as predicted; {sum(row.seconds for row in rows):.0f} s"
    record_part(PAGE, HEAD, title, result, wrong)
