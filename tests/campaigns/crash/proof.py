"""The page docs/proof/crash.md, and its ledger: figures of each run that was taken apart, kept until its next time."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.campaigns.crash.campaign import Figures
from tests.campaigns.crash.states import BLOCK, MOST_SUBSETS

PROOF = Path(__file__).parents[3] / "docs" / "proof" / "crash.md"
LEDGER = Path(__file__).parent / "ledger.json"
_COLUMNS = (
    "operations",
    "cases",
    "errors",
    "generated",
    "states",
    "second_runs",
    "third_runs",
    "left_out",
    "third_states",
)
_HEAD = """\
# Crash points of every command that writes

Written by the run of `make lab` (tests/campaigns/crash/test_states.py), last on {date} with Python {python}.

{cases} cases and {generated} states after reordering ({states} distinct trees), in {rows} runs that were
taken apart; {third_states} third states. {second_runs} runs followed a first crash and {third_runs} a second one.

- A case is a crash or an error at an operation: kill before, kill after and power loss at each operation of the first
  run and of each run that followed a crash; errors (before, after, no space, short write) at each operation of the
  first run.
- A state is a tree that a pair of crash points allows, each once for the pair. After a power loss, a name is certain
  only if its folder was synced afterwards; of the later changes of names any part may have arrived, in order for each
  name. Content that was not synced is there, is missing, is a beginning, is cut at a block of {block} bytes, or is
  zeros. "Distinct trees" counts equal trees once.
- Each state is judged by the rule of its command (tests/campaigns/crash/writing_commands.py): the old state or the
  new one, or one from which the same command comes to its end; nothing else of the folder is lost. After each state
  of the first crash the command runs again and must reach the result of an undisturbed run; then a power loss behind
  that run must take nothing of it.
- What a run does is recorded below `os`; replayed onto the old tree, the record must give the new tree.

- "Points cut" are crash points at which so many changes of names were pending that only the first {most} of their
  combinations were looked at.
- Of `migrate` (forward, rollback) every seventh state is run from again, and every seventh operation fails.

A rename is taken to arrive as a whole, modes and owners are not varied, and what is written past `os.write` is noticed
at the next operation. The other campaigns of tests/campaigns/crash let the port of `Filesystem` fail under `storage
format`, `apply`, `unformat` and `quorum recover`, and have no figures here.

| command | runs | {columns} |
|---|{dashes}
"""
_NAMES = {
    "errors": "runs with errors", "generated": "states", "states": "distinct trees", "second_runs": "second runs",
    "third_runs": "third runs", "left_out": "points cut", "third_states": "third states",
}  # fmt: skip


def record(title: str, figures: Figures) -> None:
    """Put the figures of a run in place of its former ones, and write the page."""
    rows = json.loads(LEDGER.read_text(encoding="utf-8")) if LEDGER.exists() else {}
    values = (getattr(figures, name) for name in _COLUMNS)
    rows[title] = [value if isinstance(value, int) else len(value) for value in values]
    LEDGER.write_text(ledger(rows), encoding="utf-8")
    PROOF.write_text(page(rows), encoding="utf-8")


def ledger(rows: Mapping[str, Sequence[int]]) -> str:
    """Return the text of the ledger: a line a run."""
    return json.dumps(dict(sorted(rows.items()))).replace("], ", "],\n") + "\n"


def page(rows: Mapping[str, Sequence[int]]) -> str:
    """Return the page: the runs of each command added up."""
    commands: dict[str, list[Sequence[int]]] = {}
    for title in sorted(rows):
        commands.setdefault(title.partition(",")[0], []).append(rows[title])
    sums = {command: (len(runs), *_sums(runs)) for command, runs in commands.items()}
    head = _HEAD.format(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        python=".".join(map(str, sys.version_info[:3])),
        block=BLOCK,
        most=MOST_SUBSETS,
        rows=len(rows),
        columns=" | ".join(_NAMES.get(name, name) for name in _COLUMNS),
        dashes="---|" * (len(_COLUMNS) + 1),
        **{name: f"{value:,}" for name, value in zip(_COLUMNS, _sums(list(rows.values())), strict=True)},
    )
    return head + "".join(f"| {command} | {' | '.join(map(str, values))} |\n" for command, values in sums.items())


def _sums(runs: Sequence[Sequence[int]]) -> list[int]:
    return [sum(values) for values in zip(*runs, strict=True)]
