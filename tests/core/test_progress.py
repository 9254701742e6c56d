"""Progress of work: it reaches the listener of its body and no other; readers of logs report all that they read."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kafkactl.core.progress import advance, expect, heard_by
from kafkactl.dryrun.api import read_context
from kafkactl.metadata.api.image import load_image
from kafkactl.metadata.api.records import dump_records
from kafkactl.metadata.api.verify import verify_logs
from tests.commands.captured_logs import unpacked


class Heard:
    def __init__(self):
        self.expected = self.done = 0

    def expect(self, amount):
        self.expected += amount

    def advance(self, amount):
        self.done += amount


def test_listener_hears_its_body_and_no_other():
    outer, inner = Heard(), Heard()
    advance(1)
    with heard_by(outer):
        expect(10)
        with heard_by(inner):
            advance(2)
        with heard_by(None):
            advance(4)
        other = threading.Thread(target=advance, args=(8,))
        other.start()
        other.join()
        advance(3)
    advance(16)
    assert (outer.expected, outer.done, inner.done) == (10, 3, 2)


READERS = {
    "image": load_image,
    "dump": lambda folder: list(dump_records(folder).texts()),
    "verify": lambda folder: verify_logs([folder]),
    "dryrun": lambda folder: read_context(str(folder)),
    "dryrun with restarts": lambda folder: read_context(str(folder), restarts=True),
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_of_a_log_do_as_much_as_they_said(reader, tmp_path: Path):
    folder = unpacked("4.4.0", tmp_path)
    heard = Heard()
    with heard_by(heard):
        READERS[reader](folder)
    segments = sum(file.stat().st_size for file in folder.glob("*.log"))
    assert segments <= heard.done <= heard.expected
    assert heard.done > heard.expected * 0.8
