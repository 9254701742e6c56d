"""Editing properties: nothing but what was asked for changes, in what Java reads and in the bytes."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError
from kafkactl.migration.render.properties_edit import Edits, edited, shown_diff
from kafkactl.protocol.text.properties import parse_properties

KEYS = st.sampled_from(["a", "b.c", "key", "zookeeper.connect", "broker.id"])
VALUES = st.text(st.characters(max_codepoint=0x2FF, exclude_categories=["Cs"]), max_size=8)
LINES = st.one_of(
    st.sampled_from(["", "# a comment", "  ! another \\", "   ", "key", "a:b", "b.c = x\\\n   y", "key=v\\\\", "a=\\"]),
    st.tuples(KEYS, st.sampled_from(["=", " = ", ":", " "]), st.text("xyz\\ =:#", max_size=5)).map("".join),
)
FILES = st.tuples(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans()).map(
    lambda parts: (parts[1].join(parts[0]) + (parts[1] if parts[2] else "")).encode("latin-1")
)


def _read(data):
    try:
        return dict(parse_properties(data).mapping)
    except DecodeError:
        assume(False)


@given(FILES, st.dictionaries(KEYS, VALUES, max_size=3), st.sets(KEYS, max_size=2), st.lists(KEYS, max_size=2))
def test_java_reads_what_was_asked_for_and_the_rest_as_before(data, wanted, removed, others):
    before = _read(data)
    wanted = {key: value for key, value in wanted.items() if key not in removed}
    edits = Edits(set=wanted, remove=removed, neighbours=dict.fromkeys(wanted, others))
    after = edited(data, edits)
    assert _read(after) == {key: value for key, value in before.items() if key not in removed} | wanted
    assert edited(after, edits) == after


@given(FILES)
def test_nothing_asked_for_changes_not_a_byte(data):
    before = _read(data)
    assert edited(data, Edits()) == data
    assert edited(data, Edits(set=before)) == data


@given(FILES, KEYS, st.sampled_from(["new.name", "key"]))
def test_key_gets_another_name_and_keeps_its_value(data, old, new):
    before = _read(data)
    assume(old != new)
    after = _read(edited(data, Edits(rename={old: new})))
    assert old not in after
    if old in before:
        assert after[new] == before.get(new, before[old])


def test_only_the_lines_change_that_must():
    file = b"# the broker\nbroker.id = 1\n\nlog.dirs=/a,\\\n    /b\nzookeeper.connect=z:2181\n# end\n"
    edits = Edits(
        set={"log.dirs": "/c", "flag": "true"},
        rename={"broker.id": "node.id"},
        neighbours={"flag": ["zookeeper.connect"]},
    )
    assert (
        edited(file, edits) == b"# the broker\nnode.id=1\n\nlog.dirs=/c\nzookeeper.connect=z:2181\nflag=true\n# end\n"
    )


@pytest.mark.parametrize(("file", "end"), [(b"a=1\r\nb=2", b"\r\n"), (b"a=1", b"\n"), (b"", b"\n"), (b"a=1\\", b"\n")])
def test_line_is_added_to_a_file_without_a_last_line_end(file, end):
    after = edited(file, Edits(set={"new": "x"}))
    assert after.endswith(b"new=x" + end)
    assert _read(after) == _read(file) | {"new": "x"}


def test_diff_shows_what_changes_and_no_secret():
    before = (
        b"a=1\nssl.key.password=hunter2\n#ssl.keystore.password = hunter3\nsasl.jaas.config=x \\\n"
        b"  password=h4;\nnum.io.threads=1\n"
    )
    after = edited(before, Edits(set={"num.io.threads": "2", "ssl.key.password": "hunter9"}))
    shown = shown_diff(before, after, before_name="one", after_name="other")
    assert "hunter" not in shown
    assert "h4" not in shown
    assert "-ssl.key.password=<redacted> (one)" in shown
    assert "+ssl.key.password=<redacted> (another)" in shown
    assert "+num.io.threads=2" in shown
    assert " #ssl.keystore.password=<redacted>" in shown
