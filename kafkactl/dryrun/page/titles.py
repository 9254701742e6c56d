"""Titles of answers for people: a sentence about what happens, not the arguments of a command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkactl.dryrun.by_name import find_scenario, scenario_names

_ZK_MIGRATION: Final = "zk-migration"  # It is about znodes, and no scenario on a metadata log.


def title_of(answer: Mapping[str, Any]) -> str:
    """Return the title of an answer `dryrun.prediction`; the name of a scenario that this build does not know.

    >>> title_of({"scenario": "broker-loss", "input": {"brokers": [3, 4], "mode": "crash", "in_order": False}})
    'Loss of brokers 3, 4'
    """
    name: str = answer["scenario"]
    if name == _ZK_MIGRATION:
        return "The copy from ZooKeeper"
    return find_scenario(name).title(answer["input"]) if name in scenario_names() else name
