"""Command lines with `--timeout` against a quorum over a network in which one thing goes wrong.

The laws: a command ends within its time limit. Exit code 0 comes with an answer that is true and not empty; anything
else says what is wrong and what to do. What a change says it did is what was done, and the same command, run again over
a sound network, reaches the target with the effect there once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kafkactl.net.transport import Address
from kafkactl.protocol.schema.definitions import message, request
from tests.fakes.operated_quorum import DEAD_BROKER, OperatedQuorum
from tests.fakes.proxy import Fault, FaultPlan
from tests.kafka.command_process import Ended, run
from tests.kafka.kept_cases import CaseEnd

ENDS_WITHIN_S = 2.5  # after the limit, in addition to what it waited for a processor: a process that starts and ends
_CHANGES = ("UpdateFeatures", "UnregisterBroker")
_OUTCOMES = {0: ("done", "nothing-to-do"), 1: ("failed",), 3: ("refused",), 5: ("partial",), 6: ("unknown",)}
_BUG = ("Traceback", "internal-error")


class Cluster(Protocol):
    """Target of a command: a fake quorum or a real one, with its network between."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def addresses(self) -> list[Address]: ...

    @property
    def network(self) -> FaultPlan: ...


Check = Callable[[Mapping[str, Any], Cluster], Iterable[str]]


@dataclass(frozen=True)
class Command:
    """A command line without its addresses: what is wrong with its answer, and the effects of a change."""

    name: str
    words: tuple[str, ...]
    timeout_s: int
    check: Check = lambda answer, cluster: ()
    effects: tuple[Any, ...] = ()
    quorum: Mapping[str, Any] = field(
        default_factory=lambda: {"controllers": 4, "voters": (1, 2, 3), "metadata_version": 25}
    )

    def line(self, cluster: Cluster, timeout_s: int | None = None) -> list[str]:
        """Return the whole command line."""
        at = ",".join(map(str, cluster.addresses))
        words = [word.replace("CLUSTER_ID", cluster.cluster_id) for word in self.words]
        limit = f"{timeout_s or self.timeout_s}s"
        return [*words, "--bootstrap-controller", at, "-o", "json", "--timeout", limit]


@dataclass(frozen=True)
class CommandCase:
    """Fault in the `at`-th request of a kind, counted from 0, that a command makes."""

    command: Command
    request: str
    at: int
    fault: Fault

    def __str__(self) -> str:
        return f"{self.command.name}, {self.request} {self.at + 1}: {self.fault.name.lower()}"


def _same_cluster(found: object, cluster: Cluster) -> Iterable[str]:
    if found != cluster.cluster_id:
        yield f"the answer is about cluster {found}"


def _quorum(answer: Mapping[str, Any], cluster: Cluster) -> Iterable[str]:
    yield from _same_cluster(answer["cluster_id"], cluster)
    voters = [voter["id"] for voter in answer["voters"]]
    if not voters or answer["leader_id"] not in voters:
        yield f"leader {answer['leader_id']} of voters {voters}"


def _features(answer: Mapping[str, Any], cluster: Cluster) -> Iterable[str]:
    yield from _same_cluster(answer["cluster_id"], cluster)
    levels = {feature["name"]: feature["finalized"] for feature in answer["features"]}
    if not levels.get("metadata.version") or not answer["nodes"]:
        yield f"levels {levels}, nodes {answer['nodes']}"


def _nodes(answer: Mapping[str, Any], cluster: Cluster) -> Iterable[str]:
    yield from _same_cluster(answer["cluster_id"], cluster)
    if len(answer["nodes"]) < len(cluster.addresses) and not answer["findings"]:
        yield f"{len(answer['nodes'])} nodes, and no finding"


def _verified(answer: Mapping[str, Any], cluster: Cluster) -> Iterable[str]:
    (source,) = answer["sources"]
    yield from _same_cluster(source["cluster_id"], cluster)
    if not source["batches"] or not source["records"]:
        yield f"nothing was verified: {source}"


def _image(answer: Mapping[str, Any], _: Cluster) -> Iterable[str]:
    if not answer["image"]["features"] or answer["offset"] < 1:
        yield f"an image of nothing: {answer['counts']}"


def _predicted(answer: Mapping[str, Any], cluster: Cluster) -> Iterable[str]:
    yield from _same_cluster(answer["source"]["cluster_id"], cluster)
    if not answer["source"]["records"]:
        yield "a prediction from nothing"


QUESTIONS = (
    Command("quorum describe", ("quorum", "describe"), 6, _quorum),
    Command("features describe", ("features", "describe"), 6, _features),
    Command("nodes list", ("nodes", "list"), 6, _nodes),
    Command("log verify", ("log", "verify", "--from-cluster"), 6, _verified),
    Command("log image", ("log", "image", "--from-cluster"), 6, _image),
    Command("dryrun restart", ("dryrun", "restart", "--from-cluster"), 6, _predicted),
    Command("dryrun report", ("dryrun", "report", "--from-cluster"), 8, _predicted),
)
CONVERT = Command(
    "quorum convert",
    ("quorum", "convert", "--confirm", "CLUSTER_ID"),
    15,
    effects=(("UpdateFeatures", (("kraft.version", 1),)),),
    quorum={"controllers": 3, "voters": (1, 2, 3), "metadata_version": 25, "static": True},
)
UNREGISTER = Command(
    "nodes unregister",
    ("nodes", "unregister", "--id", str(DEAD_BROKER), "--yes"),
    20,
    effects=(("unregister", DEAD_BROKER),),
    quorum={"controllers": 3, "voters": (1, 2, 3), "metadata_version": 25, "dead_broker": True},
)
UPGRADE = Command(
    "features upgrade",
    ("features", "upgrade", "--feature", "metadata.version=25", "--yes"),
    15,
    effects=(("UpdateFeatures", (("metadata.version", 25),)),),
    quorum={"controllers": 2, "voters": (1, 2), "metadata_version": 20},
)
EVERY_COMMAND = (*QUESTIONS, CONVERT, UNREGISTER, UPGRADE)


def requests_of(command: Command, folder: Path) -> Counter[str]:
    """Return how many requests of each kind an undisturbed run makes."""
    with OperatedQuorum(**command.quorum) as quorum:
        ended = run(command.line(quorum, 60), folder)
        assert (ended.code, quorum.effects) == (0, list(command.effects)), ended
        return names_of(quorum.network.passed)


def names_of(passed: Iterable[int]) -> Counter[str]:
    """Return the requests of these api keys, by name."""
    return Counter(request(key).name.removesuffix("Request") for key in passed)


def cases_of(command: Command, counted: Counter[str]) -> Iterable[CommandCase]:
    """Yield every fault in every request that changes something; of the others in the first, a middle one and the
    last."""
    for name, count in sorted(counted.items()):
        for at in range(count) if name in _CHANGES else sorted({0, count // 2, count - 1}):
            for fault in Fault:
                yield CommandCase(command, name, at, fault)


def run_case(case: CommandCase, folder: Path) -> CaseEnd:
    """Run the command with the fault in its way; a change then again without; say what must not have been."""
    command = case.command
    with OperatedQuorum(**command.quorum) as quorum:
        quorum.network.arm(case.fault, key_of(case.request), spare=case.at)
        ended = run(command.line(quorum), folder)
        wrong = [*wrongs(command, ended, quorum), *_untrue(ended, quorum.effects, command, case.request)]
        struck = quorum.network.struck
        quorum.network.disarm()
        if command.effects:
            again = run(command.line(quorum, 60), folder)
            if again.code != 0 or quorum.effects != list(command.effects):
                wrong.append(f"run again: exit {again.code}, effects {quorum.effects}: {again.stdout}{again.stderr}")
    return case_end(str(case), ended, bool(struck), wrong)


def key_of(name: str) -> int:
    """Return the api key of a request."""
    return message(f"{name}Request").api_key or 0


def case_end(case: str, ended: Ended, struck: bool, wrong: Iterable[str]) -> CaseEnd:
    """Return the exit code in one word or two, and the times, for the proof page."""
    outcome = "done" if ended.code == 0 else f"exit {ended.code}"
    return CaseEnd(case, outcome, round(ended.own_seconds, 1), struck, tuple(wrong), round(ended.starved_s, 1))


def wrongs(command: Command, ended: Ended, cluster: Cluster) -> Iterable[str]:
    """Yield what is wrong with the end of a command, whatever happened to it."""
    if ended.code is None or ended.own_seconds > command.timeout_s + ENDS_WITHIN_S:
        without = f"and {ended.starved_s:.1f} s without a processor"
        yield f"it took {ended.own_seconds:.1f} s of {command.timeout_s} s, {without}"
    if ended.code is None:
        return
    if any(word in ended.stderr + ended.stdout for word in _BUG):
        yield f"a bug: {ended.stderr}"
    answer, error = ended.answer, ended.error
    if ended.code and answer is None:
        if error is None or not error["message"] or not error["next_step"]:
            yield f"exit {ended.code} without a message or a next step: {ended.stderr}"
        elif error["exit_code"] != ended.code:
            yield f"exit {ended.code}, and the error says {error['exit_code']}"
    elif answer is None:
        yield "exit 0 without an answer"
    elif ended.code == 0:
        yield from command.check(answer, cluster)
    elif not answer["findings"] and not answer.get("predictions"):
        yield f"exit {ended.code} with an answer that says nothing is wrong"


def _untrue(ended: Ended, effects: list[Any], command: Command, hit: str) -> Iterable[str]:
    if len(set(effects)) < len(effects):
        yield f"done twice: {effects}"
    if not command.effects or ended.code is None:
        return
    answer = ended.answer
    said = (answer or {}).get("outcome")
    if answer is not None and said not in _OUTCOMES.get(ended.code, ()):
        yield f"exit {ended.code} with outcome {said}"
    if ended.code == 0 and effects != list(command.effects):
        yield f"called {said}, effects {effects}"
    if ended.code in (1, 2, 3, 4) and effects:
        yield f"exit {ended.code}, effects {effects}: {ended.stdout}{ended.stderr}"
    if said == "unknown" and hit not in _CHANGES and ended.seconds < command.timeout_s:
        yield "called unknown, and no request of a change was hit"
