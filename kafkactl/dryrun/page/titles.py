"""Titles of scenarios for people: a sentence about what happens, not the arguments of a command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kafkactl.core.wording import counted, first_few, plural

_SHOWN: Final = 4
Input = Mapping[str, Any]


def title_of(answer: Mapping[str, Any]) -> str:
    """Return the title of an answer `dryrun.prediction`.

    >>> title_of({"scenario": "broker-loss", "input": {"brokers": [3, 4], "mode": "crash", "in_order": False}})
    'Loss of brokers 3, 4'
    """
    title = _TITLES.get(answer["scenario"])
    return answer["scenario"] if title is None else title(answer["input"])


def _ids(what: str, ids: Iterable[Any]) -> str:
    listed = [str(number) for number in ids]
    return f"{plural(what, len(listed))} {first_few(listed, _SHOWN)}"


def _broker_loss(asked: Input) -> str:
    how = ", shut down one by one" if asked.get("mode") == "controlled" else ""
    worst = asked.get("worst")
    if worst is not None:
        return f"Loss of the worst broker{how}" if worst == 1 else f"Loss of the {worst} worst brokers{how}"
    order = ", in this order" if asked.get("in_order") else ""
    return f"Loss of {_ids('broker', asked.get('brokers') or ())}{order}{how}"


def _broker_return(asked: Input) -> str:
    disks = " with empty disks" if asked.get("empty_disks") else ""
    return f"Return of {_ids('broker', asked.get('brokers') or ())}{disks}"


def _rolling_restart(asked: Input) -> str:
    order = asked.get("order")
    if isinstance(order, str) or order is None:
        return "Rolling restart of all brokers in the safest order"
    return f"Rolling restart of {_ids('broker', order)}"


def _elect_leaders(asked: Input) -> str:
    which = "Unclean election of leaders" if asked.get("type") == "unclean" else "Election of preferred leaders"
    topics = asked.get("topics")
    return f"{which} of {first_few(topics, _SHOWN)}" if topics else f"{which} of all partitions"


def _controllers(asked: Input) -> str:
    down = asked.get("down")
    while_down = f" without an answer of {_ids('controller', down)}" if down else ""
    if asked.get("lose"):
        return f"Loss of {_ids('controller', asked['lose'])}{while_down}"
    for verb, name in (("added to", "add"), ("removed from", "remove")):
        if asked.get(name):
            return f"Controller {_node(asked[name])} {verb} the voters{while_down}"
    return f"The quorum as it is{while_down}"


def _node(change: Any) -> str:
    text = str(change.get("node_id", change.get("id", ""))) if isinstance(change, Mapping) else str(change)
    return text.partition(":")[0]


def _alter_config(asked: Input) -> str:
    pairs = [f"{key}={value}" for key, value in dict(asked.get("set") or {}).items()]
    pairs += [f"{key} deleted" for key in asked.get("delete") or ()]
    return f"Settings of {asked.get('entity')}: {first_few(pairs, _SHOWN)}"


def _features(asked: Input) -> str:
    if asked.get("release_version"):
        what = f"the levels of {asked['release_version']}"
    else:
        levels = dict(asked.get("levels") or {})
        what = first_few([f"{name}={level}" for name, level in levels.items()], _SHOWN)
    verb = {"upgrade": "Upgrade", "downgrade": "Downgrade", "disable": "Disabling"}.get(
        str(asked.get("operation")), "Change"
    )
    how = ", unsafe" if asked.get("unsafe") else ""
    return f"{verb} of {what}{how}" if verb == "Disabling" else f"{verb} to {what}{how}"


def _restart(asked: Input) -> str:
    return "Start of a node from this log" if asked.get("node") is None else f"Start of node {asked['node']}"


def _at(asked: Input) -> str:
    return "The metadata log" if asked.get("at") is None else f"The metadata log up to offset {asked['at']}"


_TITLES: Final[Mapping[str, Callable[[Input], str]]] = {
    "alter-config": _alter_config,
    "broker-loss": _broker_loss,
    "broker-return": _broker_return,
    "controllers": _controllers,
    "elect-leaders": _elect_leaders,
    "features": _features,
    "growth": lambda asked: f"Growth of the log in {counted(asked.get('days', 0), 'day')}",
    "reassignment": lambda asked: f"Reassignment of {counted(len(asked.get('moves', ())), 'partition')}",
    "replay": _at,
    "restart": lambda asked: (
        "Start of a node from this log" if asked.get("node") is None else f"Start of node {asked['node']}"
    ),
    "rolling-restart": _rolling_restart,
    "unregister-broker": lambda asked: f"Unregistration of broker {asked.get('broker')}",
    "zk-migration": lambda _: "The copy from ZooKeeper",
}
