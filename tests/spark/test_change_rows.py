"""Changes that a log holds, without a session."""

from __future__ import annotations

from pathlib import Path

from kafkactl.metadata.io.source import open_source
from kafkactl.spark.change_rows import change_rows
from tests.dryrun.odd_logs import LEVEL, encoded, record, topic_id
from tests.spark.logs import write_log


def test_end_of_a_controller_is_a_change_of_its_registration(tmp_path: Path) -> None:
    registered = record(
        "RegisterControllerRecord",
        ControllerId=3,
        IncarnationId=topic_id(5),
        ZkMigrationReady=False,
        EndPoints=[],
        Features=[],
    )
    log = write_log(
        tmp_path, "one", encoded([[LEVEL, registered], [record("UnregisterControllerRecord", ControllerId=3)]])
    )
    rows = [row for row in change_rows(open_source(str(log))) if row[3] == "registration"]
    assert [(offset, subject) for offset, _, _, _, subject, *_ in rows] == [(1, "controller 3"), (2, "controller 3")]
    (*_, none, after), (*_, before, gone) = rows
    assert (none, gone) == (None, None) and before == after and '"controllerId":3' in after
