"""Python source of an encoder for one message at one version.

The shape of the code: one function that appends to a bytearray `out`; structs and arrays inline; runs of fields with
a fixed size packed at once. It checks types exactly (a `str`, not a subclass) and names exactly, and leaves the
rest, unknown tagged fields too, to the reference codec.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kafkactl.protocol.decoder_source import CODES, is_fixed, layout, runs
from kafkactl.protocol.form import Form, default_value
from kafkactl.protocol.primitives import base128
from kafkactl.protocol.schema.spec import FieldSpec
from kafkactl.protocol.source_lines import SourceLines


def encoder_source(fields: Sequence[FieldSpec], form: Form) -> SourceLines:
    """Return a function `encode(value)` that returns a message's bytes."""
    out = SourceLines()
    with out.block("def encode(value):"):
        out.add("out = bytearray()")
        _struct(out, fields, form, "value", whole=False)
        out.add("return bytes(out)")
    return out


def _struct(out: SourceLines, fields: Sequence[FieldSpec], form: Form, value: str, *, whole: bool) -> None:
    """Write the lines of a struct. Every field is looked up, so that equal sizes mean that no name is unknown.

    `whole`: no field may be missing. Inside tagged fields a missing one would change what is taken as the default.
    """
    with out.block(f"if type({value}) is not dict or len({value}) != {len(fields)}:"):
        if whole:
            out.add("raise IrregularError")
        else:
            defaults = out.constant({field.name: default_value(field) for field in fields}, "defaults")
            out.add(f"{value} = filled({value}, {defaults})")
    for field in fields:
        if not form.has(field):
            _absent(out, field, f"{value}[{field.name!r}]")
    for run in runs(field for field in fields if form.has(field) and not form.tags(field)):
        if is_fixed(run[0]):
            _fixed_run(out, run, value)
        else:
            _field(out, run[0], form, _looked_up(out, run[0], value), whole=whole)
    if form.flexible:
        _tagged_fields(out, fields, form, value)


def _looked_up(out: SourceLines, field: FieldSpec, value: str) -> str:
    variable = out.name()
    out.add(f"{variable} = {value}[{field.name!r}]")
    return variable


def _absent(out: SourceLines, field: FieldSpec, held: str) -> None:
    """Add code for a field that the version lacks: its value must be the default, or ignorable."""
    if field.ignorable:
        out.add(held)
        return
    with out.block(f"if {_differs(out, field, held)}:"):
        out.add("raise IrregularError")


def _differs(out: SourceLines, field: FieldSpec, held: str) -> str:
    """Return an expression: whether a value is not the field's default."""
    default = default_value(field)
    if default is None:
        return f"{held} is not None"
    if type(default) in {bool, int, str, bytes}:
        return f"{held} != {default!r}"
    return f"{held} != {out.constant(default, 'default')}"


def _fixed_run(out: SourceLines, run: list[FieldSpec], value: str) -> None:
    pack = out.constant(layout(run).pack, "pack")
    arguments = []
    for field in run:
        held = f"{value}[{field.name!r}]"
        if field.kind in {"bool", "uuid"}:
            held = _looked_up(out, field, value)
            _check_type(out, held, "bool" if field.kind == "bool" else "Uuid")
        arguments.append(f"{held}.raw" if field.kind == "uuid" else held)
    out.add(f"out += {pack}({', '.join(arguments)})")


def _check_type(out: SourceLines, variable: str, name: str) -> None:
    with out.block(f"if type({variable}) is not {name}:"):
        out.add("raise IrregularError")


def _tagged_fields(out: SourceLines, fields: Sequence[FieldSpec], form: Form, value: str) -> None:
    tagged = sorted((field for field in fields if form.tags(field)), key=lambda field: field.tag or 0)
    if not tagged:
        out.add("out.append(0)")
        return
    present = {}
    for field in tagged:
        held, sent = _looked_up(out, field, value), out.name()
        out.add(f"{sent} = {_differs(out, field, held)}")
        present[field.name] = held, sent
    count = out.name()
    out.add(f"{count} = {' + '.join(sent for _, sent in present.values())}")
    _small_length(out, count)
    with out.block(f"if {count}:"):
        for field in tagged:
            held, sent = present[field.name]
            with out.block(f"if {sent}:"):
                _tagged_field(out, field, form, held)


def _tagged_field(out: SourceLines, field: FieldSpec, form: Form, held: str) -> None:
    """Yield code for tag, size and content; if the size is not known in advance, a byte is kept free for it."""
    out.add(f"out += {base128(field.tag or 0)!r}")
    if is_fixed(field):
        out.add(f"out.append({layout([field]).size})")
        _fixed_value(out, field, held)
        return
    start, size = out.name(), out.name()
    out.add("out.append(0)", f"{start} = len(out)")
    _field(out, field, form, held, whole=True)
    out.add(f"{size} = len(out) - {start}")
    with out.block(f"if {size} < 128:"):
        out.add(f"out[{start} - 1] = {size}")
    with out.block("else:"):
        out.add(f"out[{start} - 1 : {start}] = base128({size})")


def _fixed_value(out: SourceLines, field: FieldSpec, held: str) -> None:
    if field.kind in {"bool", "uuid"}:
        _check_type(out, held, "bool" if field.kind == "bool" else "Uuid")
    pack = out.constant(layout([field]).pack, "pack")
    out.add(f"out += {pack}({held}.raw)" if field.kind == "uuid" else f"out += {pack}({held})")


def _field(out: SourceLines, field: FieldSpec, form: Form, held: str, *, whole: bool) -> None:
    """Write the lines of a field whose size varies."""
    if field.is_array:
        _array(out, field, form, held, whole=whole)
    elif field.kind == "struct":
        _whole_struct(out, field, form, held, whole=whole)
    else:
        _sized(out, field.kind, held, compact=form.compact(field), nullable=form.allows_null(field))


def _whole_struct(out: SourceLines, field: FieldSpec, form: Form, held: str, *, whole: bool) -> None:
    if not form.allows_null(field):
        _struct(out, field.fields, form, held, whole=whole)
        return
    with out.block(f"if {held} is None:"):
        out.add("out.append(255)")
    with out.block("else:"):
        out.add("out.append(1)")
        _struct(out, field.fields, form, held, whole=whole)


def _sized(out: SourceLines, kind: str, held: str, *, compact: bool, nullable: bool) -> None:
    with out.block(f"if {held} is None:"):
        _null(out, kind, compact=compact, nullable=nullable)
    with out.block("else:"):
        if kind == "string":
            out.add(f"{held} = text_of({held})")
        else:
            _check_type(out, held, "bytes")
        _length(out, kind, held, compact=compact)
        out.add(f"out += {held}")


def _null(out: SourceLines, kind: str, *, compact: bool, nullable: bool) -> None:
    if not nullable:
        out.add("raise IrregularError")
    elif compact:
        out.add("out.append(0)")
    else:
        out.add(f"out += {_plain_length(kind).pack(-1)!r}")


def _plain_length(kind: str) -> struct.Struct:
    return struct.Struct(">h" if kind == "string" else ">i")


def _length(out: SourceLines, kind: str, held: str, *, compact: bool) -> None:
    if not compact:
        pack = out.constant(_plain_length(kind).pack, "pack")
        out.add(f"out += {pack}(len({held}))")
        return
    length = out.name()
    out.add(f"{length} = len({held}) + 1")
    _small_length(out, length)


def _small_length(out: SourceLines, length: str) -> None:
    with out.block(f"if {length} < 128:"):
        out.add(f"out.append({length})")
    with out.block("else:"):
        out.add(f"out += base128({length})")


def _array(out: SourceLines, field: FieldSpec, form: Form, held: str, *, whole: bool) -> None:
    with out.block(f"if {held} is None:"):
        _null(out, "array", compact=form.compact(field), nullable=form.allows_null(field))
    with out.block("else:"):
        _check_type(out, held, "list")
        _length(out, "array", held, compact=form.compact(field))
        _elements(out, field, form, held, whole=whole)


def _elements(out: SourceLines, field: FieldSpec, form: Form, held: str, *, whole: bool) -> None:
    if field.kind in CODES and field.kind not in {"bool", "uuid"}:
        out.add(f"out += packed_numbers({CODES[field.kind]!r}, {held})")
        return
    element = out.name()
    with out.block(f"for {element} in {held}:"):
        if field.kind == "struct":
            _struct(out, field.fields, form, element, whole=whole)
        elif field.kind in CODES:
            _fixed_value(out, field, element)
        else:
            _sized(out, field.kind, element, compact=form.compact(field), nullable=False)
