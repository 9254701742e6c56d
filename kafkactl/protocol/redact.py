"""The one redactor: what of records, configurations and texts is a secret.

Records keep SCRAM keys, delegation tokens and the values of configurations in the clear. For configurations Kafka's own
rule holds (`KafkaConfigSchema.isSensitive`, which `metadata/util/RecordRedactor.java` asks): what no release defines
for that kind of resource is a secret, as is what one defines as a PASSWORD. Types are data: schemas/config/server.json
and resources.json, and for the rest secrets.json. A listener's own configuration is what its key is.

A value of a public configuration is a secret, too, if it looks like one: a login in an address, a PEM block, a login
module, a setting whose name says so (`password=…`). These screens take time linear in the length of the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

REDACTED = "<redacted>"
CONFIG_RECORD = "ConfigRecord"
PEM_BEGIN = "-----BEGIN"
TOPIC, BROKER = 2, 4
_PASSWORD = "PASSWORD"
_PLAIN_TYPES: Final = frozenset({"BOOLEAN", "INT", "SHORT", "LONG", "DOUBLE"})
_UNIT: Final = (
    r"[a-z%]{1,3}|bytes?|days?|hours?|minutes?|mins?|seconds?|secs?|milliseconds?|millis|weeks?|months?|years?"
)
_PLAIN_VALUE: Final = re.compile(
    r"(?i)([\"']?)("
    rf"[-+]?[0-9][0-9_.,]{{0,30}}(e[-+]?[0-9]+|\s?({_UNIT}))?|[-+]?0[xbo][0-9a-f_]{{1,16}}l?"
    r"|[0-9]{1,20}(\s?\*\s?[0-9]{1,20}){1,6}|[a-z]{1,3}|true|false|none|null|enabled?|disabled?|auto|default"
    r"|unlimited|infinit[ey]|infinity|never|\$\{[^{}]*\}|\{\{[^{}]{0,200}\}\}|<(no value|nil|none|null)>|"
    r")\1"
)


def redacted(record_type: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's JSON (`json_form`) without its secrets. What is absent or empty stays so."""
    from kafkactl.protocol.schema.spec import json_name  # error texts are redacted, too, and need no definitions

    hidden = dict(data)
    for name in map(json_name, secret_fields(record_type)):
        if name in hidden:
            hidden[name] = REDACTED
    if record_type == CONFIG_RECORD and "value" in hidden:
        hidden["value"] = shown_config(hidden.get("resourceType"), str(hidden.get("name")), hidden["value"])
    return hidden


def redacted_part(part: str, value: Any) -> Any:
    """Return a part of an image's JSON (`image_json`) without its secrets."""
    if part == "configs":
        return [{**config, "configs": redacted_configs(config["resourceType"], config["configs"])} for config in value]
    record_type = _RECORD_OF_PART.get(part)
    return value if record_type is None else [redacted(record_type, entry) for entry in value]


def redacted_key(part: str, key: str) -> str:
    """Return the key of a thing in a part of an image as it may be shown: the id of a delegation token is a secret."""
    return REDACTED if part == "delegation_tokens" else key


def redacted_configs(kind: int | None, configs: Mapping[str, str]) -> dict[str, str]:
    """Return configurations by name, of a resource of this kind (`ConfigResource.Type`), without secrets."""
    return {name: shown_config(kind, name, value) for name, value in configs.items()}


_RECORD_OF_PART = {"scram": "UserScramCredentialRecord", "delegation_tokens": "DelegationTokenRecord"}
SECRET_PARTS = frozenset({"configs", *_RECORD_OF_PART})


def secret_fields(record_type: str) -> tuple[str, ...]:
    """Return the fields of a record, named as in its definition, that are withheld whatever they hold."""
    return tuple(_rules()["record_fields"].get(record_type, ()))


def shown_config(kind: int | None, name: str, value: Any) -> Any:
    """Return the value of a configuration as it may be shown. What is absent or empty stays so."""
    return REDACTED if value and is_hidden_config(kind, name, str(value)) else value


@functools.lru_cache(maxsize=4096)
def is_secret_config(kind: int | None, name: str) -> bool:
    """Return True unless a release defines the configuration as public for this kind (`ConfigResource.Type`)."""
    return _type(kind, name) in (None, _PASSWORD)


def is_secret_setting(name: str, value: str) -> bool:
    """Return True if a line of a node's server.properties holds a secret, in its key or its value."""
    if shown_key(name) != name or is_secret_text(f"{name} {value}"):
        return True
    return bool(value) and is_hidden_config(BROKER, name, value)


def is_hidden_config(kind: int | None, name: str, value: str) -> bool:
    """Return True if a configuration is not public, or its value looks like a secret or is on the wrong line."""
    return is_secret_config(kind, name) or is_secret_text(value) or is_misplaced(_type(kind, name), value)


def is_misplaced(type_: str | None, value: str) -> bool:
    """Return True if a setting of this type (in Kafka's words) is a number or true or false, and the value is neither.

    Such a value may be a password on the wrong line. Shown is what an operator has to correct: a number with a unit, in
    another base (`0x10`), in quotes or as a product, a usual word for a switch or a limit, a variable, the rest of a
    template.
    """
    return type_ in _PLAIN_TYPES and _PLAIN_VALUE.fullmatch(value.strip()) is None


def shown_key(name: str) -> str:
    """Return a key of server.properties as it may be shown: which keys are set stays known, but a line of a key block
    that Java reads as a key is not repeated.
    """
    if is_defined_setting(name):
        return name
    looks_like_one = all(len(word) <= _LONGEST_WORD for word in name.split("."))
    return name if looks_like_one and not is_secret_text(name) else REDACTED


def continues_block(text: str, *, is_in_block: bool) -> bool:
    """Return True if the next line is part of a PEM block, too."""
    begin, end = text.rfind(PEM_BEGIN), text.rfind("-----END")
    return begin > end if max(begin, end) >= 0 else is_in_block


def is_defined_setting(name: str) -> bool:
    """Return True if some release defines this key of a node's server.properties."""
    return _type(BROKER, name) is not None


def _type(kind: int | None, name: str) -> str | None:
    """Return the type of a configuration in Kafka's words; None if no release defines it."""
    types = _types().get(_rules()["kinds"].get(str(kind)), {})
    found = types.get(name)
    if found is None and kind == BROKER:
        found = next((types[base] for base in _bases(name) if base in types), None)
    return found


_LONGEST_WORD: Final = 40  # of a key that no release defines: a line of base64 is longer
_LISTENER: Final = re.compile(r"listener\.name\.[^.]+\.(.+)", re.DOTALL)


def _bases(name: str) -> tuple[str, ...]:
    """Return the keys that a prefixed key may represent: `listener.name.NAME.[MECHANISM.]KEY`, `MECHANISM.sasl.KEY`."""
    listener = _LISTENER.fullmatch(name)
    key = listener[1] if listener else name
    mechanism, _, rest = key.partition(".")
    own = (rest,) if mechanism in _rules()["mechanisms"] and rest.startswith("sasl.") else ()
    return (key, *own)


# Each run of characters is read once: no expression here may scan the rest of a text from every place in it.
_NAMED: Final = re.compile(r"""([\w.-]+)["']?\s*([=:])(?!//)\s*(?=\S)|[\w.-]+""")
_STRONG: Final = re.compile(r"(?i)password|passwd|passphrase|pwd|secret")  # others are names of listeners, too
_MARKS: Final = (PEM_BEGIN, "LoginModule")
_BEARER: Final = re.compile(
    r"(?i)\b(?:bearer|basic)\s+[\w+/=.~-]{8}|[?&;](?:sig|sharedaccesssignature)=|\bauth=\w+:|\bdigest:[^\s:]{1,256}:\S"
)


def is_secret_text(text: str) -> bool:
    """Return True if a text looks like a secret, whatever it is the value of."""
    if any(mark in text for mark in _MARKS) or _has_login(text) or _BEARER.search(text):
        return True
    if not ("=" in text or ":" in text):
        return False
    return any(found[1] and _says_secret(found[1], found[2]) for found in _NAMED.finditer(text))


def _says_secret(name: str, sign: str) -> bool:
    return says_secret(name) if sign == "=" else _STRONG.search(name) is not None


def says_secret(name: str) -> bool:
    """Return True if the name of a setting, of whatever program, says that its value is a secret."""
    lowered = name.lower().replace("_", ".").replace("-", ".")
    if name in _types()["broker"]:
        return is_secret_config(BROKER, name)
    return any(word in lowered for word in _rules()["words"])


def _has_login(text: str) -> bool:
    """Return True if there is an address with a user in it: `scheme://user:password@host`."""
    if "://" not in text or "@" not in text:
        return False
    return any(0 <= word.find("://") < word.rfind("@") for word in text.split())


_TEXT_SECRET: Final = re.compile(
    r"""(?i)\b(\w*(?:password|passwd|pwd|passphrase|secret|token|credential|api_?key|access_?key|account_?key|private_?key))"""
    r"""(?:\\*["']\s*[:=]|\s*=)\s*"""
    # Quoted, by marks that the text around it may have escaped. A quotation that does not end as one hides the line.
    r"""(?:(\\{0,8}["'])(?:(?!\2)(?:\\.|[^\\\n]))*\2(?=\\{0,8}["']?(?:[\s,;:.&)}\]]|\Z))|\\*["'][^\n]*"""
    r"""|[,;\]]*[^\s,;\]]+(?:[,;\]]+(?![\w.-]+=)[^\s,;\]]+)*)"""
)
_TEXT_LOGIN: Final = re.compile(r"://[^/\s]*@")
_TEXT_DIGEST: Final = re.compile(r"(?i)\b(digest:[^\s:]{1,256}:)[^\s,;/]+")  # a login of ZooKeeper
_TEXT_PEM: Final = re.compile(r"-----BEGIN.*?(?:-----END[^-\n]{0,80}-----|\Z)", re.DOTALL)


def redacted_text(text: str) -> str:
    """Return a sentence, a line or the output of a program with everything left out that looks like a secret."""
    text = _TEXT_PEM.sub(REDACTED, text) if PEM_BEGIN in text else text
    text = _TEXT_LOGIN.sub(f"://{REDACTED}@", text)
    text = _TEXT_DIGEST.sub(rf"\1{REDACTED}", text)
    return _TEXT_SECRET.sub(rf"\1={REDACTED}", text)


@functools.cache
def _rules() -> dict[str, Any]:
    return _data("secrets")


@functools.cache
def _types() -> dict[str, dict[str, str]]:
    """Return the type of every defined key by kind of resource; a password in one release is one in all."""
    found: dict[str, dict[str, str]] = _data("resources")["types"]
    broker = found["broker"]
    broker |= dict.fromkeys(_rules()["public"], "STRING")
    for row in _data("server")["keys"]:
        if broker.get(row["name"]) != _PASSWORD:
            broker[row["name"]] = row["type"]
    return found


def _data(name: str) -> dict[str, Any]:
    import json  # error texts are redacted, too, and most of what fails reads no data

    from kafkactl.core.data_files import read_data

    data: dict[str, Any] = json.loads(read_data(f"config/{name}.json"))
    return data
