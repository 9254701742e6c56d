"""Dynamic listeners, addresses before and after a KRaft restart, and logins at the quorum before the copy."""

from __future__ import annotations

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed
from kafkactl.metadata.image.model import Listener
from kafkactl.migration.checks.registry import check
from kafkactl.migration.observed.observation import Observation
from tests.migration.observations import World, world
from tests.migration.zk_trees import config

_SAME = "PLAINTEXT://127.0.0.1:9091,SASL://127.0.0.1:9191"
_OTHER = "PLAINTEXT://b1.example:9091,SASL://127.0.0.1:9191"


def _found(observation: Observation, id: str) -> list[Finding]:
    return [finding for finding in check(observation) if finding.id == id]


def _dynamic(name: str, value: str) -> World:
    return world(name).znode("/config/brokers/1", config(**{"advertised.listeners": value}))


def test_dynamic_listeners_that_equal_the_file_are_accepted() -> None:
    assert _found(_dynamic("M0", _SAME).observation(), "dynamic-listeners-not-in-kraft") == []


def test_remedy_writes_the_file_before_the_dynamic_value_is_deleted() -> None:
    (found,) = _found(_dynamic("M0", _OTHER).observation(), "dynamic-listeners-not-in-kraft")
    step = found.next_step
    assert step.index(f"advertised.listeners={_OTHER}") < step.index("--delete-config advertised.listeners")


def test_dynamic_listeners_in_the_file_too_are_accepted() -> None:
    seen = _dynamic("M0", _OTHER).file(1, "advertised.listeners", _OTHER)
    assert _found(seen.observation(), "dynamic-listeners-not-in-kraft") == []


def _registered(before: str, now: str) -> Observation:
    seen = world("M7").observation()
    (id, log), *_ = seen.logs.items()
    held = log.registrations[1]
    listeners = tuple(
        (Listener(name="PLAINTEXT", host=host, port=9091, security_protocol=0),) for host in (before, now)
    )
    moved = changed(held, endpoints_before_kraft=listeners[0], endpoints=listeners[1])
    return changed(seen, logs={id: changed(log, registrations={**log.registrations, 1: moved})})


def test_changed_address_of_a_registration_on_kraft_is_reported() -> None:
    (found,) = _found(_registered("b1.example", "127.0.0.1"), "advertised-address-changed")
    assert "b1.example:9091 -> 127.0.0.1:9091" in found.message
    assert _found(_registered("127.0.0.1", "127.0.0.1"), "advertised-address-changed") == []


def test_scram_of_controllers_is_reported_before_the_copy_alone() -> None:
    protocols = "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
    for name, count in (("M2", 1), ("M6", 0)):
        seen = world(name).file(3001, "listener.security.protocol.map", protocols)
        seen = seen.file(3001, "sasl.mechanism.controller.protocol", "SCRAM-SHA-256")
        assert len(_found(seen.observation(), "scram-on-controller-listener")) == count
