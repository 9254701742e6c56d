"""A record of the metadata log as JSON text: the usual ones fast, all others by the reference codec, the same bytes.

The form is that of Kafka's JSON converters (`generator/.../JsonConverterGenerator.java`): field names begin in lower
case, uuids are base64 text, byte strings base64, tagged fields there only where they do not hold their default. In
one respect it is stricter: fields that are tagged in the record's version stand behind all others.
"""

from __future__ import annotations

import base64
import functools
import math
import struct
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from typing import Any

from kafkactl.core.errors import DecodeError
from kafkactl.core.shown import escaped, json_text
from kafkactl.core.values import Uuid
from kafkactl.metadata.dump.source import tail_source, text_source
from kafkactl.metadata.log.frame import MetadataRecord
from kafkactl.protocol.compiled_runtime import GIVES_UP, IrregularError, longer_string_length, longer_varint
from kafkactl.protocol.form import Form
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.redact import redacted, shown_config
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import MessageSpec, json_name
from kafkactl.protocol.source_lines import SourceLines

MAY_GIVE_UP = (*GIVES_UP, DecodeError)
TextMaker = Callable[[bytes, int, int], str]

# What a memory of texts holds at most. A log has few brokers, lists of replicas and topics at a time, but a hostile
# one may have a million of each.
_MOST_KEPT = 32_768
_LONGEST_KEPT_BYTES = 256


def record_json(record: MetadataRecord, *, hide: bool) -> dict[str, Any]:
    """A record that the codec has read, as a value of JSON's types. With `hide` secrets are left out."""
    spec = message(record.type)
    shown = to_json(spec, record.version, record.data)
    ordered = tagged_last(spec, record.version, shown)
    return redacted(record.type, ordered) if hide else ordered


def tagged_last(spec: MessageSpec, version: int, shown: Mapping[str, Any]) -> dict[str, Any]:
    """The same keys, those of fields that are tagged in this version behind the others."""
    form = Form(version, spec.is_flexible(version))
    tagged = {json_name(field.name) for field in spec.fields if form.tags(field)}
    return {name: shown[name] for name in sorted(shown, key=tagged.__contains__)}


def compact_json(value: Any) -> str:
    """JSON without blanks; letters beyond ASCII stand as they are, what is not safe to show as an escape."""
    return json_text(value, compact=True)


def text_maker(spec: MessageSpec, version: int, *, hide: bool, lead: str = "") -> TextMaker:
    """A function of data, begin and end of a message: its JSON without the braces, behind `lead`.

    It raises one of MAY_GIVE_UP where the message is rare in form or wrong; which of the two, the codec decides.
    """
    source = text_source(spec, version, hide=hide, lead=lead)
    tails = _Memory(_function(tail_source(spec, version), "tail", spec, version))
    return _function(source, "text", spec, version, tails=tails, tail_of=tails.__missing__)


def _function(source: SourceLines, name: str, spec: MessageSpec, version: int, **more: Any) -> Callable[..., str]:
    names: dict[str, Any] = {**_RUNTIME, **source.constants, **more}
    exec(compile(source.text(), f"<{name} {spec.name} {version}>", "exec"), names)
    made: Callable[..., str] = names[name]
    return made


class _Memory(dict[bytes, str]):
    """Texts by the bytes that they stand for; made when first asked for, and never too many."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[bytes], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, raw: bytes) -> str:
        text = self._make(raw)
        if len(raw) <= _LONGEST_KEPT_BYTES:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[raw] = text
        return text


# --- texts of single values ---------------------------------------------------------------------------------------


def _string(raw: bytes) -> str:
    return escaped(encode_basestring(raw.decode()))


def _blob(raw: bytes) -> str:
    return f'"{base64.b64encode(raw).decode("ascii")}"'


def _uuid(raw: bytes) -> str:
    return f'"{Uuid(raw)}"'


_UUIDS = _Memory(_uuid)


def _uuid_list(raw: bytes) -> str:
    if len(raw) % 16:
        raise IrregularError
    return f"[{','.join([_UUIDS[raw[at : at + 16]] for at in range(0, len(raw), 16)])}]"


def _number_list(code: str) -> Callable[[bytes], str]:
    size = struct.calcsize(">" + code)

    def make(raw: bytes) -> str:
        if len(raw) % size:
            raise IrregularError
        return f"[{','.join(map(str, struct.unpack(f'>{len(raw) // size}{code}', raw)))}]"

    return make


def _number(value: float) -> str:
    """As in `json_form`: JSON has no infinity and no NaN."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    return float.__repr__(value)


@functools.lru_cache(maxsize=4096)
def _config_value(kind: int | str, name: str, value: str) -> str:
    """The text of a configuration's value; the kind of its resource, its name and the value are given as JSON text."""
    held = _unquoted(value)
    shown = shown_config(int(kind), str(_unquoted(name)), held)
    return value if shown == held else encode_basestring(shown)


def _unquoted(text: str) -> Any:
    from json import loads

    return loads(text)


_RUNTIME: dict[str, Any] = {
    "IrregularError": IrregularError,
    "longer_varint": longer_varint,
    "longer_string_length": longer_string_length,
    "bools": ("false", "true"),
    "number": _number,
    "config_value": _config_value,
    "strings": _Memory(_string),
    "blobs": _Memory(_blob),
    "uuids": _UUIDS,
    "lists_of_uuid": _Memory(_uuid_list),
    **{
        f"lists_of_{kind}": _Memory(_number_list(code))
        for kind, code in {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}.items()
    },
}
