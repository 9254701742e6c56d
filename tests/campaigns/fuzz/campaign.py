"""The coverage-guided campaign of the fuzzer.

`python -m tests.campaigns.fuzz.campaign [SECONDS [TARGET]...]` runs a part of it, `make lab` all of it.

It resumes where it was interrupted: the figures are in tests/campaigns/fuzz/ledger.json (their sums in
docs/proof/fuzz.md), the corpus in .fuzz/ (and a selection of it in tests/campaigns/fuzz/corpus). Targets take turns,
the one with the least time first, so that fast ones get more executions. A campaign is complete after ten million
executions, and ten thousand of each target that is not slow for a reason of its own (`Target.slow`); the next starts
again from zero and keeps the corpus. An input that fails is put into tests/campaigns/fuzz/failed, where `make test`
runs it, and ends the campaign.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from bench.fuzz_log import write_section
from bench.installed import ROOT
from tests.campaigns.fuzz.corpus_choice import keep_corpus
from tests.campaigns.fuzz.target import FAILED, MOST_MEMORY_BYTES, Target
from tests.campaigns.fuzz.targets import TARGETS

SECTION = "## Coverage-guided"
EXECUTIONS, LEAST_EXECUTIONS = 10_000_000, 10_000
TURN_S = 10
WORK = ROOT / ".fuzz"
_DONE = re.compile(r"#\d+\s+DONE\s+cov: (\d+) ft: (\d+)")
_EXECUTED = re.compile(r"stat::number_of_executed_units: (\d+)")
LEDGER = Path(__file__).parent / "ledger.json"


@dataclass(frozen=True)
class Row:
    """Result of one target: executions, their seconds, edges and features reached, inputs in the tree, failures."""

    executions: int = 0
    seconds: int = 0
    edges: int = 0
    features: int = 0
    corpus: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Figures:
    """The rows of the present campaign by target, and the executions of those before it."""

    rows: dict[str, Row]
    before: int = 0

    @property
    def executions(self) -> int:
        return sum(row.executions for row in self.rows.values())

    @property
    def few(self) -> list[str]:
        """Return the targets that have had too few executions, the slow ones among them."""
        return [name for name in TARGETS if self.rows.get(name, Row()).executions < LEAST_EXECUTIONS]

    @property
    def is_complete(self) -> bool:
        return self.executions >= EXECUTIONS and all(TARGETS[name].slow for name in self.few)


def read_figures(text: str) -> Figures:
    """Return the figures of a ledger; a complete campaign is treated as an earlier one."""
    found = json.loads(text)
    rows = {name: Row(**row) for name, row in found["rows"].items() if name in TARGETS}
    figures = Figures(rows, found["before"])
    if not figures.is_complete:
        return figures
    rows = {name: Row(corpus=row.corpus, failures=row.failures) for name, row in rows.items()}
    return Figures(rows, figures.before + figures.executions)


def ledger(figures: Figures) -> str:
    """Return the text of the ledger."""
    rows = {name: asdict(figures.rows[name]) for name in TARGETS if name in figures.rows}
    return json.dumps({"before": figures.before, "rows": rows}, indent=1) + "\n"


def section(figures: Figures) -> str:
    """Return the section of docs/proof/fuzz.md."""
    rows = [figures.rows.get(name, Row()) for name in TARGETS]
    totals = [sum(getattr(row, field.name) for row in rows) for field in fields(Row)]
    return "\n".join(
        [
            SECTION, "",
            f"{datetime.now(UTC):%Y-%m-%d}. Repeat with `python -m tests.campaigns.fuzz.campaign`, which `make lab`"
            f" runs until a campaign has {EXECUTIONS:,} executions (Atheris); `tests/campaigns/fuzz/ledger.json` has"
            " the figures of each target.",
            "Each input gives a value or an error that the reader declares, takes at most"
            f" {MOST_MEMORY_BYTES >> 20} MiB more than the process has, and ends.",
            f"Earlier campaigns: {figures.before:,} executions. `make test` plays the corpus and every input that"
            " ever failed.", "",
            "| targets | executions | seconds | edges | features | corpus | inputs that failed once |",
            "|---|---|---|---|---|---|---|",
            _line(str(len(rows)), totals), "",
            f"Targets: {', '.join(TARGETS)}.", "",
            *_few(figures),
        ]
    )  # fmt: skip


def _few(figures: Figures) -> list[str]:
    """Return why targets have few executions: if no reason is given, the campaign is not complete."""
    few = [f"- {name}: {TARGETS[name].slow or 'the campaign goes on'}" for name in figures.few]
    return [f"Fewer than {LEAST_EXECUTIONS:,} executions:", "", *few, ""] if few else []


def _line(name: str, numbers: Sequence[int]) -> str:
    return f"| {' | '.join([name, *(f'{number:,}' for number in numbers)])} |"


def turn(target: Target, row: Row, seconds: int) -> tuple[Row, str | None]:
    """Fuzz one target for a while; the new row, and the end of what was printed where an input failed."""
    folder = WORK / target.name
    words = [
        sys.executable,
        "-m",
        "tests.campaigns.fuzz.guided",
        target.name,
        str(folder),
        f"-max_total_time={seconds}",
    ]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    output = run.stderr.decode("utf-8", "replace") + run.stdout.decode("utf-8", "replace")
    done, executed = _DONE.search(output), _EXECUTED.search(output)
    row = replace(
        row,
        executions=row.executions + (int(executed[1]) if executed else 0),
        seconds=row.seconds + seconds,
        edges=max(row.edges, int(done[1]) if done else 0),
        features=max(row.features, int(done[2]) if done else 0),
    )
    return row, None if run.returncode == 0 and _take_failures(target) == 0 else output[-6000:]


def _take_failures(target: Target) -> int:
    """Put the inputs that failed where they are run again. Returns how many there were."""
    found = sorted((WORK / target.name / "found").glob("*"))
    for path in found:
        content = path.read_bytes()
        place = FAILED / target.name / hashlib.sha256(content).hexdigest()[:12]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        path.unlink()
    return len(found)


def campaign(seconds: float | None = None, names: Sequence[str] = ()) -> list[str]:
    """Go on for so long, or until the campaign is complete; what failed."""
    figures, ends_at = read_figures(LEDGER.read_text(encoding="utf-8")), time.monotonic() + (seconds or float("inf"))
    chosen = [TARGETS[name] for name in names or TARGETS]
    failed: list[str] = []
    while time.monotonic() < ends_at and not figures.is_complete:
        open_ = [target for target in chosen if target.name not in {line.partition(":")[0] for line in failed}]
        if figures.executions >= EXECUTIONS:
            open_ = [target for target in open_ if target.name in figures.few and not target.slow]
        if not open_:
            break
        target = min(open_, key=lambda each: figures.rows.get(each.name, Row()).seconds)
        row, failure = turn(target, figures.rows.get(target.name, Row()), TURN_S)
        if failure is not None:
            _take_failures(target)
            failed.append(f"{target.name}: {failure}")
        row = replace(row, corpus=keep_corpus(target, WORK / target.name / "corpus"), failures=len(target.failed))
        figures.rows[target.name] = row
        LEDGER.write_text(ledger(figures), encoding="utf-8")
        write_section(SECTION, section(figures))
    return failed


def main(arguments: Sequence[str]) -> None:
    """Run, and print what failed."""
    failed = campaign(float(arguments[0]) if arguments else None, arguments[1:])
    print(*failed, sep="\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(sys.argv[1:])
