"""Plan of the campaign of runs with random faults, and the file with the completed runs."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from kafkactl.core.frozen import changed
from kafkactl.simulator.campaign import Asked, outcome_of, plan_for, quorum_of
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.run import run_plan
from tests.campaigns.simulator.kafka_faults import causes_of

LEDGER = Path(__file__).parent / "ledger.jsonl"
ALL_RUNS = 200_000
PAUSE_US = 200_000  # between two questions for a leader: of every second seed, the others ask as often as Kafka does
SECOND_US = 1_000_000


class Length(NamedTuple):
    """Length of faults, how many times denser they are than in `kafkactl simulate`, and the runs of it in each hundred.

    `slice` is how many runs are made at once: about a second of a processor.
    """

    seconds: int
    density: int
    share: int
    slice: int

    @property
    def shown(self) -> str:
        """Return as on the page.

        >>> Length(5, 12, 80, 100).shown
        '5 s, 12 times as dense'
        """
        return f"{self.seconds} s" if self.density == 1 else f"{self.seconds} s, {self.density} times as dense"


# Each run ends with all faults mended, and has to commit a record then: that time is not in its length.
DENSE = (Length(5, 12, 80, 100), Length(10, 6, 15, 50), Length(20, 3, 4, 30), Length(60, 1, 1, 10))
# A second disk that is lost before the first is filled again takes committed records with it, in any protocol; and a
# controller takes up to five seconds to shut down. These need their time between two faults.
SLOW = (Length(20, 1, 98, 100), Length(60, 1, 2, 10))
PROFILES = {"chaos": DENSE, "voter-change": DENSE, "disk-loss": SLOW, "rolling-restart": SLOW}
# Three voters and five with every release; two, where a crash of either stops it, and four with one.
VOTERS = {3: ("3.7", "3.9", "4.4"), 5: ("3.9", "4.4"), 2: ("3.9",), 4: ("3.9",)}


class Cell(NamedTuple):
    """Row of the ledger: its runs have the seeds from 0."""

    profile: str
    release: str
    voters: int
    length: Length

    @property
    def asked(self) -> Asked:
        """Return what is simulated."""
        return Asked(
            profile=self.profile,
            release=self.release,
            voters=tuple(range(1, self.voters + 1)),
            duration_us=self.length.seconds * SECOND_US,
            density=self.length.density,
        )

    @property
    def goal(self) -> int:
        """Return how many runs of this cell a campaign has."""
        return -(-ALL_RUNS * self.length.share // (100 * len(CASES)))


CASES = [
    (profile, release, voters) for voters, releases in VOTERS.items() for release in releases for profile in PROFILES
]
CELLS = [Cell(*case, length) for case in CASES for length in PROFILES[case[0]]]


@dataclass
class Row:
    """Totals of the runs of a cell: statements of their plans, events, seeds that broke and why.

    `by_kafka` has the seeds that do not break if a fault of Kafka's is mended, and the names of such faults.
    """

    runs: int = 0
    faults: int = 0
    events: int = 0
    broken: list[int] = field(default_factory=list)
    by_kafka: dict[int, str] = field(default_factory=dict)

    def add(self, other: Row) -> None:
        """Count the runs of another row, too."""
        self.runs += other.runs
        self.faults += other.faults
        self.events += other.events
        self.broken += other.broken
        self.by_kafka |= other.by_kafka


class Order(NamedTuple):
    """A slice of the seeds of a cell."""

    cell: Cell
    first: int
    behind: int


def quorum_for(quorum: Quorum, seed: int) -> Quorum:
    """Return the quorum of one run: of every second seed, nodes without a leader pause."""
    return changed(quorum, leaderless_pause_us=seed % 2 * PAUSE_US)


def run_slice(order: Order) -> Row:
    """Run all seeds of a slice, and judge those that broke."""
    asked = order.cell.asked
    quorum, _ = quorum_of(asked)
    row = Row()
    gc.disable()  # worlds are garbage in circles, which is collected behind each slice
    for seed in range(order.first, order.behind):
        simulated = quorum_for(quorum, seed)
        plan = plan_for(asked, simulated, seed)
        outcome = run_plan(simulated, plan, seed)
        row.runs += 1
        row.faults += len(plan) - 1
        row.events += outcome.events
        if not outcome.passed:
            row.broken.append(seed)
    gc.enable()
    gc.collect()
    judge(order.cell, row)
    return row


def judge(cell: Cell, row: Row) -> None:
    """Separate the failures of Kafka's broker from those of the nodes, and drop runs that fail no longer."""
    broken, row.broken = row.broken, []
    for seed in broken:
        quorum = quorum_for(quorum_of(cell.asked)[0], seed)
        if not outcome_of(cell.asked, quorum, seed, traced=False).passed:
            causes = causes_of(cell.asked, quorum, seed)
            if causes:
                row.by_kafka[seed] = " or ".join(cause.name for cause in causes)
            else:
                row.broken.append(seed)


def orders(rows: dict[Cell, Row], ends_at: float) -> Iterator[Order]:
    """Yield slices, always of the cell that has the smallest part of its goal, until the time is over or all are
    met."""
    given = {cell: row.runs for cell, row in rows.items()}
    while time.monotonic() < ends_at:
        cell = min(given, key=lambda each: given[each] / each.goal)
        first = given[cell]
        if first >= cell.goal:
            return
        given[cell] = min(first + cell.length.slice, cell.goal)
        yield Order(cell, first, given[cell])


def read_ledger(ledger: Path) -> dict[Cell, Row]:
    """Return the rows of the ledger. Raises KeyError for a cell that no longer is one."""
    cells = {
        (cell.profile, cell.release, cell.voters, cell.length.seconds, cell.length.density): cell for cell in CELLS
    }
    found = {}
    for line in ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else ():
        known = json.loads(line)
        row = Row(**known["row"])
        row.by_kafka = {int(seed): name for seed, name in row.by_kafka.items()}
        found[cells[tuple(known["cell"])]] = row
    return found


def write_ledger(ledger: Path, rows: dict[Cell, Row]) -> None:
    """Write one line a cell, at once: a campaign that is ended here leaves the ledger as it was."""
    lines = [
        json.dumps({"cell": [*cell[:3], cell.length.seconds, cell.length.density], "row": asdict(row)})
        for cell, row in rows.items()
        if row.runs
    ]
    whole = ledger.with_suffix(".new")
    whole.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    whole.replace(ledger)
