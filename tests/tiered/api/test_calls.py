"""`kafkactl.tiered` as the API reference writes it: the same answers that the commands print."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import kafkactl as library
from kafkactl.core.answers import read_fields
from kafkactl.tiered import api
from tests.conftest import Run
from tests.repository.tree import ROOT
from tests.tiered.logs import TIERED, LogOf, Topic, observed, partition_seen, save_observation
from tests.tiered.page.answers import tiered_audit

TOPIC = Topic("orders", 1)


@pytest.fixture
def saved(tmp_path: Path) -> str:
    log = LogOf(0).add(
        TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 20, 29), TOPIC.started(0, "x", 30, 39, broker=3)
    )
    seen = partition_seen(earliest=0, local=25, latest=60, bases=(25, 40))
    return str(save_observation(tmp_path / "seen", observed([(TOPIC, TIERED, [seen])]), log))


def test_every_name_is_there_documented_and_typed():
    for name in api.__all__:
        found = getattr(library.tiered, name)
        assert found is getattr(api, name) and inspect.getdoc(found), name
        if inspect.isfunction(found):
            assert set(inspect.get_annotations(found)) == {*inspect.signature(found).parameters, "return"}, name


def test_no_name_is_that_of_a_module():
    folders = (ROOT / "kafkactl/tiered", ROOT / "kafkactl/tiered/api")
    assert not {path.stem for folder in folders for path in folder.iterdir()} & set(api.__all__)


def test_report_is_made_from_a_saved_observation(saved: str, tmp_path: Path, kafkactl: Callable[..., Run]):
    loaded = library.tiered.load_remote_log(library.tiered.Request(observation=saved))
    found = library.tiered.report(loaded)
    printed = kafkactl("tiered", "report", "--observation", saved, "-o", "json").json
    assert json.loads(json.dumps(found.to_dict())) == {
        name: value for name, value in printed.items() if name not in ("kind", "schema_version", "html", "details")
    }
    assert [finding.id for finding in found.findings] == ["gap", "orphan-copy"]
    library.tiered.write_html(str(tmp_path / "page.html"), found)
    kafkactl("tiered", "report", "--observation", saved, "--html", tmp_path / "other.html")
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "other.html").read_bytes()


def test_saved_audit_is_read_as_the_value_that_was_saved():
    found = tiered_audit("orders")
    assert read_fields(library.tiered.Audit, json.loads(json.dumps(found.to_dict()))) == found


def test_other_verbs_use_a_saved_observation(saved: str):
    loaded = library.tiered.load_remote_log(library.tiered.Request(observation=saved))
    assert library.tiered.audit_remote_log(loaded).partitions[0].next_upload_offset == 30
    assert len(library.tiered.segments(loaded, library.tiered.Filters(topics=("orders",)))) == 3
    assert len(list(library.tiered.history(loaded))) == 5
    assert library.tiered.foresee(loaded).partitions[0].case.topic == "orders"
    with pytest.raises(library.KafkactlError):
        library.tiered.left_over(loaded, older_than_ms=0, include_orphans=False)
