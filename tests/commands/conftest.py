from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkactl.commands.framework.lazy_group import Entry
from kafkactl.commands.main import COMMANDS
from tests.conftest import Run


@pytest.fixture
def sample(kafkactl: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Run `kafkactl sample ARGS`, a command of tests/commands/sample.py that is registered for the test alone."""
    monkeypatch.setitem(COMMANDS, "sample", Entry("tests.commands.sample", "command", "A sample."))

    def run(*arguments: object, input: str = "") -> Run:
        return kafkactl("sample", *arguments, input=input)

    return run
