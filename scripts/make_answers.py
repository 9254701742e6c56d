"""Writes schemas/answers/, the published JSON Schemas of the answers: part of `make docs`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from kafkactl.cluster.api.list import NodeList
from kafkactl.cluster.api.registration import UnregisterResult
from kafkactl.cluster.api.settings import SettingsVerification
from kafkactl.commands.models import kinds
from kafkactl.core.findings import Finding
from kafkactl.features.api.cluster import FeatureChange, LevelProof
from kafkactl.features.api.description import FeatureDescription
from kafkactl.features.api.levels import FeatureDependencies, VersionMapping
from kafkactl.quorum.api.change import QuorumChange
from kafkactl.quorum.api.observation import QuorumDescription
from scripts.answers.schema import SchemaMaker

FOLDER: Final = Path(__file__).resolve().parents[1] / "schemas" / "answers"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
COMMAND: Final = "python -m scripts.make_answers"
ANSWERS: Final[dict[str, type]] = {
    "features.change": FeatureChange,
    "features.describe": FeatureDescription,
    "features.feature-dependencies": FeatureDependencies,
    "features.verify": LevelProof,
    "features.version-mapping": VersionMapping,
    "nodes.list": NodeList,
    "nodes.unregister": UnregisterResult,
    "nodes.verify": SettingsVerification,
    "quorum.change": QuorumChange,
    "quorum.describe": QuorumDescription,
    "storage.feature-dependencies": FeatureDependencies,
    "storage.version-mapping": VersionMapping,
}
"""The class of each answer; without a text of `ABOUT` a schema is described by the command."""
ABOUT: Final = {
    "error": "The one object on stderr where a command has no answer (`-o json`).",
}
_HEAD: Final = {
    "schema_version": {
        "description": "Rises when a field goes or changes its meaning.",
        "const": 1,
        "type": "integer",
    }
}


def documents() -> dict[str, str]:
    """Return the text of each file by its name."""
    every = {*kinds(), *ANSWERS, "finding"}
    return {f"{kind}.json": f"{_text(schema(kind))}\n" for kind in sorted(every)}


def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of answer."""
    if kind in kinds() and kind != "finding":
        return _of_model(kind)
    maker = SchemaMaker()
    if kind == "finding":  # one line of -o jsonl, whose kind is that of the answer
        return {"$schema": DIALECT, "title": kind, **maker.of_class(Finding)}
    found = maker.of_class(ANSWERS[kind])
    found["description"] = ABOUT.get(kind, f"`{kind.replace('.', ' ')}`.")
    found["properties"] = {"kind": {"const": kind, "type": "string"}, **_HEAD, **found["properties"]}
    found["required"] = ["kind", *_HEAD, *found["required"]]
    defs = {"$defs": dict(sorted(maker.defs.items()))} if maker.defs else {}
    return {"$schema": DIALECT, "title": kind, **found, **defs}


def _of_model(kind: str) -> dict[str, Any]:
    found = _without_titles(kinds()[kind].model_json_schema())
    parts = {name: found[name] for name in ("description", "type", "properties", "required")}
    defs = {"$defs": found["$defs"]} if "$defs" in found else {}
    return {"$schema": DIALECT, "title": kind, **parts, **defs}


def _without_titles(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_titles(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        name: {field: _without_titles(item) for field, item in value.items()}
        if name in ("properties", "$defs")
        else _without_titles(value)
        for name, value in part.items()
        if name not in ("title", "default", "additionalProperties")
        or (name == "additionalProperties" and value is not True)
    }


def _text(part: Any, indent: str = "") -> str:
    """Return JSON with one line a field, so that a changed answer is a small diff."""
    if not isinstance(part, dict) or not {"properties", "$defs"} & set(part):
        return json.dumps(part, ensure_ascii=False)
    below = f"{indent} "
    lines = []
    for name, value in part.items():
        text = _text(value, below)
        if name in ("properties", "$defs"):
            items = (f"{below} {json.dumps(key)}: {_text(item, f'{below} ')}" for key, item in value.items())
            text = "{\n" + ",\n".join(items) + f"\n{below}}}"
        lines.append(f"{below}{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def main() -> None:
    """Write the files, and remove those that are no longer made."""
    FOLDER.mkdir(exist_ok=True)
    made = documents()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for path in FOLDER.glob("*.json"):
        if path.name not in made:
            path.unlink()


if __name__ == "__main__":
    main()
