"""Long lists of cases: `make check` runs some of them, `make test` all, or `make lab` if they take long.

@pytest.mark.parametrize("cut", one_in(5, CUTS))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(every: int, cases: Iterable[Any], others: pytest.MarkDecorator = pytest.mark.many) -> list[Any]:
    """Return the cases of a parametrization: the first of each `every` stays as it is, the others get a mark.

    That is `many`, or `campaign` where `make test` has a sample as well. A tuple has the values of several arguments,
    as `parametrize` takes them.
    """
    return [case if place % every == 0 else _marked(case, others) for place, case in enumerate(cases)]


def _marked(case: Any, mark: pytest.MarkDecorator) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, mark))
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=mark)
