"""Python source of a function that turns the bytes of a record straight into its JSON text.

A dump does not need the values in between. The generated function knows the usual: it reads runs of fixed fields
at once, takes the text of what returns again and again (topic ids, lists of replicas, the tagged fields of a change)
from a memory of texts by bytes, and gives up on anything else, so that the reference codec has the last word on all
that is rare or wrong. `dump_text.py` holds the two equal; a property test proves it over all records and versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from json import dumps

from kafkactl.protocol.decoder_source import CODES, is_fixed, layout, runs
from kafkactl.protocol.form import Form, default_value, least_size_of_one
from kafkactl.protocol.redact import CONFIG_RECORD, REDACTED, secret_fields
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec, json_name
from kafkactl.protocol.source_lines import SourceLines

_FIXED_BYTES = {"int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8}


def text_source(spec: MessageSpec, version: int, *, hide: bool, lead: str = "") -> SourceLines:
    """A function `text(data, p, end)`: the JSON of the record's message, which fills `data[p:end]`, without its `{}`.

    `lead` is put before each text: JSON without single quotes and backslashes. Fields that are tagged in this version
    stand behind the others. With `hide` secrets are left out. Only for messages with compact lengths and tagged
    fields; all records of the metadata log are such, in every version.
    """
    form = Form(version, flexible=True)
    hidden = secret_fields(spec.name) if hide else ()
    out = SourceLines()
    with out.block("def text(data, p, end):"):
        held = _fields(out, _untagged(spec.fields, form), form)
        if hide and spec.name == CONFIG_RECORD:
            held["Value"] = f"config_value({held['ResourceType']}, {held['Name']}, {held['Value']})"
        shown = [_pair(name, f'"{REDACTED}"' if name in hidden else f"{{{value}}}") for name, value in held.items()]
        body = ",".join(shown)
        out.add("tail = tails.get(data[p:end])")
        with out.block("if tail is None:"):
            out.add("tail = tail_of(data[p:end])")
        start = lead.replace("{", "{{").replace("}", "}}")
        out.add(f"return f'{start}{body}{{tail}}'" if body else f"return f'{start}{{tail[1:]}}'")
    return out


def tail_source(spec: MessageSpec, version: int) -> SourceLines:
    """A function `tail(data)`: the section of tagged fields that `data` is, as pairs that a comma leads each.

    In the order of the definition, and without those that hold their default.
    """
    form = Form(version, flexible=True)
    fields = [field for field in spec.fields if form.has(field) and form.tags(field)]
    out = SourceLines()
    with out.block("def tail(data):"):
        out.add("count, p, end, previous = data[0], 1, len(data), -1")
        _give_up_if(out, "count > 127")
        texts = {field.name: out.name() for field in fields}
        out.add(*(f"{text} = ''" for text in texts.values()))
        with out.block("for _ in range(count):"):
            out.add("tag, size = data[p], data[p + 1]", "p += 2")
            _give_up_if(out, "tag > 127 or tag <= previous")
            with out.block("if size > 127:"):
                out.add("size, p = longer_varint(data, p, size)")
            out.add("previous, stop = tag, p + size")
            _tag_cases(out, fields, form, texts)
            _give_up_if(out, "p != stop")
        _give_up_if(out, "p != end")
        out.add(f"return f'{''.join(f'{{{text}}}' for text in texts.values())}'")
    return out


def _tag_cases(out: SourceLines, fields: Sequence[FieldSpec], form: Form, texts: dict[str, str]) -> None:
    for word, field in zip(["if", *["elif"] * len(fields)], fields, strict=False):
        with out.block(f"{word} tag == {field.tag}:"):
            text = _fields(out, [field], form)[field.name]
            default = out.constant(dumps(default_value(field), separators=(",", ":")), "DEFAULT")
            out.add(f"{texts[field.name]} = f'{{{text}}}'")
            with out.block(f"if {texts[field.name]} == {default}:"):
                out.add(f"{texts[field.name]} = ''")
            with out.block("else:"):
                out.add(f"{texts[field.name]} = f',{_pair(field.name, f'{{{texts[field.name]}}}')}'")
    if fields:
        with out.block("else:"):
            out.add("raise IrregularError")
    else:
        out.add("raise IrregularError")


def _pair(name: str, value: str) -> str:
    """A field by the name of its definition, as a pair of JSON."""
    return f'"{json_name(name)}":{value}'


def _untagged(fields: Sequence[FieldSpec], form: Form) -> list[FieldSpec]:
    return [field for field in fields if form.has(field) and not form.tags(field)]


def _give_up_if(out: SourceLines, condition: str) -> None:
    with out.block(f"if {condition}:"):
        out.add("raise IrregularError")


# --- fields: each gives the expression in the braces of the text --------------------------------------


def _fields(out: SourceLines, fields: Sequence[FieldSpec], form: Form) -> dict[str, str]:
    held: dict[str, str] = {}
    for run in runs(fields):
        if is_fixed(run[0]):
            held |= _fixed_run(out, run)
        else:
            held[run[0].name] = _field(out, run[0], form)
    return held


def _fixed_run(out: SourceLines, run: list[FieldSpec]) -> dict[str, str]:
    form = layout(run)
    unpack = out.constant(form.unpack_from, "unpack")
    names = {field.name: out.name() for field in run}
    out.add(f"{', '.join(names.values())}, = {unpack}(data, p)", f"p += {form.size}")
    return {field.name: _shown(field.kind, names[field.name]) for field in run}


def _shown(kind: str, variable: str) -> str:
    if kind == "uuid":
        return f"uuids[{variable}]"
    if kind == "bool":
        return f"bools[{variable}]"
    return f"number({variable})" if kind == "float64" else variable


def _field(out: SourceLines, field: FieldSpec, form: Form) -> str:
    if field.is_array:
        return _array(out, field, form)
    if field.kind == "struct":
        return _struct(out, field, form)
    return _sized(out, field, nullable=form.allows_null(field))


def _struct(out: SourceLines, field: FieldSpec, form: Form) -> str:
    """A struct whose own tagged fields, if it has any, are not set."""
    held = _fields(out, _untagged(field.fields, form), form)
    _give_up_if(out, "data[p]")
    out.add("p += 1")
    text = out.name()
    body = ",".join(_pair(name, f"{{{value}}}") for name, value in held.items())
    out.add(f"{text} = f'{{{{{body}}}}}'")
    return text


def _sized(out: SourceLines, field: FieldSpec, *, nullable: bool) -> str:
    text, length = out.name(), out.name()
    memory = "strings" if field.kind == "string" else "blobs"
    _length(out, length, field)
    with out.block(f"if {length} > 0:"):
        out.add(f"q = p + {length} - 1", f"{text} = {memory}[data[p:q]]", "p = q")
    with out.block("else:"):
        out.add(f"{text} = 'null'" if nullable else "raise IrregularError")
    return text


def _length(out: SourceLines, length: str, field: FieldSpec) -> None:
    """The length plus one, so that 0 is null."""
    longer = "longer_string_length" if field.kind == "string" and not field.is_array else "longer_varint"
    out.add(f"{length} = data[p]", "p += 1")
    with out.block(f"if {length} > 127:"):
        out.add(f"{length}, p = {longer}(data, p, {length})")


def _array(out: SourceLines, field: FieldSpec, form: Form) -> str:
    text, count = out.name(), out.name()
    _length(out, count, field)
    with out.block(f"if {count} > 0:"):
        if field.kind == "uuid" or field.kind in _FIXED_BYTES:
            size, memory = _FIXED_BYTES.get(field.kind, 16), f"lists_of_{field.kind}"
            out.add(f"q = p + {size} * ({count} - 1)", f"{text} = {memory}[data[p:q]]", "p = q")
        else:
            _elements(out, field, form, text, count)
    with out.block("else:"):
        out.add(f"{text} = 'null'" if form.allows_null(field) else "raise IrregularError")
    return text


def _elements(out: SourceLines, field: FieldSpec, form: Form, text: str, count: str) -> None:
    _give_up_if(out, f"({count} - 1) * {max(least_size_of_one(field, form), 1)} > end - p")
    parts = out.name()
    out.add(f"{parts} = []")
    with out.block(f"for _ in range({count} - 1):"):
        if field.kind in CODES:
            element = next(iter(_fixed_run(out, [field]).values()))
        elif field.kind == "struct":
            element = _struct(out, field, form)
        else:
            element = _sized(out, _element(field), nullable=False)
        out.add(f"{parts}.append(f'{{{element}}}')")
    out.add(f"{text} = f\"[{{','.join({parts})}}]\"")


def _element(field: FieldSpec) -> FieldSpec:
    """The field as if it were one of its elements."""
    return replace(field, is_array=False)
