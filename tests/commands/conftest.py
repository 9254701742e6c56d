from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafkactl.commands.framework.lazy_group import Entry
from kafkactl.commands.main import COMMANDS
from kafkactl.kafka.retries import Backoff
from tests.conftest import Run


@pytest.fixture(autouse=True, scope="module")
def short_pauses() -> Iterator[None]:
    """Pause for a hundredth of the time between two rounds of requests; tests/kafka has the true times.

    A part of a bundle whose cluster does not answer pauses for 2.5 s, and a bundle has four of them.
    """
    usual = Backoff.wait_ms

    def wait_ms(backoff: Backoff, number: int, randomness: Callable[[], float]) -> float:
        return usual(backoff, number, randomness) / 100

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Backoff, "wait_ms", wait_ms)
        yield


@pytest.fixture
def sample(kafkactl: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Run `kafkactl sample ARGS`, a command of tests/commands/sample.py that is registered for the test alone."""
    monkeypatch.setitem(COMMANDS, "sample", Entry("tests.commands.sample", "command", "A sample."))

    def run(*arguments: object, input: str = "") -> Run:
        return kafkactl("sample", *arguments, input=input)

    return run
