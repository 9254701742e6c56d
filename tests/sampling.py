"""Long lists of cases: `make check` runs some of them, `make test` all.

@pytest.mark.parametrize("cut", one_in(5, CUTS))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(every: int, cases: Iterable[Any]) -> list[Any]:
    """The cases of a parametrization: the first of each `every` stays as it is, the others are marked `many`.

    A tuple has the values of several arguments, as `parametrize` takes them.
    """
    return [case if place % every == 0 else _one_of_many(case) for place, case in enumerate(cases)]


def _one_of_many(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.many))
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.many)
