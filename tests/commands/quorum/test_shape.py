"""The typed shape of an answer about a quorum and the published schema have the same fields."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.commands.models import quorum as models
from kafkactl.commands.models import shared
from kafkactl.quorum import answer
from kafkactl.values import EndpointDict

HEAD = {"kind", "schema_version"}
PAIRS: list[tuple[Any, Any]] = [
    (EndpointDict, shared.Endpoint),
    (answer.ReplicaDict, models.Replica),
    (answer.NodeDict, models.QuorumNode),
    (answer.DiskDict, models.QuorumDisk),
    (answer.QuorumDict, models.QuorumDescribe),
    (answer.StepDict, models.QuorumStep),
    (answer.ForecastDict, models.QuorumForecast),
    (answer.ChangeDict, models.QuorumChange),
]


@pytest.mark.parametrize("shape, model", PAIRS, ids=lambda pair: pair.__name__)
def test_a_part_has_the_fields_of_the_schema(shape: Any, model: Any) -> None:
    assert shape.__required_keys__ == {*model.model_fields} - HEAD
