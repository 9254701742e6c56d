"""Tasks for workers whose Python lacks a package."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from kafkactl.jobs import ship

pytest.importorskip("pyspark")


def test_task_is_the_function_if_all_packages_are_there() -> None:
    assert list(ship.shipped(lambda rows: (row + 1 for row in rows))([1, 2])) == [2, 3]  # type: ignore[arg-type]


def test_missing_package_of_a_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    task = ship.ShippedTask(b"not read")
    monkeypatch.setattr(ship, "find_spec", lambda name: None if name == "numpy" else find_spec(name))
    with pytest.raises(ModuleNotFoundError, match="has no numpy: set PYSPARK_PYTHON"):
        list(task([]))
