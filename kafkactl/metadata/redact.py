"""What of a record is a secret: SCRAM keys, delegation tokens, values of configurations that hold passwords.

Records keep all of these in the clear. Which fields they are, and which words in the name of a configuration make its
value one, stands in schemas/config/secrets.json; for what a release of Kafka defines, its type decides (PASSWORD in
schemas/config/server.json), as in `metadata/util/RecordRedactor.java`. A configuration that no release defines is a
secret only by its name: one of a plugin would otherwise never be seen.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from kafkactl.schema.source import read_data

REDACTED = "<redacted>"
CONFIG_RECORD = "ConfigRecord"
_PASSWORD = "PASSWORD"


def redacted(record_type: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """A record's JSON (keys as in the definition) without its secrets. What is absent or empty stays so."""
    hidden = dict(data)
    for name in secret_fields(record_type):
        if name in hidden:
            hidden[name] = REDACTED
    if record_type == CONFIG_RECORD and hidden.get("Value") and is_secret_config(str(hidden.get("Name"))):
        hidden["Value"] = REDACTED
    return hidden


def redacted_part(part: str, value: Any) -> Any:
    """A part of an image's JSON (`image_json`) without its secrets."""
    if part == "configs":
        return [{**one, "Configs": redacted_configs(one["Configs"])} for one in value]
    record_type = _RECORD_OF_PART.get(part)
    return value if record_type is None else [redacted(record_type, one) for one in value]


def redacted_configs(configs: Mapping[str, str]) -> dict[str, str]:
    """Configurations of a resource by name, without passwords."""
    return {name: REDACTED if value and is_secret_config(name) else value for name, value in configs.items()}


_RECORD_OF_PART = {"scram": "UserScramCredentialRecord", "delegation_tokens": "DelegationTokenRecord"}
SECRET_PARTS = frozenset({"configs", *_RECORD_OF_PART})


def secret_fields(record_type: str) -> tuple[str, ...]:
    """The fields of a record that are withheld whatever they hold."""
    return tuple(_rules()["record_fields"].get(record_type, ()))


@functools.lru_cache(maxsize=4096)
def is_secret_config(name: str) -> bool:
    """Whether the value of a configuration is a password, a key or a token.

    A listener's own configuration (`listener.name.NAME.[MECHANISM.]KEY`) is what its key is.
    """
    key_types = _types()
    if name in key_types:
        return key_types[name] == _PASSWORD
    lowered = name.lower()
    if any(lowered.endswith(f".{key}") for key, kind in key_types.items() if kind == _PASSWORD):
        return True
    return any(word in lowered for word in _rules()["config_words"])


@functools.cache
def _rules() -> dict[str, Any]:
    rules: dict[str, Any] = json.loads(read_data("config/secrets.json"))
    return rules


@functools.cache
def _types() -> dict[str, str]:
    """The type of every defined key; a password in one release is one in all."""
    found: dict[str, str] = {}
    for row in json.loads(read_data("config/server.json"))["keys"]:
        if found.get(row["name"]) != _PASSWORD:
            found[row["name"]] = row["type"]
    return found
