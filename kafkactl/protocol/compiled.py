"""The fast codec: for each message and version, Python source written from the definition, run once and kept.

It equals the reference codec byte for byte and error for error, because it never words an error: a generated
function either succeeds on the usual path or gives up, and the reference codec has the last word. Property tests hold
what both accept equal, over all messages and versions; `bench/codec.py` says what it gains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kafkactl.protocol.codec import Message, decode_message, encode_message
from kafkactl.protocol.compiled_runtime import GIVES_UP, RUNTIME
from kafkactl.protocol.decoder_source import decoder_source
from kafkactl.protocol.encoder_source import encoder_source
from kafkactl.protocol.form import Form
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec
from kafkactl.protocol.source_lines import SourceLines


class Decoder(Protocol):
    """`codec.decode_message` for one message and version."""

    def __call__(self, data: bytes, *, file: str | None = None, offset: int = 0, base: int = 0) -> tuple[Message, int]:
        """Read a message; see `codec.decode_message`."""
        ...


Encoder = Callable[[Mapping[str, Any]], bytes]

# By identity: a definition's own hash walks all its fields. The definition is kept, so its identity is not reused.
_decoders: dict[tuple[int, int], tuple[MessageSpec, Decoder]] = {}
_encoders: dict[tuple[int, int], tuple[MessageSpec, Encoder]] = {}


def decoder(spec: MessageSpec, version: int) -> Decoder:
    """Return the decoder of a message at a version; made once.

    A version that does not exist fails when it is called.
    """
    kept = _decoders.get((id(spec), version))
    if kept is None:
        kept = _decoders[id(spec), version] = spec, _make_decoder(spec, version)
    return kept[1]


def encoder(spec: MessageSpec, version: int) -> Encoder:
    """Return the encoder of a message at a version; made once.

    A version that does not exist fails when it is called.
    """
    kept = _encoders.get((id(spec), version))
    if kept is None:
        kept = _encoders[id(spec), version] = spec, _make_encoder(spec, version)
    return kept[1]


def _make_decoder(spec: MessageSpec, version: int) -> Decoder:
    def careful(data: bytes, *, file: str | None = None, offset: int = 0, base: int = 0) -> tuple[Message, int]:
        return decode_message(spec, version, data, file=file, offset=offset, base=base)

    if version not in spec.valid_versions:
        return careful
    fast = _function(decoder_source, spec, version, "decode")

    def decode(data: bytes, *, file: str | None = None, offset: int = 0, base: int = 0) -> tuple[Message, int]:
        if type(data) is not bytes:
            data = bytes(data)
        try:
            result: tuple[Message, int] = fast(data, offset, len(data))
        except GIVES_UP:
            return careful(data, file=file, offset=offset, base=base)
        return result

    return decode


def _make_encoder(spec: MessageSpec, version: int) -> Encoder:
    if version not in spec.valid_versions:
        return lambda value: encode_message(spec, version, value)
    fast = _function(encoder_source, spec, version, "encode")

    def encode(value: Mapping[str, Any]) -> bytes:
        try:
            content: bytes = fast(value)
        except GIVES_UP:
            return encode_message(spec, version, value)
        return content

    return encode


def _function(
    write: Callable[[tuple[FieldSpec, ...], Form], SourceLines], spec: MessageSpec, version: int, name: str
) -> Callable[..., Any]:
    source = write(spec.fields, Form(version, spec.is_flexible(version)))
    names: dict[str, Any] = {**RUNTIME, **source.constants}
    exec(compile(source.text(), f"<{name} {spec.name} {version}>", "exec"), names)
    function: Callable[..., Any] = names[name]
    return function
