"""Run of a scenario of `kafkactl dryrun`, from its input to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from kafkactl.commands.dryrun.answers import give
from kafkactl.commands.dryrun.page import show_prediction

if TYPE_CHECKING:
    from kafkactl.commands.dryrun.options import Common
    from kafkactl.dryrun.api import Observed, Scenario


def answer(common: Common, scenario: Scenario, asked: Any) -> NoReturn:
    """Read the logs, simulate what comes before, simulate the scenario with this `Input`, print the answer."""
    from kafkactl.dryrun.api.answering import Question

    observed = _observed(common, scenario.watches(asked)) if common.from_cluster and scenario.watches else None
    question = Question(scenario=scenario.name, asked=asked, observed=observed)
    give(common, "dryrun.prediction", question, show_prediction)


def _observed(common: Common, added: frozenset[int]) -> Observed:
    """Return the live quorum, if the scenario depends on who is alive now."""
    from kafkactl.commands.framework.connection import open_reading_client
    from kafkactl.dryrun.api.live import observed_quorum

    with open_reading_client(common.connection) as client:
        return observed_quorum(client, added)
