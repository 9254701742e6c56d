"""One scenario of `kafkactl dryrun` from its input to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from kafkactl.commands.dryrun.answers import Opened, give, tagged
from kafkactl.commands.dryrun.details import write_html, write_tables
from kafkactl.commands.dryrun.page import show_prediction
from kafkactl.core.answers import plain_values

if TYPE_CHECKING:
    from kafkactl.commands.dryrun.options import Common
    from kafkactl.dryrun.answer import Answer, PredictionDict
    from kafkactl.dryrun.api import Observed, Prediction, Scenario, Verdict


def answer(common: Common, scenario: Scenario, asked: Any) -> NoReturn:
    """Read the logs, simulate what comes before, simulate the scenario with this `Input`, print the answer."""
    from kafkactl.core.frozen import changed
    from kafkactl.dryrun.api import Needs, run
    from kafkactl.dryrun.api.outputs import detail_tables, page_part

    observed = _observed(common, scenario.watches(asked)) if common.from_cluster and scenario.watches else None

    def ask(opened: Opened) -> tuple[Answer, Verdict]:
        context = opened.context if observed is None else changed(opened.context, observed=observed)
        found = run(scenario.name, context, asked)
        prediction = prediction_of(common, found, opened)
        html = tagged(common.html, opened.tag)
        if html is not None:
            part = page_part(plain_values({**opened.frame, **prediction}), found, opened.context)
            write_html(html, [part], opened)
        details = write_tables(common.details, opened, detail_tables(found, opened.context))
        return {**opened.frame, **prediction, "details": details}, found.verdict

    is_restart = scenario.needs is Needs.STARTS
    give(common, "dryrun.prediction", ask, show_prediction, at=scenario.at(asked), restarts=is_restart)


def _observed(common: Common, added: frozenset[int]) -> Observed:
    """Return the live quorum, where the scenario depends on who is alive now."""
    from kafkactl.commands.framework.connection import open_reading_client
    from kafkactl.dryrun.api.live import observed_quorum

    with open_reading_client(common.connection) as client:
        return observed_quorum(client, added)


def prediction_of(common: Common, found: Prediction, opened: Opened) -> PredictionDict:
    """Return the answer of one scenario, but for where the log is from."""
    from kafkactl.dryrun.api.outputs import answer_of

    return answer_of(found, with_records=common.records, facts=opened.context.facts)
