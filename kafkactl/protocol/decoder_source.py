"""Python source of a decoder for one message at one version.

The shape of the code: one function without calls for the usual; structs and arrays inline; runs of fields with a
fixed size unpacked at once; one-byte varints read in place. `p` is the position, `end` the end of the data.
Bounds are not checked field by field: positions only grow, an index past the data raises, and what a slice would
silently cut is found out by the position at the end of the message, or of its tagged field.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from kafkactl.protocol.form import TAGS, Form, default_value, least_size_of_one
from kafkactl.protocol.schema.spec import FieldSpec
from kafkactl.protocol.source_lines import SourceLines

CODES = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
    "uuid": "16s",
}  # fmt: skip


def decoder_source(fields: Sequence[FieldSpec], form: Form) -> SourceLines:
    """Return a function `decode(data, p, end)` that returns a message's value and the position after it."""
    out = SourceLines()
    with out.block("def decode(data, p, end):"):
        value = _struct(out, fields, form)
        with out.block("if p > end:"):
            out.add("raise IrregularError")
        out.add(f"return {value}, p")
    return out


def is_fixed(field: FieldSpec) -> bool:
    """Return True if a field of this type always takes the same number of bytes."""
    return not field.is_array and field.kind in CODES


def runs(fields: Iterable[FieldSpec]) -> list[list[FieldSpec]]:
    """Return fields in order, neighbours of fixed size in one list."""
    grouped: list[list[FieldSpec]] = []
    for field in fields:
        if grouped and is_fixed(field) and is_fixed(grouped[-1][-1]):
            grouped[-1].append(field)
        else:
            grouped.append([field])
    return grouped


def layout(fields: Iterable[FieldSpec]) -> struct.Struct:
    """Return the layout of consecutive fields of fixed size."""
    return struct.Struct(">" + "".join(CODES[field.kind] for field in fields))


def _struct(out: SourceLines, fields: Sequence[FieldSpec], form: Form) -> str:
    """Write the lines that read a struct; return the variable that holds the struct."""
    held = {field.name: _default(out, field) for field in fields if not form.has(field) or form.tags(field)}
    for run in runs(field for field in fields if form.has(field) and not form.tags(field)):
        if is_fixed(run[0]):
            held |= _fixed_run(out, run)
        else:
            held[run[0].name] = _field(out, run[0], form)
    unknown = _tagged_fields(out, fields, form, held) if form.flexible else None
    value = out.name()
    pairs = ", ".join(f"{field.name!r}: {held[field.name]}" for field in fields)
    out.add(f"{value} = {{{pairs}}}")
    if unknown is not None:
        with out.block(f"if {unknown}:"):
            out.add(f"{value}[{TAGS!r}] = {unknown}")
    return value


def _default(out: SourceLines, field: FieldSpec) -> str:
    """Return a variable that holds a new default."""
    variable = out.name()
    out.add(f"{variable} = {_default_expression(out, field)}")
    return variable


def _default_expression(out: SourceLines, field: FieldSpec) -> str:
    if field.default == () and not field.is_array:
        inner = ", ".join(f"{part.name!r}: {_default_expression(out, part)}" for part in field.fields)
        return f"{{{inner}}}"
    value = default_value(field)
    if value is None or type(value) in {bool, int, str, bytes, list}:
        return repr(value)
    return out.constant(value)


def _fixed_run(out: SourceLines, run: list[FieldSpec]) -> dict[str, str]:
    form = layout(run)
    unpack = out.constant(form.unpack_from, "unpack")
    held = {field.name: out.name() for field in run}
    out.add(f"{', '.join(held.values())}, = {unpack}(data, p)", f"p += {form.size}")
    for field in run:
        if field.kind == "uuid":
            variable, raw = held[field.name], out.name()
            out.add(f"{raw} = {variable}", f"{variable} = new_uuid(Uuid)", f"set_raw({variable}, {raw})")
    return held


def _tagged_fields(out: SourceLines, fields: Sequence[FieldSpec], form: Form, held: dict[str, str]) -> str:
    """Write the lines that read the section of tagged fields; return the variable of the unknown ones (or None)."""
    unknown, count, tag, previous, stop = (out.name() for _ in range(5))
    out.add(f"{unknown} = None", f"{count} = data[p]", "p += 1")
    with out.block(f"if {count}:"):
        _longer(out, count)
        out.add(f"{previous} = -1")
        with out.block(f"for _ in range({count}):"):
            _small_varint(out, tag)
            with out.block(f"if {tag} <= {previous}:"):
                out.add("raise IrregularError")
            out.add(f"{previous} = {tag}")
            _small_varint(out, stop)
            out.add(f"{stop} += p")
            _tag_cases(out, fields, form, held, (tag, stop, unknown))
    return unknown


def _tag_cases(
    out: SourceLines, fields: Sequence[FieldSpec], form: Form, held: dict[str, str], names: tuple[str, str, str]
) -> None:
    tag, stop, unknown = names
    word = "if"
    for field in fields:
        if field.tag is None:
            continue
        with out.block(f"{word} {tag} == {field.tag}:"):
            if form.tags(field):
                out.add(f"{held[field.name]} = {_any_field(out, field, form)}")
            with out.block(f"if p != {stop}:" if form.tags(field) else "if True:"):
                out.add("raise IrregularError")
        word = "elif"
    with out.block("else:" if word == "elif" else "if True:"):
        with out.block(f"if {unknown} is None:"):
            out.add(f"{unknown} = {{}}")
        out.add(f"{unknown}[{tag}] = data[p:{stop}]", f"p = {stop}")


def _any_field(out: SourceLines, field: FieldSpec, form: Form) -> str:
    return _fixed_run(out, [field])[field.name] if is_fixed(field) else _field(out, field, form)


def _field(out: SourceLines, field: FieldSpec, form: Form) -> str:
    """Write the lines that read a field whose size varies; return the field's variable."""
    if field.is_array:
        return _array(out, field, form)
    if field.kind == "struct":
        return _nullable_struct(out, field, form) if form.allows_null(field) else _struct(out, field.fields, form)
    return _sized(out, field.kind, compact=form.compact(field), nullable=form.allows_null(field))


def _nullable_struct(out: SourceLines, field: FieldSpec, form: Form) -> str:
    value = out.name()
    out.add("p += 1")
    with out.block("if data[p - 1] > 127:"):
        out.add(f"{value} = None")
    with out.block("else:"):
        out.add(f"{value} = {_struct(out, field.fields, form)}")
    return value


def _sized(out: SourceLines, kind: str, *, compact: bool, nullable: bool) -> str:
    value, length, stop = (out.name() for _ in range(3))
    _length(out, length, kind, compact=compact)
    content = f"data[p:{stop}].decode()" if kind == "string" else f"data[p:{stop}]"
    with out.block(f"if {length} >= 0:"):
        out.add(f"{stop} = p + {length}", f"{value} = {content}", f"p = {stop}")
    _null_case(out, value, length, nullable=nullable)
    return value


def _null_case(out: SourceLines, value: str, length: str, *, nullable: bool) -> None:
    if nullable:
        with out.block(f"elif {length} == -1:"):
            out.add(f"{value} = None")
    with out.block("else:"):
        out.add("raise IrregularError")


def _length(out: SourceLines, length: str, kind: str, *, compact: bool) -> None:
    """Write the lines that read the length of a string, byte string or array; -1 is null."""
    if compact:
        longer = "longer_string_length" if kind == "string" else "longer_varint"
        out.add(f"{length} = data[p]", "p += 1")
        _longer(out, length, longer)
        out.add(f"{length} -= 1")
        return
    form = struct.Struct(">h" if kind == "string" else ">i")
    unpack = out.constant(form.unpack_from, "unpack")
    out.add(f"{length}, = {unpack}(data, p)", f"p += {form.size}")


def _small_varint(out: SourceLines, variable: str) -> None:
    out.add(f"{variable} = data[p]", "p += 1")
    _longer(out, variable)


def _longer(out: SourceLines, variable: str, longer: str = "longer_varint") -> None:
    with out.block(f"if {variable} > 127:"):
        out.add(f"{variable}, p = {longer}(data, p, {variable})")


def _array(out: SourceLines, field: FieldSpec, form: Form) -> str:
    value, count = out.name(), out.name()
    _length(out, count, "array", compact=form.compact(field))
    least = least_size_of_one(field, form)
    with out.block(f"if {count} >= 0:"):
        with out.block(f"if {count} * {least} > end - p:" if least else f"if {count}:"):
            out.add("raise IrregularError")
        _elements(out, field, form, value, count)
    _null_case(out, value, count, nullable=form.allows_null(field))
    return value


def _elements(out: SourceLines, field: FieldSpec, form: Form, value: str, count: str) -> None:
    kind = field.kind
    if kind == "uuid":
        out.add(f"{value} = uuids(data, p, {count})", f"p += 16 * {count}")
    elif kind in CODES:
        out.add(f"{value} = numbers({CODES[kind]!r}, data, p, {count})")
        out.add(f"p += {struct.calcsize('>' + CODES[kind])} * {count}")
    else:
        out.add(f"{value} = []")
        with out.block(f"for _ in range({count}):"):
            if kind == "struct":
                element = _struct(out, field.fields, form)
            else:
                element = _sized(out, kind, compact=form.compact(field), nullable=False)
            out.add(f"{value}.append({element})")
