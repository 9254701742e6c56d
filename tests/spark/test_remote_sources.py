"""Dry runs of logs that only Hadoop opens, and tables of a dry run in the layout of an export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl.core.answers import plain_values
from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.dryrun.api import find_scenario
from kafkactl.dryrun.api.answering import Answered, Question, answer_question, read_state
from kafkactl.dryrun.api.clusters import open_clusters
from kafkactl.spark.api import answers_by_workers, planned_sources
from tests.dryrun.odd_logs import CASES, encoded
from tests.spark.conftest import MOUNT
from tests.spark.logs import write_all_logs, write_log

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "kafkactl dryrun replay"
REPLAY = Question(scenario="replay", asked=find_scenario("replay").input_of({}))


def on_spark(sources: list[str], question: Question = REPLAY, **more: Any) -> list[Answered | KafkactlError]:
    options = {"same_cluster": False, "cluster_of": None, **more}
    planned = planned_sources(sources, **options, master=None, name=NAME)
    return answers_by_workers(planned.clusters, planned, question, details=None, master=None, name=NAME)


def in_process(sources: list[str], question: Question = REPLAY) -> list[Answered | KafkactlError]:
    found: list[Answered | KafkactlError] = []
    for cluster in open_clusters({source: source for source in sources}):
        try:
            found.append(answer_question(read_state(cluster, question), question))
        except KafkactlError as error:
            found.append(error)
    return found


def shown(result: Answered | KafkactlError, root: Path) -> str:
    payload = result.to_dict() if isinstance(result, KafkactlError) else {**plain_values(result.payload), "engine": ""}
    return str(payload).replace(MOUNT, str(root))


def test_answers_equal_those_in_process(session: SparkSession, root: Path) -> None:
    # Answers for all logs are compared in test_dryrun, rows of files that workers cannot open in test_tables.
    logs = write_all_logs(root / "all", releases=("3.9.2", "4.4.0"), made=("ended", "not decodable", "torn", "empty"))
    found = on_spark([str(log).replace(str(root), MOUNT) for log in logs])
    expected = in_process(list(map(str, logs)))
    assert [shown(result, root) for result in found] == [shown(result, root) for result in expected]
    assert any(isinstance(result, KafkactlError) for result in found) and len(found) == 6


def test_replicas_and_paths_of_one_cluster_have_one_answer(session: SparkSession, root: Path) -> None:
    whole = encoded(CASES["ended"])
    for node, data in enumerate((whole, encoded(CASES["ended"][:1]))):
        write_log(root, f"node {node}", data, node_id=node, cluster_id="one")
    sources = [f"{MOUNT}/node-0", f"{MOUNT}/node-0/__cluster_metadata-0", f"{MOUNT}/node-1"]
    (found,) = on_spark(sources)
    assert isinstance(found, Answered)
    source = found.payload["source"]
    assert source["paths"] == [sources[0], sources[2]] and source["cluster_id"] == "one"
    assert [replica["path"] for replica in source["replicas"]] == [sources[0], sources[2]]
    with pytest.raises(InputError) as missing:
        on_spark([f"{MOUNT}/nothing"])
    assert missing.value.id == "remote-log-not-found"


def test_search_that_is_split_gives_the_same_answer(session: SparkSession, root: Path) -> None:
    from bench.log_generator import Shape
    from bench.make_metadata_log import write_log as write_generated

    write_generated(root / "fifty", Shape(records=3_000, partitions=200, brokers=50))
    asked = Question(scenario="broker-loss", asked=find_scenario("broker-loss").input_of({"worst": 4}))
    (found,), (expected,) = on_spark([f"{MOUNT}/fifty"], asked), in_process([str(root / "fifty")], asked)
    assert shown(found, root) == shown(expected, root)
