"""Every input of the corpus, and every one that ever failed, goes through its target; and each reader has a target."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from types import FrameType
from typing import Any

import pytest

from tests.fuzz import campaign, corpus_choice
from tests.fuzz.target import CORPUS, FAILED, MOST_MEMORY_BYTES, Target, UndeclaredError, execute, little_memory
from tests.fuzz.targets import TARGETS
from tests.repository.tree import ROOT
from tests.sampling import one_in

MOST_CORPUS_BYTES = 2_000_000


@pytest.mark.parametrize(
    "target",
    [
        *one_in(3, [target for target in TARGETS.values() if not target.slow]),
        *(pytest.param(target, marks=pytest.mark.many) for target in TARGETS.values() if target.slow),
    ],
    ids=lambda target: target.name,
)
def test_every_input_is_read_or_refused(target: Target) -> None:
    """And the sound ones reach each module that the target is there for."""
    feed, seeds = target.make()
    reached = entered(lambda: [execute(feed, target.declared, seed) for seed in seeds])
    for path in (*target.corpus, *target.failed):
        try:
            execute(feed, target.declared, path.read_bytes())
        except Exception as error:
            error.add_note(f"input: {path.relative_to(ROOT)}")
            raise
    missing = {name for name in target.reads if f"kafkactl/{name.replace('.', '/')}" not in reached}
    assert not missing, "the seeds do not get there"


def entered(work: Any) -> set[str]:
    """The modules of the library whose functions ran, as paths without their end."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {f"kafkactl/{name.rpartition('/kafkactl/')[2].removesuffix('.py')}" for name in found}


def test_the_corpus_is_small_and_belongs_to_targets() -> None:
    for folder in (CORPUS, FAILED):
        assert {path.name for path in folder.iterdir()} <= set(TARGETS)
    files = [path for target in TARGETS.values() for path in (*target.corpus, *target.failed)]
    assert sum(path.stat().st_size for path in files) <= MOST_CORPUS_BYTES
    assert len(TARGETS) >= 20


def test_an_undeclared_error_a_strange_id_and_much_memory_are_failures() -> None:
    from kafkactl.errors import InputError

    def refuse(data: bytes) -> object:
        raise InputError("no", id=data.decode())

    assert execute(refuse, (InputError,), b"invalid-target") == "invalid-target"
    with pytest.raises(UndeclaredError):
        execute(refuse, (InputError,), b"no-such-id")
    with pytest.raises(ZeroDivisionError):
        execute(lambda data: 1 // len(data), (InputError,), b"")
    code = (
        "from tests.fuzz.target import little_memory\n"
        f"bytes({MOST_MEMORY_BYTES} * 2)\n"
        f"with little_memory():\n bytes({MOST_MEMORY_BYTES} // 4)\n try:\n  bytes({MOST_MEMORY_BYTES} * 2)\n"
        " except MemoryError:\n  print('bounded')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "bounded\n"
    assert little_memory


def test_the_choice_of_inputs_keeps_what_reaches_more() -> None:
    from kafkactl.protocol.text.java_text import parse_boolean

    def feed(data: bytes) -> object:
        return parse_boolean(data.decode("ascii"))

    files = [b"true", b"TRUE", b"false", b"none", b"x" * 5_000]
    chosen = corpus_choice.choose(feed, (), files, set())
    assert 1 <= len(chosen) < len(files) and len(chosen[0]) == 4
    assert not corpus_choice.choose(
        feed, (), files, set().union(*(corpus_choice.steps(feed, (), each) for each in files))
    )


def test_the_page_is_read_as_it_is_written_and_a_complete_campaign_is_over() -> None:
    rows = {
        name: campaign.Row(executions=10_000 + at, seconds=20, edges=5, features=7, corpus=2)
        for at, name in enumerate(TARGETS)
    }
    figures = campaign.Figures(rows, before=12)
    assert campaign.read_figures(f"# Fuzz\n\n{campaign.section(figures)}\n## More\n") == figures
    rows["jaas"] = campaign.Row(executions=campaign.EXECUTIONS, corpus=3, failures=1)
    again = campaign.read_figures(campaign.section(campaign.Figures(rows, before=12)))
    assert again.executions == 0 and again.before > campaign.EXECUTIONS
    assert again.rows["jaas"] == campaign.Row(corpus=3, failures=1)


def test_a_campaign_is_complete_when_every_target_was_tried_enough_or_says_why_not() -> None:
    rows = {name: campaign.Row(executions=10_000) for name in TARGETS}
    rows["jaas"] = campaign.Row(executions=campaign.EXECUTIONS)
    assert campaign.Figures(rows).is_complete and not campaign.Figures(rows).few
    rows["report-page"] = campaign.Row(executions=9_999)
    assert campaign.Figures(rows).is_complete
    assert "- report-page: a whole page is rendered" in campaign.section(campaign.Figures(rows))
    rows["pem"] = campaign.Row(executions=9_999)
    few = campaign.Figures(rows)
    assert not few.is_complete and few.few == ["pem", "report-page"]
    assert campaign.read_figures(campaign.section(few)).rows == rows


@pytest.mark.campaign
@pytest.mark.skipif(
    find_spec("atheris") is None, reason="needs atheris, which `make lab` installs where it has a wheel"
)
def test_the_campaign() -> None:
    assert campaign.campaign() == []
