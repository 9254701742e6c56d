"""Time in which runs of each length find planted bugs.

`python -m tests.campaigns.simulator.lengths [BUG]...` prints a table.

The measure is the time of a processor for each run that breaks, all runs counted: it does not depend on what else the
machine does, and says whether many short runs are as good as few long ones.
"""

from __future__ import annotations

import sys
import time

from kafkactl.simulator.campaign import plan_for, quorum_of
from kafkactl.simulator.run import run_plan
from tests.campaigns.simulator.ledger import PROFILES, Cell, Length, quorum_for
from tests.campaigns.simulator.planted_bugs import BUGS, Bug, planted

FOUND, MOST_S = 5, 15.0
SHOWN = list(dict.fromkeys(length.shown for lengths in PROFILES.values() for length in lengths))


def measured(bug: Bug, length: Length) -> str:
    """Return the time for each run that breaks; `none` if that is more than was waited for."""
    asked = Cell(bug.profile, bug.release, bug.voters, length).asked
    quorum, _ = quorum_of(asked)
    found = seed = 0
    begun = time.process_time()
    with planted(bug):
        while found < FOUND and time.process_time() - begun < MOST_S:
            simulated = quorum_for(quorum, seed)
            found += not run_plan(simulated, plan_for(asked, simulated, seed), seed).passed
            seed += 1
    spent_ms = (time.process_time() - begun) * 1000
    return f"{spent_ms / found:,.0f}" if found else "none"


def main(names: list[str]) -> None:
    """Measure the bugs with these names, or all; print ms of a processor for each run that breaks."""
    print("bug", "profile", *SHOWN, sep=" | ")
    for bug in BUGS:
        if bug.name in names or not names:
            by_length = {length.shown: measured(bug, length) for length in PROFILES[bug.profile]}
            shown = (by_length.get(each, "") for each in SHOWN)
            print(bug.name, f"{bug.profile}, {bug.voters} voters", *shown, sep=" | ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
