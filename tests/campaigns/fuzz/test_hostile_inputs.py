"""Thousands of damaged inputs of every kind; KAFKACTL_FUZZ_EXAMPLES sets the number of each."""

from __future__ import annotations

import os

import pytest

from tests.samples.hostile_inputs import Kind
from tests.samples.test_hostile_inputs import KINDS, kind, numbers, try_inputs

__all__ = ["kind"]
# The fixture that runs commands removes such variables, so this one is read at import.
_EXAMPLES = os.environ.get("KAFKACTL_FUZZ_EXAMPLES")


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_damaged_input_is_an_answer_or_a_typed_error(kind: Kind, request: pytest.FixtureRequest) -> None:
    try_inputs(kind, int(_EXAMPLES or numbers(request)[1]), at_random=True)
