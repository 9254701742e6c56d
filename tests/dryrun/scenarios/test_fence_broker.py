from __future__ import annotations

from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.prediction import Verdict
from kafkactl.dryrun.scenario import ScenarioContext
from tests.dryrun.clusters import cluster
from tests.dryrun.scenarios.test_growth import loaded

HOSTILE_LINES = {"dryrun fence-broker": ("{log} --broker 1",)}

INPUTS = {"fence-broker": [{"broker": 1}, {"broker": 77}]}


def test_leader_moves_away_from_a_fenced_broker() -> None:
    image, facts = cluster("brokers 1 2\ntopic a\n  1 | 1 2 | 1 2")
    found = run("fence-broker", ScenarioContext(loaded=loaded(image=image)[0], facts=facts), {"broker": 1})
    assert (found.verdict, found.changes[0].leader_after) == (Verdict.DEGRADED, 2)
