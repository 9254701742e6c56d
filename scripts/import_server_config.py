"""Import of schemas/config/server.json and topics.json: every key of nodes and topics, by release, from the jars.

    python scripts/import_server_config.py ~/.cache/kafkactl-lab/kafka-3.3.2 … ~/.cache/kafkactl-lab/kafka-4.4.0

Each folder holds the jars of one release and is named kafka-VERSION; give one of each release, oldest first. Needs
a JDK. A key has one row for each stretch of releases in which its definition stayed the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(__file__).with_name("ServerConfig.java")
TARGETS = {"server": ROOT / "schemas" / "config" / "server.json", "topic": ROOT / "schemas" / "config" / "topics.json"}
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

Definitions = dict[str, dict[str, Any]]


def main(folders: Sequence[Path]) -> None:
    """Write both tables of the releases in the folders."""
    for kind, target in TARGETS.items():
        releases = {release_of(folder): definitions("java", folder, kind) for folder in folders}
        target.write_text(rendered(merged(releases), list(releases)), encoding="utf-8")


def definitions(java: str, jars: Path, kind: str = "server") -> Definitions:
    """Return the keys of the release in the folder, in the order in which Kafka checks them: of a server or a topic."""
    command = [java, *_JVM, "-cp", f"{jars}/*", str(SOURCE), kind]
    return parsed(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def parsed(printed: str) -> Definitions:
    """Return what ServerConfig.java prints, by key."""
    return dict(_parsed(line) for line in printed.splitlines())


def _parsed(line: str) -> tuple[str, dict[str, Any]]:
    name, type_, default, *validator = line.split("\t")
    row: dict[str, Any] = {"type": type_}
    if default == "NONE":
        row["required"] = True
    elif default != "null" and not name.endswith(".protocol.version"):  # that default is the release itself
        row["default"] = _default(type_, default)
    if check := _check(validator):
        row["check"] = check
    return name, row


def _default(type_: str, text: str) -> str:
    if type_ == "LIST":
        return text.strip("[]").replace(", ", ",")
    return text.removeprefix("class ")


_NAMED_CHECKS = {
    "NonEmptyString": "non-empty",
    "NonNullValidator": "non-null",
    "MetadataVersionValidator": "metadata-version",
    "ControllerQuorumVotersValidator": "quorum-voters",
    "ControllerQuorumBootstrapServersValidator": "bootstrap-servers",
    "ThrottledReplicaListValidator": "throttled-replicas",
}


def _check(validator: Sequence[str]) -> Any:
    """Return what a validator asks, as data; None if there is none. An unknown validator is an error of this
    script."""
    if validator in ([], [""]):
        return None
    kind = validator[0].rstrip("$")  # 3.3: a Scala object
    fields = dict(item.split("=", 1) for item in validator[1:])
    if kind in _NAMED_CHECKS:
        return _NAMED_CHECKS[kind]
    if kind == "Range":
        return {key: _number(fields[key]) for key in ("min", "max") if fields[key] != "null"}
    for start, range_ in _LAMBDA_CHECKS.items():
        if fields["words"].startswith(start):
            return range_
    return _choices(validator, fields)


# Validators without fields, known by the beginning of their words: levels of gzip; thread pools of tiered storage.
_LAMBDA_CHECKS = {
    "[1,...,9] or -1": {"min": 1, "max": 9, "or": -1},
    "The default value of -1": {"min": 1, "or": -1},
}


def _choices(validator: Sequence[str], fields: Mapping[str, str]) -> dict[str, Any]:
    if "validStrings" not in fields:
        raise ValueError(f"unknown validator {validator}")
    values = [value for value in fields["validStrings"].strip("[]").split(", ") if value]
    if validator[0] == "ValidString":
        return {"one_of": values}
    if validator[0] == "CaseInsensitiveValidString":
        return {"one_of": sorted(values), "any_case": True}
    found: dict[str, Any] = {"items": values or None}
    if "isEmptyAllowed" in fields:  # since 4.2: no duplicates, no empty items
        found |= {"distinct": True, "empty": fields["isEmptyAllowed"] == "true"}
    return found


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def merged(releases: Mapping[str, Definitions]) -> list[dict[str, Any]]:
    """Return rows with `from` and `to` (release names, left out at either end of the known releases)."""
    names = list(releases)
    rows: list[dict[str, Any]] = []
    for key in _order(releases.values()):
        rows += _stretches(key, [releases[name].get(key) for name in names], names)
    return rows


def _order(all_definitions: Iterable[Definitions]) -> list[str]:
    """Return one order for all: that of the newest release, older keys behind the key they followed."""
    newest, *older = list(all_definitions)[::-1]
    order = list(newest)
    for definitions_ in older:
        previous = None
        for key in definitions_:
            if key not in order:
                order.insert(order.index(previous) + 1 if previous else 0, key)
            previous = key
    return order


def _stretches(key: str, found: Sequence[dict[str, Any] | None], names: Sequence[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for position, row in enumerate(found):
        if row is None:
            continue
        if position and row == found[position - 1]:
            rows[-1].pop("to", None)
        else:
            rows.append({"name": key, **row} | ({"from": names[position]} if position else {}))
        if position + 1 < len(names):
            rows[-1]["to"] = names[position]
    return rows


def rendered(rows: Iterable[dict[str, Any]], releases: Sequence[str]) -> str:
    """Return the table as JSON, one line a row."""
    head = f'{{"made_by": "scripts/import_server_config.py", "releases": {json.dumps(releases)}, "keys": [\n'
    return head + ",\n".join(json.dumps(row) for row in rows) + "\n]}\n"


def release_of(folder: Path) -> str:
    """Return the name of the release whose jars the folder holds."""
    version = folder.name.removeprefix("kafka-")
    return ".".join(version.split(".")[:2])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER… (kafka-VERSION with its jars, oldest first)")
    main([Path(argument) for argument in sys.argv[1:]])
