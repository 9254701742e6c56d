"""Command lines with `--timeout` against real nodes behind a network that fails.

A thinned set of the cases of tests/kafka/command_cases.py. Nodes name each other by their own addresses, which
the process of a command translates to those of the proxies.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafkactl.cluster.io.metadata_fetch import iterate_metadata_log
from kafkactl.protocol.log.frame import decode_record
from kafkactl.protocol.record_batch import decode_batches
from tests.fakes.proxy import Fault, FaultyProxy
from tests.kafka.command_cases import (
    CONVERT,
    QUESTIONS,
    UNREGISTER,
    Command,
    CommandCase,
    case_end,
    cases_of,
    key_of,
    names_of,
    wrongs,
)
from tests.kafka.command_process import Ended, run
from tests.kafka.fault_proof import REAL_COMMANDS, record
from tests.kafka.kept_cases import CaseEnd
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.quorum.test_live_faults import RealQuorum

_UNREGISTER_BROKER = 1
_BROKER = 11
LOSING = (Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.SILENCE, Fault.AGAIN)
CASES_OF = {"4.3.1": 64, "3.9.2": 24}
Sent = Callable[[Command, Path], Ended]


@contextmanager
def behind_proxies(cluster: KafkaCluster) -> Iterator[tuple[RealQuorum, Sent]]:
    """Yield the cluster, and a function that runs a command line whose every connection goes through a proxy."""
    quorum = RealQuorum(cluster)
    nodes = [*quorum.addresses, *map(cluster.broker_address, cluster.broker_ids)]
    with ExitStack() as stack:
        places = {}
        for node in nodes:
            door = stack.enter_context(FaultyProxy(node, quorum.network)).address
            places[node.host, node.port] = (door.host, door.port)

        def send(command: Command, folder: Path) -> Ended:
            return run(command.line(quorum), folder, places)

        yield quorum, send


def run_case(quorum: RealQuorum, send: Sent, case: CommandCase, folder: Path) -> CaseEnd:
    """Ask with the fault in the way."""
    before = quorum.network.struck
    quorum.network.arm(case.fault, key_of(case.request), spare=case.at)
    ended = send(case.command, folder)
    quorum.network.disarm()
    struck = quorum.network.struck > before
    return case_end(str(case), ended, struck, wrongs(case.command, ended, quorum))


def unregistered(cluster: KafkaCluster) -> int:
    """Return how many records of the log take the broker's registration out."""
    with cluster.client() as client:
        batches = [batch for part in iterate_metadata_log(client) for batch in decode_batches(part.data)]
    records = [
        decode_record(entry.value) for batch in batches if not batch.header.is_control for entry in batch.records
    ]
    return sum(found.api_key == _UNREGISTER_BROKER for found in records)


def run_unregister(quorum: RealQuorum, send: Sent, fault: Fault, folder: Path) -> CaseEnd:
    """Unregister a broker that was killed, with the fault in the request; then again without; then it comes back."""
    cluster = quorum.cluster
    command = replace(UNREGISTER, words=("nodes", "unregister", "--id", str(_BROKER), "--yes", "--stopped"))
    before = unregistered(cluster)
    cluster.kill(_BROKER)
    cluster.wait_for(lambda: _is_fenced(send, folder), "broker 11 fenced")
    end = run_case(quorum, send, CommandCase(command, "UnregisterBroker", 0, fault), folder)
    made, wrong = unregistered(cluster) - before, [*end.wrong]
    answer = json.loads((folder / "stdout").read_text(encoding="utf-8") or "{}")
    if made != {"done": 1, "exit 1": 0}.get(end.outcome, made):
        wrong.append(f"{end.outcome}, and {made} records: {answer}")
    again = send(command, folder)
    if (again.code, unregistered(cluster) - before) != (0, 1):
        wrong.append(f"run again: exit {again.code}, {unregistered(cluster) - before} records")
    cluster.start(_BROKER)
    return replace(end, wrong=tuple(wrong))


def _is_fenced(send: Sent, folder: Path) -> bool:
    answer = send(QUESTIONS[2], folder).answer
    return bool(answer) and any(node["id"] == _BROKER and node["fenced"] for node in answer["nodes"])


def run_convert(quorum: RealQuorum, send: Sent, fault: Fault, folder: Path) -> CaseEnd:
    """Convert a static quorum, with the fault in the request that does it; it is dynamic after the second run."""
    end = run_case(quorum, send, CommandCase(CONVERT, "UpdateFeatures", 1, fault), folder)
    wrong = [*end.wrong]
    level = quorum.cluster.settled_level("kraft.version")
    if (end.outcome == "done") != (level == 1) and end.outcome != "exit 6":
        wrong.append(f"{end.outcome}, and kraft.version is {level}")
    again = send(CONVERT, folder)
    level = quorum.cluster.settled_level("kraft.version")
    if (again.code, level) != (0, 1):
        wrong.append(f"run again: exit {again.code}, kraft.version is {level}")
    return replace(end, wrong=tuple(wrong))


def cases_at(quorum: RealQuorum, send: Sent, most: int, folder: Path) -> list[CommandCase]:
    """Return some of the cases of all questions, the same at each run."""
    cases: list[CommandCase] = []
    for command in QUESTIONS:
        passed = len(quorum.network.passed)
        assert send(command, folder).code in (0, 7), command
        cases += cases_of(command, names_of(quorum.network.passed[passed:]))
    return random.Random(3).sample(cases, most)


def test_question_over_a_failing_network_ends_as_expected(cluster_of: ClusterOf, tmp_path: Path) -> None:
    # Not all of them: `make lab` has those, and the changes.
    describe, verify, predict = QUESTIONS[0], QUESTIONS[3], QUESTIONS[5]
    cases = [
        CommandCase(describe, "DescribeQuorum", 0, Fault.CUT_IN_ANSWER),
        CommandCase(verify, "Fetch", 0, Fault.SILENCE),
        CommandCase(predict, "Fetch", 0, Fault.RESET),
    ]
    with behind_proxies(cluster_of("4.3.1", controllers=3, brokers=1)) as (quorum, send):
        ended = [run_case(quorum, send, case, tmp_path) for case in cases]
    assert [f"{end.case}: {end.wrong}" for end in ended if end.wrong] == []
    assert all(end.struck for end in ended)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_commands_over_a_failing_network_end_as_expected(new_cluster: ClusterOf, tmp_path: Path) -> None:
    ended: dict[str, list[CaseEnd]] = {}
    for release, most in CASES_OF.items():
        cluster = new_cluster(release, controllers=3, brokers=1).start()
        with behind_proxies(cluster) as (quorum, send):
            cases = cases_at(quorum, send, most, tmp_path / "counted")
            folders = [tmp_path / f"{release}-{number}" for number in range(most + len(LOSING))]
            ended[release] = [
                run_case(quorum, send, case, folder) for case, folder in zip(cases, folders, strict=False)
            ]
            ended[release] += [run_unregister(quorum, send, *pair) for pair in zip(LOSING, folders[most:], strict=True)]
        cluster.close()
    for fault in LOSING:
        cluster = new_cluster("4.3.1", controllers=1, brokers=0, dynamic=False).start()
        with behind_proxies(cluster) as (quorum, send):
            ended["4.3.1"].append(run_convert(quorum, send, fault, tmp_path / f"convert-{fault.name}"))
        cluster.close()
    record(REAL_COMMANDS, _proof(ended))
    assert [f"{end.case}: {end.wrong}" for ends in ended.values() for end in ends if end.wrong] == []


def _proof(ended: dict[str, Sequence[CaseEnd]]) -> str:
    every = [end for ends in ended.values() for end in ends]
    hit, wrong = [end for end in every if end.struck], [end for end in every if end.wrong]
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}: {len(every)} cases played, the fault struck in {len(hit)}; {len(wrong)} with "
        "what must not be, as above. Three controllers and a broker, or one static controller to convert. Effects are "
        "counted in the metadata log.",
        "",
        "| Kafka | commands | cases | exit 0 | 1 | 3 | 4 | 5 | 6 | 7 | slowest, s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for release, ends in ended.items():
        names = ", ".join(dict.fromkeys(end.case.rpartition(", ")[0] for end in ends))
        rows = [end for end in ends if end.struck]
        counts = Counter(end.outcome for end in rows)
        cells = " | ".join(str(counts[word]) for word in ("done", *(f"exit {code}" for code in (1, 3, 4, 5, 6, 7))))
        slowest = max((end.seconds for end in rows), default=0.0)
        lines.append(f"| {release} | {names} | {len(rows)} | {cells} | {slowest:.1f} |")
    return "\n".join([*lines, "", *(f"- wrong: {end.case}: {'; '.join(end.wrong)}" for end in wrong)])
