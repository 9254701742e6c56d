"""Text of events with few facts: nothing is shown that an event does not have."""

from __future__ import annotations

import pytest

from kafkactl.change.progress import Event
from kafkactl.commands.quorum.change_run import _Talk
from kafkactl.commands.rendering.progress_lines import ProgressLines
from tests.quorum.scripted_port import SteppedClock


def test_wait_of_which_nothing_was_seen_yet_is_a_line_without_a_sight(capsys: pytest.CaptureFixture[str]):
    talk = ProgressLines(is_terminal=False, clock=SteppedClock())
    talk(Event(kind="wait", text="broker 2 to answer"))
    talk(Event(kind="wait", text="broker 3 to answer", seen="broker 3 is fenced"))
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("waiting for broker 2 to answer")
    assert second.endswith("waiting for broker 3 to answer; broker 3 is fenced")


@pytest.mark.parametrize("kind", ["done", "send", "note"])
def test_event_about_no_step_is_shown_as_its_text(kind: str, capsys: pytest.CaptureFixture[str]):
    _Talk(watch=False)(Event(kind=kind, text="the quorum is dynamic"))
    assert capsys.readouterr().err == "the quorum is dynamic\n"


def test_callback_can_see_that_no_step_and_no_state_was_given():
    # To a caller of the library None means that; a state or a step may be any other value, an empty one as well.
    event = Event(kind="note", text="x")
    assert (event.step, event.state, event.seen) == (None, None, "")
