"""The typed shape of `nodes.list` and the published schema have the same fields."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.commands.models import nodes as models
from kafkactl.features.cluster import answer

HEAD = {"kind", "schema_version"}
PAIRS: list[tuple[Any, Any]] = [
    (answer.RangeDict, models.Range),
    (answer.SeenAsDict, models.SeenAs),
    (answer.NodeDict, models.Node),
    (answer.NodesDict, models.NodesList),
]


@pytest.mark.parametrize("shape, model", PAIRS, ids=lambda pair: pair.__name__)
def test_a_part_has_the_fields_of_the_schema(shape: Any, model: Any) -> None:
    assert shape.__required_keys__ == {*model.model_fields} - HEAD
