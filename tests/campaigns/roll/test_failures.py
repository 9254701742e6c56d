"""Rolls of a real cluster in which a node, a hook or a disk fails; then the printed next step is carried out."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.campaigns.roll.page import HEAD, PAGE
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.ports import free_port
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import ACCEPTED, canary, create_topics, ids, wait_until_quiet
from tests.proof_page import record_part

pytestmark = pytest.mark.timeout(7200)
NewCluster = Callable[..., KafkaCluster]
OLD, NEW = "4.0.2", "4.3.1"
ALL_ACCEPTED = (*ACCEPTED, "--accept", "partial-roll")
SHORT = ("--gate-interval", "1s", "--gate-timeout", "40s", "--stop-timeout", "25s", "-o", "json")
LONG = ("--gate-interval", "1s", "-o", "json")
_ONE, _TWO, _UPGRADE = ("--only", "11"), ("--only", "11,12"), ("--to", NEW, "--only", "1,11")
_COMMAND = re.compile(r"kafkactl (roll (?:run|rollback) .*)$")
Answer = dict[str, Any]
Act = Callable[[Rolled], Answer | None]
Plant = Callable[[Rolled], None]


class Failure(NamedTuple):
    """A failure in a roll of some nodes, and the expected exit code and finding of the run.

    `plant` makes it happen, `heal` is what the operator does before the printed next step is carried out.
    """

    name: str
    plant: Plant
    heal: Plant
    id: str
    words: tuple[str, ...] = _ONE
    code: int = 5


def once(verb: str, node_id: int, act: Act) -> Plant:
    """Return a plant that acts in the first hook of a node; the answer of the act replaces the hook's own effect."""

    def plant(rolled: Rolled) -> None:
        is_done = threading.Event()

        def fault(held: Rolled, _node: int) -> Answer | None:
            if is_done.is_set():
                return None
            is_done.set()
            return act(held)

        rolled.faults[verb, node_id] = fault

    return plant


def always(verb: str, node_id: int, act: Act) -> Plant:
    """Return a plant that acts in every hook of a node."""

    def plant(rolled: Rolled) -> None:
        rolled.faults[verb, node_id] = lambda held, _node: act(held)

    return plant


def repaired(rolled: Rolled) -> None:
    """Repair the hooks."""
    rolled.faults.clear()


def started(*node_ids: int) -> Plant:
    """Return a repair that starts nodes, and waits until the cluster is complete."""

    def heal(rolled: Rolled) -> None:
        rolled.faults.clear()
        rolled.cluster.start(*node_ids)

    return heal


def controller_started(rolled: Rolled) -> None:
    """Start the controller; a broker that waits for it ends then."""
    rolled.faults.clear()
    rolled.cluster.node(1).start().wait_ready()


def resumed(node_id: int) -> Plant:
    """Return a repair that continues a paused node, and waits until the cluster is complete."""

    def heal(rolled: Rolled) -> None:
        rolled.faults.clear()
        rolled.cluster.resume(node_id)
        rolled.cluster.wait_complete()

    return heal


def stopped_by_hand(node_id: int) -> Plant:
    """Return a repair that stops a node whose process has the wrong file."""

    def heal(rolled: Rolled) -> None:
        rolled.faults.clear()
        rolled.cluster.stop(node_id)

    return heal


def kills(node_id: int) -> Act:
    return lambda rolled: rolled.cluster.kill(node_id)


def pauses(node_id: int) -> Act:
    return lambda rolled: rolled.cluster.pause(node_id)


def kills_leader(rolled: Rolled) -> None:
    """Kill the leader of the quorum."""
    rolled.cluster.kill(rolled.cluster.leader())


def pauses_leader(rolled: Rolled) -> None:
    """Pause the leader of the quorum."""
    rolled.cluster.pause(rolled.cluster.leader())


def controllers_repaired(rolled: Rolled) -> None:
    """Start and continue the controllers."""
    rolled.faults.clear()
    rolled.cluster.resume(*[id for id in rolled.cluster.controller_ids if rolled.cluster.node(id).alive])
    rolled.cluster.start()


def starts_and_sends(node_id: int, sign: int) -> Act:
    """Return a start whose process gets a signal at once."""

    def act(rolled: Rolled) -> Answer:
        rolled.cluster.node(node_id).start().running.send(sign)
        return {}

    return act


def hangs(_rolled: Rolled) -> Answer:
    time.sleep(150)  # the timeout of hooks is 120 s
    return {"exit": 1}


def fails(_rolled: Rolled) -> Answer:
    return {"exit": 1, "err": "no space left on device"}


def lies(_rolled: Rolled) -> Answer:
    return {}


def starts_old(node_id: int) -> Act:
    """Return a start with the old binary, whatever is installed."""

    def act(rolled: Rolled) -> Answer:
        rolled.cluster.change_release(node_id, OLD)
        return {}

    return act


def starts_with_another_port(node_id: int) -> Act:
    """Return a start with a file that has another port, which is put back when the process has read it."""

    def act(rolled: Rolled) -> Answer:
        place, node = rolled.cluster.config_file(node_id), rolled.cluster.node(node_id)
        text = place.read_text()
        place.write_text(moved(rolled.cluster, node_id))
        node.start()
        rolled.cluster.wait_for(lambda: "KafkaConfig values" in node.log_text(), "the file read", 90)
        place.write_text(text)
        return {}

    return act


def moved(cluster: KafkaCluster, node_id: int) -> str:
    """Return the file of a broker with another port."""
    port = str(cluster.broker_address(node_id).port)
    return cluster.config_file(node_id).read_text().replace(port, str(free_port()))


FAILURES = (
    Failure("stop hook fails", always("stop", 11, fails), repaired, "hook-failed"),
    Failure("stop hook does nothing", always("stop", 11, lies), repaired, "shutdown-not-finished"),
    Failure("start hook fails", always("start", 11, fails), repaired, "hook-failed"),
    Failure("start hook does nothing", always("start", 11, lies), repaired, "start-failed"),
    Failure("start hook hangs", always("start", 11, hangs), repaired, "hook-timed-out"),
    Failure("node killed at its start", once("start", 11, starts_and_sends(11, signal.SIGKILL)), repaired,
            "start-failed"),
    Failure("node paused at its start", once("start", 11, starts_and_sends(11, signal.SIGSTOP)), resumed(11),
            "node-not-back"),
    Failure("another broker killed at the stop", once("stop", 11, kills(13)), started(13), "nobody-else-is-down"),
    Failure("another broker killed at the start", once("start", 11, kills(13)), started(13), "nobody-else-is-down",
            _TWO),
    Failure("another broker paused at the start", once("start", 11, pauses(13)), resumed(13), "nobody-else-is-down",
            _TWO),
    Failure("only controller killed at the stop", once("stop", 11, kills(1)), controller_started,
            "shutdown-not-finished"),
    Failure("only controller killed at the start", once("start", 11, kills(1)), repaired, "", code=0),
    Failure("only controller paused at the start", once("start", 11, pauses(1)), resumed(1), "node-not-back"),
    Failure("node started with another file", once("start", 11, starts_with_another_port(11)), stopped_by_hand(11),
            "node-not-back"),
    Failure("install hook does nothing", always("install", 1, lies), repaired, "install-not-effective", _UPGRADE),
    Failure("node started with the old binary", always("start", 12, starts_old(12)), repaired, "node-not-back",
            ("--to", NEW, "--only", "12")),
)  # fmt: skip


LEADER_FAILURES = (
    Failure("leader killed at the stop", once("stop", 11, kills_leader), controllers_repaired, "", _TWO, 0),
    Failure("leader killed at the start", once("start", 11, kills_leader), controllers_repaired, "", _TWO, 0),
    Failure("leader paused at the stop", once("stop", 11, pauses_leader), controllers_repaired, "", _TWO, 0),
    Failure("leader paused at the start", once("start", 11, pauses_leader), controllers_repaired, "", _TWO, 0),
)


def reasons(answer: Answer) -> list[tuple[str, str, str]]:
    """Return id, message and next step of what stopped a run."""
    blockers = [found for found in answer["findings"] if found["severity"] == "blocker"]
    return [(found["id"], found["message"], found["next_step"]) for found in blockers]


def ask(rolled: Rolled, words: list[str]) -> tuple[int, Answer]:
    """Run a command of kafkactl that is typed as these words; return its exit code and its answer, or its error."""
    command = [sys.executable, "-m", "kafkactl", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    if done.stdout.strip():
        answer: Answer = json.loads(done.stdout)
        return done.returncode, answer
    return done.returncode, {"outcome": None, "findings": [], "error": done.stderr[-2000:]}


def run_into(rolled: Rolled, failure: Failure) -> list[str]:
    """Run a roll into a failure, carry out what is printed, and end the roll. Return what was not as expected."""
    command = ["roll", "run", "--inventory", str(rolled.inventory), *failure.words, *ALL_ACCEPTED]
    wait_until_quiet(rolled)
    failure.plant(rolled)
    began = time.monotonic()
    code, answer = ask(rolled, [*command, *SHORT])
    print(f"== {failure.name}: exit {code}, {answer['outcome']}, {time.monotonic() - began:.0f} s")
    print(*reasons(answer), answer.get("error", ""), sep="\n   ")
    wrong = []
    if code != failure.code or not (
        not failure.id or failure.id in ids(answer) or failure.id in answer.get("error", "")
    ):
        wrong.append(f"{failure.name}: exit {code} with {ids(answer)}")
    _, shown = ask(rolled, ["roll", "status", "--inventory", str(rolled.inventory), "-o", "json"])
    print(f"   status: {shown['phase']}: {shown['next_action']}", flush=True)
    failure.heal(rolled)
    if code:
        wrong += [f"{failure.name}: {text}" for text in carried_out(rolled, command, answer)]
    return wrong


def carried_out(rolled: Rolled, command: list[str], answer: Answer) -> list[str]:
    """Carry out the command that a run names, if it names one, and the same command again."""
    step = next((step for _, _, step in reasons(answer) if step), "")
    typed = [shlex.split(found[1]) + list(ALL_ACCEPTED) for found in [_COMMAND.search(step)] if found]
    for words in (*typed, command):
        wait_until_quiet(rolled)
        code, last = ask(rolled, [*words, *LONG])
        print(f"   then {' '.join(words)}: exit {code}", *reasons(last), last.get("error", ""), flush=True)
        if code:
            return [f"{words} ended with {code}: {ids(last)}"]
    return []


def test_failure_in_a_roll_is_named_and_its_next_step_ends_the_roll(new_cluster: NewCluster) -> None:
    cluster = new_cluster(OLD, controllers=1, brokers=3).start()
    create_topics(cluster, {"canary": (6, 3, {"min.insync.replicas": "1"})})
    wrong = []
    with Rolled(cluster) as rolled, canary(cluster) as producer:
        for failure in FAILURES:
            wrong += run_into(rolled, failure)
            cluster.wait_complete()
    assert wrong == []
    assert producer.result["lost"] == 0
    record_part(
        PAGE, HEAD, f"failures in a roll of {OLD} and to {NEW}, 3 brokers and a controller",
        f"{len(FAILURES)} of {len(FAILURES)}: a hook that fails, hangs or does nothing, nodes and the controller "
        "killed or paused, the wrong file, the wrong binary; each is named, and the printed step ends the roll; "
        f"canary: {producer.result['acked']} acked, 0 lost",
    )  # fmt: skip


def test_leader_of_three_controllers_that_fails_in_a_step_does_not_end_the_roll(new_cluster: NewCluster) -> None:
    # Two voters remain, and elect another leader, in which the step goes on.
    cluster = new_cluster("4.3.1", controllers=3, brokers=2).start()
    create_topics(cluster, {"canary": (4, 2, {"min.insync.replicas": "1"})})
    wrong = []
    with Rolled(cluster) as rolled, canary(cluster) as producer:
        for failure in LEADER_FAILURES:
            wrong += run_into(rolled, failure)
            cluster.wait_complete()
    assert wrong == []
    assert producer.result["lost"] == 0
    record_part(
        PAGE, HEAD, "leader of three controllers killed or paused in a step of a broker",
        f"{len(LEADER_FAILURES)} of {len(LEADER_FAILURES)}: another voter leads, the roll of two brokers is done; "
        f"canary: {producer.result['acked']} acked, 0 lost",
    )  # fmt: skip


def test_full_disk_of_the_journal_ends_the_run_and_the_next_one_goes_on(new_cluster: NewCluster) -> None:
    # The journal is on a small file system, which another program fills as a hook runs. Needs root.
    cluster = new_cluster("4.3.1", controllers=1, brokers=2).start()
    create_topics(cluster, {"canary": (4, 2, {"min.insync.replicas": "1"})})
    place = cluster.disks.workdir / "journal"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], check=True)
    wrong = []
    try:
        with Rolled(cluster) as rolled, canary(cluster) as producer:
            for verb in ("stop", "start"):
                wrong += run_into(rolled, full(verb, place))
                cluster.wait_complete()
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert wrong == []
    assert producer.result["lost"] == 0
    record_part(
        PAGE, HEAD, "disk of the journal full at a stop and at a start",
        "the run ends with journal-not-written, the same command ends the roll when there is room; canary: "
        f"{producer.result['acked']} acked, 0 lost",
    )  # fmt: skip


def full(verb: str, place: Path) -> Failure:
    """Return the failure of a journal that cannot be written after a hook."""
    ballast = place / "ballast"

    def fill(_rolled: Rolled) -> None:
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 512)

    def heal(rolled: Rolled) -> None:
        rolled.faults.clear()
        ballast.unlink()

    words = ("--only", "1,11,12")  # the entries of three nodes need more than the rest of the journal's last block
    return Failure(f"full disk at the {verb}", once(verb, 1, fill), heal, "journal-not-written", words)


def test_broker_that_moves_to_another_address_gets_its_file_back(new_cluster: NewCluster, tmp_path: Path) -> None:
    cluster = new_cluster("4.3.1", controllers=1, brokers=2).start()
    create_topics(cluster, {"canary": (4, 2, {"min.insync.replicas": "1"})})
    rendered = tmp_path / "rendered"
    rendered.mkdir()
    before = cluster.config_file(12).read_text()
    (rendered / "12.properties").write_text(moved(cluster, 12))
    words = ("--only", "12", "--rendered", str(rendered))
    command = ["roll", "run", "--inventory", str(cluster.disks.workdir / "roll.toml"), *words, *ALL_ACCEPTED]
    with Rolled(cluster) as rolled, canary(cluster) as producer:
        wait_until_quiet(rolled)
        code, answer = ask(rolled, [*command, *SHORT])
        print(code, *reasons(answer), sep="\n   ", flush=True)
        (step,) = {step for id, _, step in reasons(answer) if id == "node-not-back"}
        found = _COMMAND.search(step)
        assert found
        back, last = ask(rolled, [*shlex.split(found[1]), *ALL_ACCEPTED, *LONG])
        print(back, *reasons(last), sep="\n   ", flush=True)
        assert (code, back, last["outcome"]) == (5, 0, "done")
        assert cluster.config_file(12).read_text() == before
    assert producer.result["lost"] == 0
    record_part(
        PAGE, HEAD, "a new file moves a broker to another address than that of the inventory",
        "the run ends with node-not-back, and the printed command gives the file before back; canary: "
        f"{producer.result['acked']} acked, 0 lost",
    )  # fmt: skip
