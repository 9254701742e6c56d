"""Report of every scenario that needs no argument, on one state: `kafkactl dryrun report` as a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from kafkactl.core.frozen import frozen
from kafkactl.dryrun.api.parallel_report import Asked, simulated_ahead
from kafkactl.dryrun.by_name import find_scenario, run, scenario_names
from kafkactl.dryrun.prediction import Prediction, Verdict, heaviest
from kafkactl.dryrun.scenario import ScenarioContext

Kept = TypeVar("Kept")


@frozen
class Report(Generic[Kept]):
    """The worst verdict of all scenarios, and what was kept of the prediction of each, in their order."""

    verdict: Verdict
    predictions: tuple[Kept, ...]


def report(
    context: ScenarioContext, keep: Callable[[int, Prediction], Kept] | None = None, *, processes: int | None = None
) -> Report[Kept]:
    """Report the effects of every scenario without arguments on a cluster in this state.

    These are the content of the log, the state of a starting node, growth, the quorum, a rolling restart,
    preferred elections, and the worst loss of one and of two brokers. `context` is the result of `read_context`
    with `restarts`.

    `keep` maps each prediction, and its number from 1, to the kept value (default: the prediction itself, which is
    large for a large cluster). Of a large cluster several scenarios are simulated at once, each in a process of its
    own, and the results of `keep` are pickled; without `keep`, and with `processes=1`, all scenarios run in this
    process.
    """
    scenarios = list(_scenarios(context))

    def simulated(scenario: str, asked: Any) -> tuple[Verdict, Kept]:
        found = run(scenario, context, asked)
        kept = cast("Kept", found) if keep is None else keep(scenarios.index((scenario, asked)) + 1, found)
        return found.verdict, kept

    at_once = 1 if keep is None else processes
    results = list(simulated_ahead(scenarios, simulated, context.image, processes=at_once))
    return Report(verdict=heaviest([verdict for verdict, _ in results]), predictions=tuple(kept for _, kept in results))


def _scenarios(context: ScenarioContext) -> Iterator[Asked]:
    """Yield the scenarios that need no argument, each with its inputs, in the order of the page."""
    parts = [
        (scenario.report, scenario.name)
        for scenario in map(find_scenario, scenario_names())
        if scenario.report is not None
    ]
    for part, name in sorted(parts, key=lambda row: row[0].place):
        yield from ((name, asked) for asked in part.inputs(context.image))
