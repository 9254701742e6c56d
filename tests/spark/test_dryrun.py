"""Commands of the dry run and of tiered storage in tasks of a caller's session, which is as before afterwards."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.core.answers import plain_values
from kafkactl.core.errors import FailedError, InputError, KafkactlError
from kafkactl.core.frozen import changed
from kafkactl.core.progress import heard_by
from kafkactl.dryrun.api import find_scenario, predict_copy
from kafkactl.dryrun.api.answering import Answered, Question, answer_question, read_state
from kafkactl.dryrun.api.clusters import Cluster, open_clusters
from kafkactl.dryrun.api.on_spark import Asked, Search, answer_or_search, answers_on_spark
from kafkactl.jobs.session import spark_session
from kafkactl.jobs.tasks import done_in_tasks
from kafkactl.metadata.io.places import for_tasks
from kafkactl.simulator.api.simulation import SimulationRequest, simulate
from kafkactl.tiered.api.verbs import Request, audit, load
from tests.spark.logs import write_all_logs
from tests.tiered.logs import LogOf, Topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "kafkactl dryrun replay"
SCRIPT = sorted((Path(__file__).parents[1] / "scripts" / "simulator").rglob("*.txt"))[0]


@pytest.fixture(scope="module")
def clusters(root: Path) -> tuple[Cluster, ...]:
    logs = write_all_logs(root)
    return open_clusters({str(log): str(log) for log in logs})


def state_of(session: SparkSession) -> Any:
    context = session.sparkContext
    return context.applicationId, context.appName, context.master, dict(session.conf.getAll)


@pytest.fixture(autouse=True)
def session_stays(session: SparkSession) -> Any:
    before = state_of(session)
    yield
    assert state_of(session) == before
    assert session.range(3).count() == 3


def local(cluster: Cluster, asked: Question) -> Answered | KafkactlError:
    try:
        return answer_question(read_state(cluster, asked), asked)
    except KafkactlError as error:
        return error


def payload_of(result: Answered | KafkactlError) -> Any:
    if isinstance(result, KafkactlError):
        return result.to_dict()
    return {**plain_values(result.payload), "engine": None}


@pytest.mark.parametrize("name", ["replay", None])
def test_answers_equal_those_in_process_for_all_logs(
    session: SparkSession, clusters: tuple[Cluster, ...], name: str | None
) -> None:
    asked = Question(scenario=name, asked=None if name is None else find_scenario(name).input_of({}))
    found = answers_on_spark(clusters, asked, None, NAME)
    assert [payload_of(result) for result in found] == [payload_of(local(cluster, asked)) for cluster in clusters]
    failed = [result for result in found if isinstance(result, KafkactlError)]
    assert 0 < len(failed) < 4 < len(found)


def test_search_that_is_split_gives_the_same_answer(session: SparkSession, tmp_path: Path) -> None:
    for brokers in (50, 5):  # the sets of the second are too few to be split
        write_log(tmp_path / str(brokers), Shape(records=3_000, partitions=200, brokers=brokers))
    several = open_clusters({name: str(tmp_path / name) for name in ("50", "5")})
    asked = Question(scenario="broker-loss", asked=find_scenario("broker-loss").input_of({"worst": 4}))
    found = answers_on_spark(several, asked, None, NAME)
    assert [payload_of(result) for result in found] == [payload_of(local(cluster, asked)) for cluster in several]
    first = payload_of(found[0])
    assert first["effects"]["sets"] == 230_300


def test_log_that_only_the_driver_has_is_read_from_its_added_files(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("driver") / "kafkactl-fetched-test"  # each later task fetches it, too
    write_log(folder / "0", Shape(records=3_000, partitions=200, segment_bytes=40_000))
    (cluster,) = open_clusters({"s3a://logs/0": str(folder / "0")})
    asked = Question(scenario="replay", asked=find_scenario("replay").input_of({}))
    session.sparkContext.addFile(str(folder), recursive=True)
    elsewhere = [
        changed(file, name=file.name.replace(str(folder.parent), "/nowhere"))
        for log in cluster.logs
        for file in log.segments
    ]
    sent = changed(cluster, logs=(for_tasks(changed(cluster.logs[0], segments=tuple(elsewhere))),))
    (found,) = done_in_tasks(session, partial(answer_or_search, asked), [Asked(sent)])
    assert not isinstance(found, Search)
    assert payload_of(found) == payload_of(local(cluster, asked))


def test_copy_from_zookeeper_is_the_same_on_spark(session: SparkSession, tmp_path: Path) -> None:
    tree = Path(__file__).parents[1] / "golden" / "migrations"
    source = str(next(path for path in sorted(tree.rglob("*.jsonl.gz"))))
    here, there = predict_copy(source), predict_copy(source, engine="spark")
    assert (there.found, there.image) == (here.found, here.image)


def test_audit_of_tiered_storage_is_the_same_on_spark(session: SparkSession, tmp_path: Path) -> None:
    topic = Topic("orders", 1)
    for number in range(3):
        LogOf(number).add(topic.copied(number, "a", 0, 9), topic.started(0, f"b{number}", 10, 19)).save(tmp_path)
    here, there = (load(Request(sources=(str(tmp_path),), engine=engine)) for engine in ("local", "spark"))
    assert {**audit(there).to_dict(), "engine": None} == {**audit(here).to_dict(), "engine": None}


@pytest.mark.parametrize("wanted", [
    SimulationRequest(profile="chaos", seed=5, runs=9, duration_ms=3_000),
    SimulationRequest(script=str(SCRIPT), runs=5),
])  # fmt: skip
def test_simulation_is_the_same_on_spark(session: SparkSession, wanted: SimulationRequest) -> None:
    counts: list[int] = []
    there = simulate(wanted, engine="spark", on_progress=counts.append)
    assert there.to_dict() == simulate(wanted).to_dict()
    assert counts[-1] == wanted.runs


def broken(item: int) -> int:
    if item == 2:
        raise MemoryError("not enough")
    return item


def test_failed_task_is_an_error_and_leaves_the_session(session: SparkSession) -> None:
    with pytest.raises(FailedError, match="MemoryError: not enough") as caught, spark_session(None, NAME) as given:
        assert given is session
        done_in_tasks(given, broken, [0, 1, 2, 3])
    assert caught.value.id == "spark-failed"


def test_interruption_leaves_the_session(session: SparkSession) -> None:
    with pytest.raises(KeyboardInterrupt), spark_session(None, NAME):
        raise KeyboardInterrupt


def test_another_master_than_that_of_the_session_is_refused(session: SparkSession) -> None:
    with pytest.raises(InputError, match="has a session on local") as caught, spark_session("local[1]", NAME):
        pass
    assert caught.value.id == "invalid-spark-master"


class Bar:
    """A listener that counts."""

    def __init__(self) -> None:
        self.expected = self.done = 0

    def expect(self, amount: int) -> None:
        self.expected += amount

    def advance(self, amount: int) -> None:
        self.done += amount


def waited(path: str) -> str:
    import time

    while not Path(path).exists():
        time.sleep(0.01)
    return path


def test_tasks_are_reported_as_progress(session: SparkSession, tmp_path: Path) -> None:
    # The first task ends when another one was reported as done.
    first, second = tmp_path / "first", tmp_path / "second"
    second.touch()

    class Ending(Bar):
        def advance(self, amount: int) -> None:
            super().advance(amount)
            if self.done:
                first.touch()

    bar = Ending()
    with heard_by(bar):
        done = done_in_tasks(session, waited, [str(first), str(second), str(second)])
    assert done == [str(first), str(second), str(second)]
    assert (bar.expected, bar.done >= 1) == (3, True)
