"""Plans for clusters whose brokers left KRaft for ZooKeeper mode while a quorum is active."""

from __future__ import annotations

from kafkactl.migration.checks.registry import check
from kafkactl.migration.steps.forward import plan_forward
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.table import observed_state
from tests.migration.observations import World, world
from tests.migration.state.states_seen import HEALTHY, KR, ZK

_FALLEN = HEALTHY["M8"].but(modes={1: ZK, 2: KR, 3: KR}, fenced=(1,))
_MIGRATION = ["restore-config broker 1 (migration)", "restart-node broker 1 (migration)"]


def _words(way) -> list[str]:
    return [step.words for step in way.pending]


def test_rollback_takes_a_fallen_broker_through_migration_mode_first() -> None:
    words = _words(plan_rollback(_FALLEN.observation()))
    assert words[:2] == _MIGRATION
    assert words.index("restart-node broker 1 (original)") > words.index("stop-controllers controllers 3001")


def test_forward_plan_takes_a_fallen_broker_through_migration_mode_first() -> None:
    words = _words(plan_forward(_FALLEN.observation()))
    assert words[:2] == ["put-config broker 1 (migration)", "restart-node broker 1 (migration)"]
    assert not any("controller 3001 (final)" in word for word in words[:4])


def test_quorum_without_brokers_is_stopped_first() -> None:
    seen = HEALTHY["M6"].but(modes=dict.fromkeys((1, 2, 3), ZK), end=900).observation()
    way = plan_rollback(seen)
    assert _words(way)[0] == "stop-controllers controllers 3001"
    assert not any("is kept" in text for text in way.consequences)
    assert plan_forward(seen).steps == ()


def test_no_remedy_of_a_quorum_without_brokers_starts_a_broker() -> None:
    seen = world("M6").but(modes=dict.fromkeys((1, 2), ZK), ready={1: False, 2: False, 3001: True}).observation()
    assert observed_state(seen).state == "quorum-without-brokers"
    assert not any(finding.id == "registered-broker-without-flag" for finding in check(seen))


def _steps_of(seen: World) -> str:
    return " ".join(finding.next_step for finding in check(seen.observation()))


def test_no_check_in_dual_write_advises_to_format_the_quorum() -> None:
    worlds = (
        world("M6").but(ready={1: False, 3001: True}),
        world("M8").but(modes={1: ZK, 2: KR}),
        world("M6").file(2, "inter.broker.protocol.version", "3.9"),
        world("M6").no_znode("/brokers/ids/1"),
    )
    for seen in worlds:
        assert "format" not in _steps_of(seen).lower()
