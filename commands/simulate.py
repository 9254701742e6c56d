"""`kafkactl simulate`: a quorum of controllers in virtual time, with faults from a script or a profile."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework.engine_options import ENGINE_OPTIONS, EngineArguments, check_master
from kafkactl.commands.framework.exit_codes import DONE, INTERRUPTED, PROBLEMS_FOUND, UNKNOWN
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import PATH, Choice, Duration
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.output import detail, emit, wipe_passing, write_passing
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.commands.rendering.progress import shown_progress
from kafkactl.core.wording import counted

if TYPE_CHECKING:
    from kafkactl.dryrun.api.engines import Engine
    from kafkactl.simulator.api.simulation import Simulation, SimulationRequest
    from kafkactl.simulator.run import Outcome

PROFILES = ("chaos", "rolling-restart", "voter-change", "disk-loss")
RELEASES = ("3.7", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
_CODES = {"passed": DONE, "failed": PROBLEMS_FOUND, "unknown": UNKNOWN}
_TONES = {"passed": "good", "failed": "bad", "unknown": "warn"}
_EVERY_S = 0.2  # between two counts of the runs that are over
_SHOWN = 200  # lines of a timeline in the terminal
_MOST_DIGITS = 18
_MOST_VOTERS = 15
_MOST_WEIGHED = 1000  # parts of the work


class _Nodes(click.ParamType[tuple[int, ...]]):
    """Node ids as `1,2,5`; with `counts` a single number is how many there are, numbered from 1."""

    name = "ids"

    def __init__(self, *, counts: bool) -> None:
        self.counts = counts

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the ids; a usage error for any other text."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in value.split(",")]
        if not all(word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS for word in words):
            meant = "3 for the nodes 1 to 3, or ids such as 1,2,5" if self.counts else "ids such as 4,5"
            self.fail(f"{value!r} is not a list of node ids: write {meant}.", param, ctx)
        numbers = tuple(int(word) for word in words)
        if len(numbers) > 1 or not self.counts:
            return numbers
        if not 1 <= numbers[0] <= _MOST_VOTERS:
            self.fail(f"{numbers[0]} voters cannot be simulated: expected 1 to {_MOST_VOTERS}.", param, ctx)
        return tuple(range(1, numbers[0] + 1))


@leaf_command(
    "simulate",
    examples=(
        "kafkactl simulate --voters 3 --release 3.9 --script wedge.txt",
        "kafkactl simulate --profile chaos --seed 1 --runs 200",
        "kafkactl simulate --profile voter-change --seed 7 --html run.html",
    ),
    codes=(DONE, 1, 2, 3, UNKNOWN, PROBLEMS_FOUND, INTERRUPTED),
    timeout="1h",
)
@click.option("--script", metavar="FILE", type=PATH, help="What happens, and what is expected.")
@click.option("--profile", type=Choice(PROFILES), help="Draw the faults from the seed.")
@click.option("--voters", type=_Nodes(counts=True), metavar="LIST", help="How many voters, or their ids. [default: 3]")
@click.option("--observers", type=_Nodes(counts=False), metavar="LIST", help="Ids of controllers that do not vote.")
@click.option("--release", type=Choice(RELEASES), help="Whose rules the nodes follow. [default: 4.4]")
@click.option(
    "--static/--dynamic", "is_static", default=None, help="The kind of quorum. [default: dynamic from 3.9 on]"
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, metavar="N",
              help="The seed of the first run.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1, 10_000_000), default=1, show_default=True, metavar="N",
              help="How many runs, each with the next seed.")  # fmt: skip
@click.option("--duration", "duration_ms", type=Duration(), default="1m", show_default=True, metavar="TIME",
              help="How long a profile makes faults, in virtual time.")  # fmt: skip
@click.option("--no-shrink", is_flag=True, help="Do not look for the fewest faults of a failing run.")
@click.option("--html", metavar="FILE", type=PATH, help="Also write an HTML page with one lane a node.")
@option_group("where", EngineArguments, *ENGINE_OPTIONS)
def command(*, no_shrink: bool, html: str | None, where: EngineArguments, **asked: Any) -> None:
    """Simulate a quorum of controllers in virtual time, with crashes, lost disks and broken networks.

    The nodes follow the rules of released Kafka. After every event twelve invariants are checked: one
    leader an epoch, nothing committed is lost, one vote an epoch, and so on. A run depends on nothing
    but its options and its seed. Exit code 7 if an expectation of the script is not met or an invariant
    is broken; the answer then names the seed and, of a profile, the fewest faults that lead there, as a
    script. Ctrl-C, or the end of --timeout, ends it with the answer about the runs that are over. No
    cluster is asked and nothing is changed.
    """
    from kafkactl.simulator.api.simulation import SimulationRequest, check_page, simulate, write_page

    if (asked["script"] is None) == (asked["profile"] is None):
        raise click.UsageError("Give --script FILE or --profile NAME.")
    check_page(html)
    check_master(where.engine, where.master)
    request = SimulationRequest(shrinks=not no_shrink, **asked)
    engine = _engine(where, request)
    detail(engine.why)
    progress = _Progress(asked["runs"])
    try:
        with shown_progress("Waiting for Spark", "tasks") if engine.name == "spark" else nullcontext():
            found = simulate(request, on_progress=progress, engine=engine.name, master=engine.master)
    finally:
        progress.clear()
    emit(
        "simulate",
        found if html is None else write_page(html, found),
        render=_show,
        exit_code=INTERRUPTED if found.interrupted else _CODES[found.verdict],
        listing="timeline",
    )


def _engine(where: EngineArguments, request: SimulationRequest) -> Engine:
    """Choose the engine by the options and by the work."""
    from kafkactl.dryrun.api.engines import engine_for, weighed
    from kafkactl.simulator.api.simulation import seconds_of

    seconds = [seconds_of(request)] * min(request.runs, _MOST_WEIGHED)
    each = request.runs / len(seconds)
    what = counted(request.runs, "run")
    return engine_for(
        where.engine,
        where.master,
        None,
        lambda: weighed([part * each for part in seconds], os.cpu_count() or 1, what=what),
    )


class _Progress:
    """Number of finished runs, in one line on stderr that is overwritten; only on a terminal, and not with -q."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._shows = runs > 1 and sys.stderr.isatty() and not current_settings().quiet
        self._next = 0.0
        self._drawn = False

    def __call__(self, over: int) -> None:
        if self._shows and monotonic() >= self._next:
            self._next = monotonic() + _EVERY_S
            write_passing(f"{over:,} of {self._runs:,} runs")
            self._drawn = True

    def clear(self) -> None:
        """Wipe the line."""
        if self._drawn:
            wipe_passing()


def _show(page: Page, found: Simulation) -> None:
    asked, summary = found.request, found.summary
    page.heading(f"{asked.script or f'profile {asked.profile}'}: {found.verdict}", _TONES[found.verdict])
    left = asked.runs - summary.runs
    voters, observers = _ids(summary.quorum.voters), _ids(summary.quorum.observers)
    page.fields(
        [
            ("quorum", f"{found.quorum}, release {summary.release}, voters {voters}"),
            ("observers", observers or None),
            ("runs", f"{summary.passed} of {summary.runs} passed, first seed {asked.seed}"),
            ("not made", f"{left} of {asked.runs} runs" if left else None),
            ("elections", f"{summary.elections}, highest epoch {summary.highest_epoch}"),
            ("failover", _failover(found)),
            ("records committed", f"{summary.committed:,}"),
            ("page", found.html),
        ]
    )
    page.findings(found.findings)
    if summary.shrunk is not None:
        page.line(Word(f"The fewest statements ({summary.faults_after} of {summary.faults_before}):", "dim"))
        for line in summary.shrunk.splitlines():
            page.line(line)
    if asked.runs == 1 or found.verdict == "failed":
        _timeline(page, summary.shown)


def _timeline(page: Page, run: Outcome) -> None:
    page.line(Word(f"What happened with seed {run.seed}:", "dim"))
    page.table(
        ("time", "node", "what"),
        ((f"{row.time_us / 1_000_000:.3f} s", row.node, row.text) for row in run.happenings[-_SHOWN:]),
    )
    left_out = max(0, len(run.happenings) - _SHOWN) + run.left_out
    if left_out:
        page.line(Word(f"{left_out} more events (all with -o json)", "dim"))


def _failover(found: Simulation) -> str | None:
    times = found.failover_ms
    if not times:
        return None
    shown = ", ".join(f"{name} {times[name]:,.0f} ms" for name in ("p50", "p90", "p99"))
    return f"{shown}, longest {times['p100']:,.0f} ms ({len(found.summary.failovers_us)} measured)"


def _ids(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, nodes))
