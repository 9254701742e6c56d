"""Tables of a dry run by `--details URI`: written by workers, and equal to those that are written in process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl.core.answers import plain_values
from kafkactl.core.errors import KafkactlError
from kafkactl.dryrun.api import find_scenario
from kafkactl.dryrun.api.answering import Question, Result, answer_question, read_state
from kafkactl.dryrun.api.clusters import Cluster, open_clusters
from kafkactl.spark.api import answers_by_workers, planned_sources, write_details_to
from tests.spark.conftest import MOUNT
from tests.spark.logs import write_all_logs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load
parquet = pytest.importorskip("pyarrow.parquet")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "kafkactl dryrun report"
CLUSTER_OF = "([^/]+)/__cluster_metadata-0"
REPLAY = Question(scenario="replay", asked=find_scenario("replay").input_of({}), with_tables=True)
REPORT = Question(with_tables=True)
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def logs(root: Path) -> list[str]:
    """Return the folders of all captured, odd and damaged logs."""
    return list(map(str, write_all_logs(root / "all")))


def opened(logs: Sequence[str]) -> tuple[Cluster, ...]:
    return open_clusters({log: log for log in logs}, cluster_of=CLUSTER_OF)


def write_in_process(logs: Sequence[str], question: Question, out: Path) -> list[Result]:
    """Write the tables of each cluster in process, and return the answers."""
    found: list[Result] = []
    for cluster in opened(logs):
        try:
            answer = answer_question(read_state(cluster, question), question)
        except KafkactlError as error:
            found.append(error)
            continue
        source, tables = answer.payload["source"], answer.tables or ()
        write_details_to(out.as_uri(), tables, source, as_of_ms=answer.as_of_ms, master=None, name=NAME)
        found.append(answer)
    return found


def rows_of(out: Path) -> Rows:
    """Return the rows of each table with the folder of their day, in an order of their own."""
    found: Rows = {}
    for path in sorted(out.rglob("*.parquet")):
        day = path.parent
        rows = found.setdefault(str(day.parents[1].relative_to(out)), [])
        rows += [
            {**row, "day": f"{day.parent.name}/{day.name}"} for row in parquet.ParquetFile(path).read().to_pylist()
        ]
    return {table: sorted(rows, key=str) for table, rows in found.items()}


def kinds_of(out: Path) -> dict[str, Any]:
    """Return the columns of each table with their types."""
    return {
        str(path.parents[2].relative_to(out)): [(field.name, str(field.type)) for field in parquet.read_schema(path)]
        for path in sorted(out.rglob("*.parquet"))
    }


def shown(result: Result, root: Path) -> str:
    payload = result.to_dict() if isinstance(result, KafkactlError) else {**plain_values(result.payload), "engine": ""}
    return str(payload).replace(MOUNT, str(root))


def test_tables_of_all_logs_equal_those_written_in_process(
    session: SparkSession, logs: list[str], tmp_path: Path
) -> None:
    expected = write_in_process(logs, REPLAY, tmp_path / "here")
    out = tmp_path / "there"
    found = answers_by_workers(opened(logs), None, REPLAY, details=out.as_uri(), master=None, name=NAME)
    check_equal(found, expected, out, tmp_path / "here")


def test_tables_in_other_file_system_equal_those_written_in_process(
    session: SparkSession, root: Path, logs: list[str], tmp_path: Path
) -> None:
    several = logs[::30]
    expected = write_in_process(several, REPORT, tmp_path)
    places = [log.replace(str(root), MOUNT) for log in several]
    planned = planned_sources(places, same_cluster=False, cluster_of=CLUSTER_OF, master=None, name=NAME)
    for _ in range(2):  # the second run replaces each day
        found = answers_by_workers(planned.clusters, planned, REPORT, details=f"{MOUNT}/out", master=None, name=NAME)
        check_equal(found, expected, root / "out", tmp_path, root)


def check_equal(
    found: Sequence[Result], expected: Sequence[Result], out: Path, local: Path, root: Path = Path("/")
) -> None:
    assert [shown(result, root) for result in found] == [shown(result, root) for result in expected]
    assert all(isinstance(result, KafkactlError) or result.tables is None for result in found)
    assert rows_of(out) == rows_of(local)
    assert kinds_of(out) == kinds_of(local)
    assert all((out / table / "_SUCCESS").exists() for table in kinds_of(out))
    assert not [path for path in out.iterdir() if path.name.startswith(".kafkactl")]
