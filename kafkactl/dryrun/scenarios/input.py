"""What the input of a scenario looks like: the fields of `input` in its answer, each with what may stand in it.

People write such tables by hand (`--after events.toml`). A field that no scenario knows would be passed over, and a
text where numbers belong would be read letter by letter; both are told before anything is played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kafkactl.dryrun.controller.election import Election
from kafkactl.dryrun.scenarios.broker_loss import LossMode
from kafkactl.errors import InputError
from kafkactl.features.plan.request import Operation


class _Kind(NamedTuple):
    """What a field holds, in words, and the test for it."""

    words: str
    holds: Callable[[Any], bool]


def _list_of(one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(one, value))


def _table_of(key: Callable[[Any], bool], one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(one, value.values()))


def _number(value: Any) -> bool:
    return type(value) is int and value >= 0


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _move(value: Any) -> bool:
    if not isinstance(value, Mapping) or set(value) != {"topic", "partition", "replicas"}:
        return False
    return (
        _text(value["topic"]) and _number(value["partition"]) and (value["replicas"] is None or _ids(value["replicas"]))
    )


def _wish(value: Any) -> bool:
    fields = {"id", "directory_id", "endpoint"}
    if not isinstance(value, Mapping) or not set(value) <= fields or not _number(value.get("id")):
        return False
    return all(value.get(name) is None or _text(value[name]) for name in ("directory_id", "endpoint"))


_ids: Final = _list_of(lambda value: type(value) is int)
_IDS: Final = _Kind("a list of node ids", _ids)
_NUMBER: Final = _Kind("a number", _number)
_TEXT: Final = _Kind("a text", _text)
_TEXTS: Final = _Kind("a list of texts", _list_of(_text))
_YES_OR_NO: Final = _Kind("true or false", lambda value: isinstance(value, bool))
_WISH: Final = _Kind("a table with an id, and a directory_id or an endpoint if need be", _wish)


def _one_of(*known: str) -> _Kind:
    return _Kind(" or ".join(repr(str(one)) for one in known), lambda value: value in known)


_FIELDS: Final[Mapping[str, Mapping[str, _Kind]]] = {
    "replay": {"at": _NUMBER},
    "restart": {"node": _NUMBER},
    "growth": {"days": _NUMBER},
    "broker-loss": {"brokers": _IDS, "mode": _one_of(*LossMode), "in_order": _YES_OR_NO, "worst": _NUMBER},
    "broker-return": {"brokers": _IDS, "empty_disks": _YES_OR_NO, "clean": _YES_OR_NO, "in_order": _YES_OR_NO},
    "rolling-restart": {"order": _Kind('"auto" or a list of node ids', lambda value: value == "auto" or _ids(value))},
    "unregister-broker": {"broker": _NUMBER},
    "elect-leaders": {"type": _one_of(Election.PREFERRED, Election.UNCLEAN), "topics": _TEXTS},
    "controllers": {"down": _IDS, "lose": _IDS, "add": _WISH, "remove": _WISH, "cluster_id": _TEXT},
    "alter-config": {
        "entity": _TEXT,
        "set": _Kind("a table of texts", _table_of(_text, _text)),
        "delete": _TEXTS,
        "through_broker": _YES_OR_NO,
    },
    "reassignment": {"moves": _Kind("a list of tables with topic, partition and replicas", _list_of(_move))},
    "features": {
        "operation": _one_of(*Operation),
        "levels": _Kind("a table of levels", _table_of(_text, _number)),
        "unsafe": _YES_OR_NO,
        "release_version": _TEXT,
        "down": _IDS,
    },
}
# One of each of these has to be there.
_NEEDED: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "growth": (("days",),),
    "broker-loss": (("brokers", "worst"),),
    "broker-return": (("brokers",),),
    "unregister-broker": (("broker",),),
    "alter-config": (("entity",), ("set", "delete")),
    "reassignment": (("moves",),),
    "features": (("operation",), ("levels", "release_version")),
}


def check_input(scenario: str, asked: Mapping[str, Any]) -> None:
    """Raise InputError `invalid-scenario-input` for a field that is unknown, missing, or holds something else.

    A field that is null counts as absent, as in an answer.
    """
    fields = _FIELDS[scenario]
    for name, value in asked.items():
        if name not in fields:
            raise _invalid(scenario, f"it has no field {name!r}")
        if value is not None and not fields[name].holds(value):
            raise _invalid(scenario, f"{name!r} is to be {fields[name].words}")
    for needed in _NEEDED.get(scenario, ()):
        if all(asked.get(name) is None for name in needed):
            raise _invalid(scenario, f"it needs {' or '.join(map(repr, needed))}")


def _invalid(scenario: str, what: str) -> InputError:
    known = ", ".join(_FIELDS[scenario])
    return InputError(
        f"the input of scenario {scenario} is not understood: {what}",
        id="invalid-scenario-input",
        next_step=f"Its fields are those of `input` in the answer of `kafkactl dryrun {scenario}`: {known}.",
    )
