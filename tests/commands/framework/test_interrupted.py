"""Ctrl-C before a command that changes a cluster has sent anything: the message says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.commands.demo.broker import FakeBroker
from kafkactl.files.clock import SystemClock
from kafkactl.kafka import connection as connections
from kafkactl.kafka.api import connection as opening
from kafkactl.kafka.connection import Access, connect
from tests.conftest import Run

SENT = "nothing was sent"


@pytest.fixture(autouse=True)
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt every command before its first request; no earlier test of this process has sent a change."""

    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(connections, "CHANGES_SENT", [])
    monkeypatch.setattr(opening, "connect", interrupt)


@pytest.mark.parametrize(
    "words", [("quorum", "reassign", "--target", "1"), ("features", "upgrade", "--metadata", "4.3")]
)
def test_change_that_was_not_sent_is_reported_as_such(kafkactl: Callable[..., Run], words) -> None:
    run = kafkactl(*words, "--bootstrap-controller", "c:1", "-o", "json")
    assert (run.code, run.error["id"]) == (130, "interrupted")
    assert SENT in run.error["message"]


def test_read_only_command_reports_no_sent_request(kafkactl: Callable[..., Run]) -> None:
    assert SENT not in kafkactl("nodes", "list", "--bootstrap-controller", "c:1").stderr


def test_change_that_was_sent_is_not_denied(kafkactl: Callable[..., Run]) -> None:
    with FakeBroker() as broker:
        deadline = Deadline.after(60_000, SystemClock())
        with connect(broker.address, Access(), deadline) as opened:
            opened.ask(
                "ApiVersions",
                {"ClientSoftwareName": "a", "ClientSoftwareVersion": "1"},
                deadline=deadline,
                changes=True,
            )
    run = kafkactl("features", "upgrade", "--metadata", "4.3", "--bootstrap-controller", "c:1")
    assert run.code == 130
    assert SENT not in run.stderr
