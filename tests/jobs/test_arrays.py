"""Arrow arrays that are made without pandas equal those of pyarrow."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest

from kafkactl.jobs.arrays import array
from kafkactl.spark.arrow import arrow_schema
from kafkactl.spark.columns import TABLES

pa = pytest.importorskip("pyarrow")


def value_of(choice: random.Random, type: Any, *, as_tuple: bool) -> Any:
    """Return a value, or None."""
    if choice.random() < 0.2:
        return None
    if pa.types.is_struct(type):
        parts = {field.name: value_of(choice, field.type, as_tuple=as_tuple) for field in type}
        return tuple(parts.values()) if as_tuple else parts
    if pa.types.is_list(type):
        return [value_of(choice, type.value_type, as_tuple=as_tuple) for _ in range(choice.randint(0, 3))]
    if pa.types.is_string(type):
        return "".join(choice.choices("aé日 \0", k=choice.randint(0, 5)))
    if pa.types.is_boolean(type):
        return choice.random() < 0.5
    if pa.types.is_floating(type):
        return choice.uniform(-1e300, 1e300)
    bits = 31 if type == pa.int32() else 63
    return choice.choice((-(2**bits), 2**bits - 1, choice.randint(-9, 9)))


@pytest.mark.parametrize("table", TABLES)
def test_arrays_of_every_column_equal_those_of_pyarrow(table: str) -> None:
    choice = random.Random(table)
    for field in arrow_schema(TABLES[table]):
        for count, as_tuple in ((0, False), (1, False), (9, True), (60, False), (60, True)):
            values = [value_of(choice, field.type, as_tuple=as_tuple) for _ in range(count)]
            found = array(values, field.type)
            found.validate(full=True)
            assert found.equals(pa.array(values, type=field.type)), (field, values)


def test_bytes_and_names_that_are_not_utf8() -> None:
    assert array([b"\xff\0", None, b""], pa.binary()).to_pylist() == [b"\xff\0", None, b""]
    assert array(["a\udcffb", "é"], pa.string()).to_pylist() == ["a\\xffb", "é"]


def test_value_outside_of_the_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, type in ((2**31, pa.int32()), (2**63, pa.int64())):
        with pytest.raises(OverflowError):
            array([value], type)
    monkeypatch.setattr("kafkactl.jobs.arrays._MOST_BYTES", 5)
    assert len(array(["abc", "de"], pa.string())) == 2
    for values, type in ((["abc", "def"], pa.string()), ([[1, 2, 3], [4, 5, 6]], pa.list_(pa.int32()))):
        with pytest.raises(OverflowError, match="6 bytes or items"):
            array(values, type)


@pytest.mark.slow
def test_rows_are_made_without_pandas() -> None:
    program = (
        "import sys; from kafkactl.spark.arrow import batches; from kafkactl.spark.columns import TABLES;"
        "from kafkactl.jobs.pickled import pickled_row; pickled_row(1, 2);"
        "assert len(list(batches(TABLES['errors'], [('a', 'b', 1, None, 'c')]))) == 1;"
        "assert 'pyarrow' in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
