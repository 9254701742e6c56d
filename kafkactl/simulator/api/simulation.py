"""`kafkactl simulate`: a quorum of controllers in virtual time, with faults from a script or a profile.

Nothing is read but the script, no cluster is asked, and equal arguments give equal answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.protocol.catalog.releases import find_release, first_with_dynamic_quorum
from kafkactl.simulator.campaign import (
    Asked,
    Figures,
    Summary,
    Tally,
    failover_ms,
    figures,
    quorum_of,
    ranges_of,
    tally_of,
    verdict_of,
)
from kafkactl.simulator.campaign import simulate as run_all
from kafkactl.simulator.profiles import PROFILES
from kafkactl.simulator.run import Outcome
from kafkactl.simulator.script import MAX_OBSERVERS, MAX_VOTERS, RELEASES, Script, check_nodes, parse_script
from kafkactl.simulator.words import MAX_ID

MOST_RUNS: Final = 10_000_000
_SHOWN: Final = 5
_RANGES_OF_A_CORE: Final = 4
_RUN_S: Final = {"rolling-restart": 0.06, "voter-change": 0.2, "chaos": 0.2, "disk-loss": 0.52}


@frozen
class SimulationRequest:
    """Request of a simulation: a script file or a profile; None is the default. `duration_ms` is of the profile's
    faults."""

    script: str | None = None
    profile: str | None = None
    voters: tuple[int, ...] | None = None
    observers: tuple[int, ...] | None = None
    release: str | None = None
    is_static: bool | None = None
    seed: int = 0
    """Seed of the first run; each further run has the next."""
    runs: int = 1
    duration_ms: int = 60_000
    shrinks: bool = True


@frozen
class FailedRun:
    """A run that did not pass: an invariant that was broken, or a statement that did not come true."""

    seed: int
    invariant: str | None
    event: int | None
    """The number of the event behind which the invariant was broken."""
    time_us: int
    node: int | None
    line: int | None
    statement: str | None
    message: str

    to_dict = by_fields


@frozen
class Simulation:
    """Result of a simulation: all runs in numbers, one of them with its timeline. `html` is the page that was
    written."""

    request: SimulationRequest
    summary: Summary
    findings: tuple[Finding, ...]
    html: str | None = None

    @property
    def verdict(self) -> Literal["passed", "failed", "unknown"]:
        """Return the verdict; `unknown`: every run that was made passed, and not all were made."""
        return verdict_of(self.summary)

    @property
    def interrupted(self) -> bool:
        """Return True if the operator stopped it (exit code 130)."""
        return self.summary.ended == "interrupted"

    @property
    def quorum(self) -> Literal["static", "dynamic"]:
        """Return the kind of quorum that was simulated, `static` or `dynamic`."""
        return "static" if self.summary.quorum.is_static else "dynamic"

    @property
    def failover_ms(self) -> dict[str, float]:
        """Return the percentiles of the times to the next leader, the longest as p100; empty if none was measured."""
        return failover_ms(self.summary)

    @property
    def figures(self) -> Figures:
        """Return the numbers over all runs."""
        return figures(self.summary)

    @property
    def failures(self) -> list[FailedRun]:
        """Return the first twenty."""
        return [_failure(outcome) for outcome in self.summary.failures]

    to_dict = json_of(
        "verdict", "script=request.script", "profile=request.profile", "release=summary.release", "quorum",
        "voters=summary.quorum.voters", "observers=summary.quorum.observers", "seed=request.seed",
        "runs=summary.runs", "runs_asked=request.runs", "interrupted", "runs_passed=summary.passed", "figures",
        "failures", "shown_seed=summary.shown.seed", "timeline=summary.shown.happenings",
        "timeline_left_out=summary.shown.left_out", "shrunk_script=summary.shrunk",
        "statements_before=summary.faults_before", "statements_after=summary.faults_after", "findings", "html",
        kind="simulate",
    )  # fmt: skip


def ignore_progress(runs: int) -> None:
    """Leave it unsaid."""


def seconds_of(request: SimulationRequest) -> float:
    """Return the estimated seconds of one run in process: of a profile as measured for a virtual minute."""
    return _RUN_S.get(request.profile or "", 0.1) * (request.duration_ms / 60_000 if request.profile else 1)


def simulate(
    request: SimulationRequest,
    *,
    on_progress: Callable[[int], None] = ignore_progress,
    engine: str = "local",
    master: str | None = None,
) -> Simulation:
    """Run a script, or a profile of faults, for each seed; `on_progress` gets how many runs are over, after each.

    With the engine `spark` tasks run a range of seeds each, on `master`, and the result is the same.

    Raises InputError: `invalid-script` with file, line and column; `invalid-simulation` for arguments that do not go
    together; and as `read_input` for the file. An interruption (KeyboardInterrupt) ends it with the runs that are
    over, if there are any.
    """
    _check(request)
    script = None if request.script is None else _read(request.script)
    _check_nodes(request, script)
    asked = Asked(
        script=script,
        profile=request.profile,
        voters=request.voters,
        observers=request.observers,
        release=request.release,
        is_static=request.is_static,
        seed=request.seed,
        runs=request.runs,
        duration_us=request.duration_ms * 1000,
        shrinks=request.shrinks,
    )
    if script is not None:
        quorum, _ = quorum_of(asked)
        check_nodes(script, {*quorum.voters, *quorum.observers})
    counted = _on_spark(asked, master) if engine == "spark" else None
    summary = run_all(asked, on_progress, counted)
    return Simulation(request=request, summary=summary, findings=tuple(_findings(asked, summary)))


def _on_spark(asked: Asked, master: str | None) -> Iterator[Tally]:
    from kafkactl.jobs.session import spark_session
    from kafkactl.jobs.tasks import done_in_tasks

    with spark_session(master, "kafkactl simulate") as session:
        cores = max(1, session.sparkContext.defaultParallelism)
        tallies = done_in_tasks(session, tally_of, ranges_of(asked, _RANGES_OF_A_CORE * cores))
    yield from tallies


def write_page(path: str, found: Simulation) -> Simulation:
    """Write the page with one lane a node, and name it in the result.

    Raises as `kafkactl.report.html.render_html` and `write_report`.
    """
    from kafkactl._version import __version__
    from kafkactl.files.report_files import write_report
    from kafkactl.report.html import MARK, render_html
    from kafkactl.simulator.page.build import report_of

    report = report_of(found.summary, found.findings, _title(found.request), written_by=f"kafkactl {__version__}")
    write_report(Path(path), render_html(report), MARK)
    return changed(found, html=path)


def check_page(path: str | None) -> None:
    """Refuse a target that cannot be written, before anything runs; nothing if no file was named."""
    if path is not None:
        from kafkactl.files.report_files import check_report_target
        from kafkactl.report.html import MARK

        check_report_target(Path(path), MARK)


def _title(request: SimulationRequest) -> str:
    return f"script {Path(request.script).name}" if request.script is not None else f"profile {request.profile}"


def _read(file: str) -> Script:
    data = read_input(Path(file), "the simulation script", InputKind.SCRIPT)
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")  # as editors on Windows begin a file
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{file}, line {line}, column {column}: the byte 0x{data[error.start]:02x} is not UTF-8",
            id="invalid-script",
            next_step="Save the script as UTF-8 text.",
        ) from error
    return parse_script(text, file)


def _check(request: SimulationRequest) -> None:
    if (request.script is None) == (request.profile is None):
        raise _invalid("a simulation needs a script or a profile, not both", "Give --script FILE, or --profile NAME.")
    if request.profile is not None and request.profile not in PROFILES:
        raise _invalid(f"there is no profile {request.profile!r}", f"The profiles are {', '.join(PROFILES)}.")
    if request.release is not None and request.release not in RELEASES:
        raise _invalid(f"release {request.release!r} is not simulated", f"The releases are {', '.join(RELEASES)}.")
    if not 1 <= request.runs <= MOST_RUNS:
        raise _invalid(f"{request.runs} runs were asked for, expected 1 to {MOST_RUNS}", "Give another --runs.")
    if not 0 <= request.seed < 2**63:
        raise _invalid(f"seed {request.seed} is not in 0 to 2^63 - 1", "Give another --seed.")


def _check_nodes(request: SimulationRequest, script: Script | None) -> None:
    voters, observers = request.voters or (), request.observers or ()
    each = (*voters, *observers)
    if len(set(each)) < len(each):
        raise _invalid("a node id is given twice", "Give each node once, as a voter or as an observer.")
    if len(voters) > MAX_VOTERS or len(observers) > MAX_OBSERVERS or any(not 0 <= node <= MAX_ID for node in each):
        limits = f"at most {MAX_VOTERS} voters and {MAX_OBSERVERS} observers, ids from 0 to {MAX_ID}"
        raise _invalid(f"these nodes cannot be simulated: expected {limits}", "Give fewer or other nodes.")
    release = request.release or (script and script.setup.release)
    is_static = request.is_static if request.is_static is not None else (script and script.setup.is_static)
    if release and is_static is False and not find_release(release).voter_flags:
        text = f"Kafka {release} has no dynamic quorum (KIP-853 came with {first_with_dynamic_quorum().name})"
        raise _invalid(text, "Give another release, or `static`.")


def _invalid(message: str, next_step: str) -> InputError:
    return InputError(message, id="invalid-simulation", next_step=next_step)


def _failure(outcome: Outcome) -> FailedRun:
    first = outcome.violations[0] if outcome.violations else None
    unmet = outcome.unmet[0] if outcome.unmet else None
    return FailedRun(
        seed=outcome.seed,
        invariant=None if first is None else first.invariant,
        event=None if first is None else first.event,
        time_us=first.time_us if first else unmet.time_us if unmet else outcome.time_us,
        node=None if first is None else first.node,
        line=None if unmet is None else unmet.line,
        statement=None if unmet is None else unmet.text,
        message=first.text if first else unmet.found if unmet else "",
    )


def _findings(asked: Asked, summary: Summary) -> list[Finding]:
    found: list[Finding] = []
    if summary.ended:
        found.append(_not_finished(asked, summary))
    for outcome in summary.failures[:_SHOWN]:
        for violation in outcome.violations[:1]:
            when = f"event {violation.event} at {violation.time_us / 1_000_000:.6f} s"
            found.append(
                blocker(
                    "invariant-broken",
                    f"seed {outcome.seed}",
                    f"{violation.invariant}, {when}: {violation.text}",
                    seed=outcome.seed,
                    invariant=violation.invariant,
                    event=violation.event,
                )
            )
        for unmet in outcome.unmet:
            found.append(
                blocker(
                    "expectation-not-met",
                    f"seed {outcome.seed}",
                    f"line {unmet.line}, `{unmet.text}` at {unmet.time_us / 1_000_000:.6f} s: {unmet.found}",
                    seed=outcome.seed,
                    line=unmet.line,
                )
            )
    if summary.remarks:
        found.append(_without_effect(asked, summary))
    return found


def _without_effect(asked: Asked, summary: Summary) -> Finding:
    """Report all statements without effect in one finding: one wrong assumption about the quorum can idle many."""
    texts = []
    for remark in summary.remarks[:_SHOWN]:
        first, share = remark.first, "" if asked.runs == 1 else f" (in {remark.runs:,} of {summary.runs:,} runs)"
        texts.append(f"line {first.line}, `{first.text}` at {first.time_us / 1_000_000:.6f} s: {first.found}{share}")
    more = len(summary.remarks) - len(texts)
    return warning(
        "statement-without-effect",
        f"seed {summary.remarks[0].seed}",
        "; ".join(texts) + (f"; and {more} more" if more else ""),
        statements=[
            {"line": remark.first.line, "seed": remark.seed, "runs": remark.runs, "found": remark.first.found}
            for remark in summary.remarks
        ],
    )


def _not_finished(asked: Asked, summary: Summary) -> Finding:
    """Report the missing runs with a command for them: each run has its own seed, so they can be run separately."""
    why = "interrupted" if summary.ended == "interrupted" else "out of time (--timeout)"
    left, first = asked.runs - summary.runs, asked.seed + summary.runs
    if not left:
        text = f"the command was {why} while the first failure was made small"
        return warning("runs-not-finished", "the fewest statements", text, "Run it again, or with --no-shrink.")
    return warning(
        "runs-not-finished",
        f"{left:,} of {asked.runs:,} runs",
        f"the command was {why} after {summary.runs:,} of {asked.runs:,} runs (seeds {asked.seed} to {first - 1})",
        f"Make the rest with `--seed {first} --runs {left}` and the same other options.",
        runs=summary.runs,
        runs_asked=asked.runs,
        next_seed=first,
    )
