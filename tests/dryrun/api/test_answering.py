"""Answers as tasks give them, without Spark: of pickled questions and logs, equal to those in process."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.core.answers import plain_values
from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import changed
from kafkactl.dryrun.api import find_scenario, on_spark
from kafkactl.dryrun.api.answering import Answered, Question, answer_question, read_state
from kafkactl.dryrun.api.clusters import Cluster, open_clusters
from kafkactl.dryrun.api.on_spark import (
    Asked,
    Search,
    answer_or_search,
    joined,
    ranges_of,
    rows_with_files,
    without_secrets,
    worst_of_range,
)
from kafkactl.dryrun.io.detail_files import written_table
from kafkactl.jobs.pickled import unpickled
from kafkactl.metadata.io.places import for_tasks
from tests.spark.logs import write_all_logs


def question(scenario: str | None, **asked: Any) -> Question:
    given = None if scenario is None else find_scenario(scenario).input_of(asked)
    return Question(scenario=scenario, asked=given, with_records=True, with_page=True, with_tables=True)


QUESTIONS = (question("replay"), question("broker-loss", brokers=[1]), question("broker-loss", worst=1), question(None))


def in_process(cluster: Cluster, asked: Question) -> Answered | KafkactlError:
    try:
        return answer_question(read_state(cluster, asked), asked)
    except KafkactlError as error:
        return error


def shown(result: Answered | KafkactlError) -> Any:
    if isinstance(result, KafkactlError):
        return type(result), result.to_dict()
    payload = plain_values(result.payload)
    assert payload.pop("engine") in ("local", "spark")
    page = (result.page or b"").replace(b">spark<", b">local<")
    return payload, result.verdict, page, [written_table(table) for table in result.tables or ()]


@pytest.mark.slow
def test_answers_of_tasks_equal_those_in_process_for_all_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A worker has another current folder, and names of files are shown as they were given.
    write_all_logs(tmp_path, releases=("3.3.2", "3.9.2", "4.4.0"))
    monkeypatch.chdir(tmp_path)
    clusters = open_clusters({name: name for name in sorted(path.name for path in tmp_path.iterdir())})
    assert len(clusters) > 30
    errors = set()
    for asked in QUESTIONS:
        # A replay, and all scenarios, of every log are those of tasks on Spark in tests/spark/test_dryrun.
        for cluster in clusters if asked.scenario == "broker-loss" else clusters[::4]:
            monkeypatch.chdir(tmp_path)
            expected = shown(in_process(cluster, asked))
            sent = pickle.dumps((asked, Asked(changed(cluster, logs=tuple(map(for_tasks, cluster.logs))))))
            monkeypatch.chdir("/")
            ((_, found),) = unpickled(rows_with_files(0, answer_or_search(*pickle.loads(sent))))
            assert shown(found) == expected, cluster.title
            if isinstance(found, KafkactlError):
                errors.add(found.id)
    assert {"empty-metadata-log", "unknown-broker"} <= errors


def test_search_of_many_sets_in_ranges_gives_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log(tmp_path, Shape(records=3_000, partitions=300, brokers=9))
    (cluster,) = open_clusters({str(tmp_path): str(tmp_path)})
    asked = question("broker-loss", worst=3)
    sent = Asked(changed(cluster, logs=tuple(map(for_tasks, cluster.logs))))
    monkeypatch.setattr(on_spark, "FEW_SETS", 10)
    search = answer_or_search(asked, sent)
    assert isinstance(search, Search) and search.count == 84
    ranges = pickle.loads(pickle.dumps(ranges_of(0, search, 5)))
    found = joined(ranges, map(worst_of_range, ranges))
    answer = answer_or_search(asked, sent._replace(losses=found[0]))
    assert not isinstance(answer, Search)
    assert shown(answer) == shown(in_process(cluster, asked))


def test_question_for_tasks_has_no_secret_of_the_properties_file() -> None:
    static = {
        "min.insync.replicas": "not a number",
        "controller.quorum.voters": "1@a:9093",
        "leader.imbalance.check.interval.seconds": "10",
        "ssl.keystore.password": "hunter-k",
        "listener.name.controller.plain.sasl.jaas.config": 'x required username="a" password="hunter-k";',
    }
    sent = without_secrets(changed(question("replay"), static=static))
    assert b"hunter-k" not in pickle.dumps(sent)
    assert list(sent.static or ()) == list(static)[:3]
    assert without_secrets(question("replay")).static is None
