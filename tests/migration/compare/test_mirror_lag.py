"""The mirror's lag is one rule for everything that compares: `compare`, a rollback, and the driver before the end."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role, Uuid
from kafkactl.migration.compare.case import Difference
from kafkactl.migration.compare.comparison import compare_observation
from kafkactl.migration.compare.phase import LAG_ALLOWED_MS, MIRROR_LAG
from kafkactl.migration.driver.guards import _compared
from kafkactl.migration.observed.log_facts import Mirror
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.step import Move, Step
from tests.migration.observations import END, migration, world

_NEW = Uuid(bytes(15) + b"\x09")
_STEP = Step(action=Move.PUT_CONFIG, target="broker 1", gate="", why="", node=1, role=Role.BROKER)
_TOPIC = [("TopicRecord", {"Name": "just-made", "TopicId": _NEW})]


def made_behind(name: str, *, behind_ms: int | None, controller: bool = True) -> Observation:
    """Return a case in which a topic was made at the end of the log, which ZooKeeper, some records behind, does not
    have yet.

    `behind_ms` None: the state of the log at the mirror's offset is unknown.
    """
    seen = world(name)
    before = changed(seen.image, features={"metadata.version": 20}, zk_migration_state=1)
    seen.znode("/migration", migration(END - 5))
    seen.replayed(*_TOPIC, offset=END - 3).logged(last_change_offset=END - 3)
    seen.controllers = {3001: controller}
    mirror = None if behind_ms is None else Mirror(offset=END - 5, image=before, behind_ms=behind_ms)
    return changed(seen.observation(), mirror=mirror)


def _topics(differences: Iterable[Difference]) -> list[Difference]:
    """Return the topics: the image of these observations has no brokers."""
    return [difference for difference in differences if difference.entity == "topic"]


@pytest.mark.parametrize("name", ["M6", "M7", "M8"])
def test_change_younger_than_the_mirror_blocks_nothing(name: str):
    seen = made_behind(name, behind_ms=400)
    (difference,) = _topics(compare_observation(seen).differences)
    assert (difference.key, difference.rule) == ("just-made", MIRROR_LAG)
    plan = plan_rollback(seen)
    assert plan.outcome is Outcome.PLANNED
    assert "zookeeper-misses-metadata" not in {finding.id for finding in plan.findings}
    assert name != "M8" or "zookeeper-and-kraft-differ" not in {finding.id for finding in _compared(seen, _STEP)}


@pytest.mark.parametrize("name", ["M6", "M7", "M8"])
@pytest.mark.parametrize(
    ("behind_ms", "controller"),
    [(LAG_ALLOWED_MS + 1, True), (None, True), (400, False)],
    ids=["a mirror that stands still", "nobody knows", "no controller is left to write it"],
)
def test_difference_that_the_mirror_does_not_resolve_blocks_every_step(
    name: str, behind_ms: int | None, controller: bool
):
    seen = made_behind(name, behind_ms=behind_ms, controller=controller)
    (difference,) = _topics(compare_observation(seen).unexplained)
    assert difference.key == "just-made"
    plan = plan_rollback(seen)
    assert plan.outcome is Outcome.REFUSED
    if controller or name == "M6":  # on KRaft or without controllers, another finding refuses it as well
        assert "zookeeper-misses-metadata" in {finding.id for finding in plan.findings}
    assert "zookeeper-and-kraft-differ" in {finding.id for finding in _compared(seen, _STEP)}
