"""Kafka's JSON dialect: JSON with whole-line `//` comments, and version ranges as texts.

Source: `clients/src/main/resources/common/message/README.md` and the files next to it. Version texts are `N`, `N+`,
`N-M` and `none`; nothing else is taken, so a definition cannot have a hole in its versions.
"""

from __future__ import annotations

import json
from typing import Any

from kafkactl.core.errors import SchemaError
from kafkactl.protocol.schema.spec import NO_VERSIONS, Versions


def parse_definition(text: str, *, last_key_wins: bool = False) -> dict[str, Any]:
    """Parse one definition as plain data: an object without repeated keys.

    `last_key_wins` lets them, as Kafka's own reader does (Jackson); its DescribeTopicPartitions files of 3.8 and 3.9
    say `versions` twice in one field. Raises SchemaError `invalid-definition`.
    """
    lines = ("" if line.lstrip().startswith("//") else line for line in text.split("\n"))
    try:
        definition = json.loads("\n".join(lines), object_pairs_hook=dict if last_key_wins else _object)
    except json.JSONDecodeError as error:
        raise invalid(f"line {error.lineno} is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise invalid("the definition is nested too deeply") from error
    if not isinstance(definition, dict):
        raise invalid("expected an object")
    return definition


def parse_versions(text: object, where: str) -> Versions:
    """Return a version range: `3`, `3+`, `3-5` or `none`; `where` names the place in an error.

    >>> parse_versions("1+", "here").highest
    32767
    """
    if text == "none":
        return NO_VERSIONS
    start, dash, end = text.partition("-") if isinstance(text, str) else ("", "", "")
    is_open = not dash and start.endswith("+")
    start = start.removesuffix("+") if is_open else start
    if not _is_number(start) or (dash and not _is_number(end)):
        raise invalid(f"{where}: {text!r} is not a version range; expected N, N+, N-M or none")
    lowest = int(start)
    highest = Versions.OPEN_END if is_open else int(end) if dash else lowest
    if not lowest <= highest <= Versions.OPEN_END:
        raise invalid(f"{where}: the version range {text!r} runs backwards or past {Versions.OPEN_END}")
    return Versions(lowest, highest)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")


def invalid(message: str) -> SchemaError:
    """Return the error of an invalid definition."""
    return SchemaError(message, id="invalid-definition", next_step="This is a bug of kafkactl: please report it.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise invalid(f"the key {name!r} stands twice in one object")
        found[name] = value
    return found
