"""Arrow arrays of Python values, without `pyarrow.array`, which imports pandas: 50 MiB of a worker's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_BYTES: Final = 2**31 - 1  # of an array's texts, whose offsets are 32 bits


def array(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    """Return an array of values, each of which may be None: numbers, booleans, times in the unit of the type, texts,
    bytes, lists, structs.

    A struct is a mapping, or a tuple in the order of the fields. Bytes of a text that are not UTF-8 (PEP 383) are
    written as escapes. Raises OverflowError for a number outside the type, and for 2 GB of texts or list items.
    """
    import numpy as np
    import pyarrow as pa

    kinds, valid = pa.types, None
    if None in values:
        present = [value is not None for value in values]
        if not any(present):
            return pa.nulls(len(values), type)
        valid = pa.py_buffer(np.packbits(present, bitorder="little"))
        blank: Any = (
            "" if kinds.is_string(type) else b"" if kinds.is_binary(type) else () if kinds.is_nested(type) else 0
        )
        values = [blank if value is None else value for value in values]
    if kinds.is_struct(type):
        parts = [array(_column(values, at, field.name), field.type) for at, field in enumerate(type)]
        return pa.Array.from_buffers(type, len(values), [valid], children=parts)
    if kinds.is_list(type):
        content = array(list(chain.from_iterable(values)), type.value_type)
        return pa.Array.from_buffers(type, len(values), [valid, _offsets(values)], children=[content])
    if kinds.is_string(type) or kinds.is_binary(type):
        texts = values if kinds.is_binary(type) else list(map(_utf8, values))
        return pa.Array.from_buffers(type, len(values), [valid, _offsets(texts), pa.py_buffer(b"".join(texts))])
    if kinds.is_boolean(type):
        bits = np.packbits(np.array(values, dtype=bool), bitorder="little")
        return pa.Array.from_buffers(type, len(values), [valid, pa.py_buffer(bits)])
    numbers = np.array(values, dtype={"double": np.float64, "int32": np.int32}.get(str(type), np.int64))
    return pa.Array.from_buffers(type, len(values), [valid, pa.py_buffer(numbers)])


def _column(structs: Sequence[Any], at: int, name: str) -> list[Any]:
    """Return a field of structs: mappings by name, tuples by place; None for an empty one."""
    return [None if not value else value.get(name) if isinstance(value, Mapping) else value[at] for value in structs]


def _offsets(items: Sequence[Sequence[Any]]) -> pa.Buffer:
    import numpy as np
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, items)], dtype=np.int64)
    if ends[-1] > _MOST_BYTES:
        raise OverflowError(
            f"{len(items)} values have {ends[-1]} bytes or items; at most {_MOST_BYTES} fit in an array"
        )
    return pa.py_buffer(ends.astype(np.int32))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").encode()
