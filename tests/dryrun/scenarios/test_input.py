"""Parsing of hand-written `--after` files: understood as intended, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.core.errors import InputError
from kafkactl.dryrun.by_name import find_scenario, scenario_names


@pytest.mark.parametrize(
    "scenario, asked, message",
    [
        ("broker-loss", {}, "it needs 'brokers' or 'worst'"),
        ("broker-loss", {"brokers": "2"}, "'brokers' is to be a list of node ids"),
        ("broker-loss", {"brokers": [2], "mood": "slow"}, "it has no field 'mood'"),
        ("broker-loss", {"brokers": [2], "mode": "slow"}, "'mode' is to be 'crash' or 'controlled'"),
        ("broker-loss", {"brokers": [2], "in_order": 1}, "'in_order' is to be true or false"),
        ("broker-loss", {"worst": True}, "'worst' is to be a number"),
        ("rolling-restart", {"order": "3,1"}, "'order' is to be \"auto\" or a list of node ids"),
        ("unregister-broker", {"broker": None}, "it needs 'broker'"),
        ("alter-config", {"entity": "topic:t", "set": {"a": 1}}, "'set' is to be a table of texts"),
        ("alter-config", {"entity": "topic:t"}, "it needs 'set' or 'delete'"),
        ("elect-leaders", {"type": "online"}, "'type' is to be 'preferred' or 'unclean'"),
        ("controllers", {"add": "3:x"}, "'add' is to be a table with an id"),
        ("controllers", {"remove": {"id": 3, "dir": "x"}}, "'remove' is to be a table with an id"),
        ("reassignment", {"moves": [{"topic": "t", "partition": 0}]}, "'moves' is to be a list of tables"),
        ("reassignment", {"moves": [{"topic": "t", "partition": 0, "replicas": ["1"]}]}, "'moves' is to be a list"),
        (
            "features",
            {"operation": "raise", "levels": {}},
            "'operation' is to be 'upgrade' or 'downgrade' or 'disable'",
        ),
        ("features", {"operation": "upgrade", "levels": {"a": "1"}}, "'levels' is to be a table of levels"),
        ("growth", {"days": "30"}, "'days' is to be a number"),
    ],
)
def test_invalid_input_of_a_scenario_is_refused(scenario: str, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        find_scenario(scenario).input_of(asked)
    assert caught.value.id == "invalid-scenario-input"
    assert message in caught.value.message


@pytest.mark.parametrize(
    "scenario, asked",
    [
        ("replay", {"at": None}),
        ("restart", {"node": 1}),
        ("growth", {"days": 30}),
        ("broker-loss", {"brokers": [1, 2], "mode": "controlled", "in_order": True}),
        ("broker-loss", {"worst": 2}),
        ("broker-return", {"brokers": [1], "empty_disks": False, "clean": None}),
        ("rolling-restart", {"order": "auto"}),
        ("rolling-restart", {"order": [2, 1]}),
        ("unregister-broker", {"broker": 0}),
        ("elect-leaders", {"type": "preferred", "topics": ["t:0"]}),
        ("controllers", {"down": [], "lose": [1], "add": None, "remove": None, "cluster_id": None}),
        ("controllers", {"add": {"id": 3, "directory_id": "AAAAAAAAAAAAAAAAAAAAEQ", "endpoint": None}}),
        ("alter-config", {"entity": "cluster", "set": {"a": ""}, "delete": []}),
        ("reassignment", {"moves": [{"topic": "t", "partition": 0, "replicas": None}]}),
        ("features", {"operation": "upgrade", "levels": {}, "unsafe": False, "release_version": "4.3", "down": []}),
    ],
)
def test_valid_input_of_a_scenario_is_read(scenario: str, asked: dict[str, Any]) -> None:
    find_scenario(scenario).input_of(asked)


def test_every_scenario_has_its_fields() -> None:
    for scenario in scenario_names():
        with pytest.raises(InputError, match="it has no field 'nothing'"):
            find_scenario(scenario).input_of({"nothing": 1})
