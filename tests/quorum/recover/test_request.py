"""A request in which the operator accepted nothing."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace as Some

from kafkactl.core.values import Uuid
from kafkactl.quorum.recover.request import Request


def test_no_loss_and_no_repair_is_accepted_unless_it_is_named() -> None:
    made = Request(target=Some(), directory_id=Uuid(bytes(15) + b"\7"), now_ms=1)  # type: ignore[arg-type]
    accepted = {each.name: getattr(made.overrides, each.name) for each in fields(made.overrides)}
    assert "accept_loss" in accepted
    assert [name for name, value in accepted.items() if value is not False] == []
    assert (made.source, made.lost) == (None, ())
    assert (made.raise_epoch, made.raise_offset) == (1_000_000, 1_000_000)
