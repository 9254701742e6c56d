"""Import of schemas/**/*.json and schemas/index.json from the jars of released Kafka.

Run it where kafkactl is installed (`pip install -e .`):

    python scripts/import_definitions.py ~/.cache/kafkactl-lab

The folder holds one folder `kafka-RELEASE` with jars for each release. Only facts are taken: names, types, versions,
tags, defaults and the like. Comments and descriptions are dropped; what a message is for is described in
scripts/definitions.toml in our own words, which also says which messages are taken.

Releases are merged by one rule. The newest release that has a message gives its definition. Versions that only
older releases have (KIP-896 dropped some in 4.0) are added to its valid versions, and of the newest release that
still has such a version, every field that the newest definition has lost is put back for those versions alone.
tests/lab/metadata/test_definitions.py proves the result against every release.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli

from kafkactl.protocol.schema.build import build_message
from kafkactl.protocol.schema.dialect import parse_definition, parse_versions
from kafkactl.protocol.schema.spec import NO_VERSIONS, Versions

Definition = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("metadata", "raft", "tiered", "messages")
_DEFINITION_FILE = re.compile(r"(?:.*/)?(?:message|metadata)/[A-Za-z]+\.json")
_OF_A_BROKER = re.compile(r"kafka(?:_2\.13|-clients|-metadata|-raft|-storage)-\d[\d.]*\.jar")
_MESSAGE_KEYS = (
    "apiKey", "type", "listeners", "name", "validVersions", "deprecatedVersions", "flexibleVersions",
    "latestVersionUnstable", "about", "fields", "commonStructs",
)  # fmt: skip
_FIELD_KEYS = (
    "name", "type", "versions", "nullableVersions", "taggedVersions", "tag", "default", "ignorable", "mapKey",
    "entityType", "flexibleVersions", "zeroCopy", "fields",
)  # fmt: skip


def main(cache: Path) -> None:
    """Write every definition file and the index, and remove those that are no longer made."""
    wanted = tomli.loads((ROOT / "scripts" / "definitions.toml").read_text(encoding="utf-8"))
    found = read_releases({folder.name.removeprefix("kafka-"): folder for folder in cache.glob("kafka-[0-9]*")})
    for folder in FOLDERS:
        names = _names(folder, wanted[folder], found)
        _clear(ROOT / "schemas" / folder, keep=names)
        for name in names:
            definition = merged(found[name]) | {"about": wanted[folder][name]}
            build_message(definition)
            (ROOT / "schemas" / folder / f"{name}.json").write_text(rendered(definition), encoding="utf-8")
    index = make_index(wanted, found)
    (ROOT / "schemas" / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def read_releases(folders: Mapping[str, Path]) -> dict[str, dict[str, Definition]]:
    """Return message name -> release -> facts, from the folders of jars by release, oldest release first."""
    found: dict[str, dict[str, Definition]] = {}
    for release in sorted(folders, key=_number):
        for text in definition_texts(folders[release]):
            definition = facts(parse_definition(text, last_key_wins=True))
            found.setdefault(definition["name"], {})[release] = definition
    return found


def definition_texts(folder: Path) -> Iterator[str]:
    """Yield the definition files inside the jars of one release that a broker or controller is made of."""
    for jar in sorted(folder.glob("*.jar")):
        if _OF_A_BROKER.fullmatch(jar.name):
            with zipfile.ZipFile(jar) as archive:
                for name in sorted(archive.namelist()):
                    if _DEFINITION_FILE.fullmatch(name):
                        yield archive.read(name).decode("utf-8")


def facts(definition: Mapping[str, Any]) -> Definition:
    """Return a definition without descriptions, its values written in one way."""
    kept = {key: definition[key] for key in _MESSAGE_KEYS if key in definition and key != "about"}
    kept["fields"] = [_field_facts(field) for field in definition.get("fields", [])]
    structs = [_struct_facts(struct) for struct in definition.get("commonStructs", [])]
    if structs:
        kept["commonStructs"] = structs
    return kept


def _struct_facts(struct: Mapping[str, Any]) -> Definition:
    fields = [_field_facts(field) for field in struct["fields"]]
    return {"name": struct["name"], "versions": struct["versions"], "fields": fields}


def _field_facts(field: Mapping[str, Any]) -> Definition:
    kept = {key: field[key] for key in _FIELD_KEYS if key in field}
    kept.setdefault("versions", field.get("taggedVersions"))
    if "tag" in kept:
        kept["tag"] = int(kept["tag"])  # a text in three of Kafka's files
    for flag in ("ignorable", "mapKey", "zeroCopy"):
        if str(kept.pop(flag, False)).lower() == "true":
            kept[flag] = True
    default = kept.pop("default", None)  # null without quotes means: no default
    if default is not None:
        kept["default"] = default if isinstance(default, str) else json.dumps(default)
    if "fields" in kept:
        kept["fields"] = [_field_facts(inner) for inner in kept["fields"]]
    return {key: kept[key] for key in _FIELD_KEYS if key in kept}


def merged(by_release: Mapping[str, Definition]) -> Definition:
    """Return one definition for all releases, by the rule at the top of this file."""
    releases = list(by_release)
    result = json.loads(json.dumps(by_release[releases[-1]]))
    for release in reversed(releases[:-1]):
        older = by_release[release]
        known, valid = _range(result["validVersions"]), _range(older["validVersions"])
        dropped = _outside(valid, known, result["name"])
        if dropped:
            result["validVersions"] = str(_union(known, valid))
            _restore(result["fields"], older["fields"], dropped)
    return result


def _restore(fields: list[Definition], older: list[Definition], dropped: Versions) -> None:
    """Put lost fields back where they stood, for the dropped versions alone."""
    position = 0
    names = [field["name"] for field in fields]
    for field in older:
        if field["name"] in names:
            position = names.index(field["name"]) + 1
            _restore(fields[position - 1].get("fields", []), field.get("fields", []), dropped)
        elif there := _range(field["versions"]).intersect(dropped):
            fields.insert(position, field | {"versions": str(there)})
            names.insert(position, field["name"])
            position += 1


def _outside(versions: Versions, known: Versions, name: str) -> Versions:
    """Return the versions below the known ones. A version that only an older release has, above them, has no answer."""
    if versions.highest > known.highest:
        raise SystemExit(f"{name}: {versions} goes beyond {known} of a newer release")
    below = Versions(versions.lowest, min(versions.highest, known.lowest - 1))
    return below if below else NO_VERSIONS


def _union(versions: Versions, other: Versions) -> Versions:
    return Versions(min(versions.lowest, other.lowest), max(versions.highest, other.highest))


def _range(text: str) -> Versions:
    return parse_versions(text, "a definition")


def _names(folder: str, wanted: Mapping[str, str], found: Mapping[str, Mapping[str, Definition]]) -> list[str]:
    """Return the messages of one folder; a new metadata record without a description stops the import."""
    records = {name for name, by_release in found.items() if any(map(_is_metadata_record, by_release.values()))}
    if folder == "metadata" and records != set(wanted) | set(_REMOTE_LOG):
        raise SystemExit(f"scripts/definitions.toml and the jars disagree: {records ^ set(wanted) ^ set(_REMOTE_LOG)}")
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise SystemExit(f"not in any jar: {', '.join(missing)}")
    return sorted(wanted)


_REMOTE_LOG = (  # of type metadata too, in the jar kafka-storage, with api keys of their own
    "RemoteLogSegmentMetadataRecord", "RemoteLogSegmentMetadataSnapshotRecord",
    "RemoteLogSegmentMetadataUpdateRecord", "RemotePartitionDeleteMetadataRecord",
)  # fmt: skip


def _is_metadata_record(definition: Definition) -> bool:
    return bool(definition["type"] == "metadata")


def make_index(wanted: Mapping[str, Any], found: Mapping[str, Mapping[str, Definition]]) -> Definition:
    """Return where each message lies and who has which api key, so that reading one message opens one file."""
    index: Definition = {"releases": sorted({release for by in found.values() for release in by}, key=_number)}
    index["folders"] = {folder: sorted(wanted[folder]) for folder in FOLDERS}
    for folder in ("metadata", "tiered"):
        index[folder] = _by_api_key(wanted[folder], found, "metadata")
    for kind in ("request", "response"):
        index[kind] = _by_api_key(wanted["messages"], found, kind)
    index["control_records"] = wanted["control_records"]
    return index


def _by_api_key(names: Mapping[str, str], found: Mapping[str, Mapping[str, Definition]], kind: str) -> dict[str, str]:
    keys: dict[int, str] = {}
    for name in names:
        definition = list(found[name].values())[-1]
        if definition["type"] == kind and keys.setdefault(definition["apiKey"], name) != name:
            raise SystemExit(f"{name} and {keys[definition['apiKey']]} share the api key {definition['apiKey']}")
    return {str(key): keys[key] for key in sorted(keys)}


def rendered(definition: Mapping[str, Any]) -> str:
    """Return the text of a definition file: one line a field, keys in one order."""
    lines = [f'  "{key}": {_value(key, definition[key])}' for key in _MESSAGE_KEYS if key in definition]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(key: str, value: object) -> str:
    if key == "fields":
        return _field_lines(value, "    ")
    if key == "commonStructs":
        return "[\n" + ",\n".join(_item(struct, "    ") for struct in value) + "\n  ]"  # type: ignore[attr-defined]
    return json.dumps(value, ensure_ascii=False)


def _field_lines(fields: Any, indent: str) -> str:
    if not fields:
        return "[]"
    return "[\n" + ",\n".join(_item(field, indent) for field in fields) + f"\n{indent[2:]}]"


def _item(field: Mapping[str, Any], indent: str) -> str:
    facts_of_it = ", ".join(f'"{key}": {json.dumps(value)}' for key, value in field.items() if key != "fields")
    inner = f', "fields": {_field_lines(field["fields"], indent + "  ")}' if "fields" in field else ""
    return f"{indent}{{{facts_of_it}{inner}}}"


def _clear(folder: Path, keep: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    for file in folder.glob("*.json"):
        if file.stem not in keep:
            file.unlink()


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER (with a folder kafka-RELEASE of jars for each release)")
    main(Path(sys.argv[1]))
