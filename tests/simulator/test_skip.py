"""Passing over calm stretches changes nothing but the number of events."""

from __future__ import annotations

import pytest

from kafkactl.simulator import world
from kafkactl.simulator.campaign import Asked, play, quorum_of
from kafkactl.simulator.run import Outcome


def facts(outcome: Outcome) -> tuple[object, ...]:
    happened = [(row.time_us, row.node, row.kind, row.text) for row in outcome.happenings]
    return (happened, outcome.elections, outcome.epoch, outcome.committed, outcome.time_us, outcome.passed)


@pytest.mark.parametrize("release", ["3.7", "3.9", "4.4"])
@pytest.mark.parametrize("profile", ["rolling-restart", "voter-change", "chaos"])
def test_a_run_is_the_same_without_skipping(monkeypatch, release, profile):
    asked = Asked(profile=profile, release=release)
    quorum, _ = quorum_of(asked)
    skipped = [play(asked, quorum, seed, traced=True) for seed in range(2)]
    monkeypatch.setattr(world, "skip_calm", lambda _world, _until: False)
    stepped = [play(asked, quorum, seed, traced=True) for seed in range(2)]
    assert [facts(outcome) for outcome in skipped] == [facts(outcome) for outcome in stepped]
    if profile == "rolling-restart":
        assert sum(outcome.events for outcome in skipped) < sum(outcome.events for outcome in stepped)
