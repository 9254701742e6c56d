"""Division of `make test` between three workers: two run the tests with live nodes, the third runs the rest.

Live tests wait more than they compute, so three workers share two cores well (decision 16). Quorums, whose elections
are timed, belong to one live share; migrations and dry runs, whose tests wait as long as an operator would, belong to
the other. Files whose clusters are their own and whose tests wait for conditions, or that have one node, are divided:
the worker whose live share ends first takes the next of them. The third worker takes such files when it has nothing
else to do, and those that take longest come first, so that all workers end at the same time. A file is never divided,
because its tests share fixtures.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

LIVE = ("tests/lab/", "tests/metadata/io/test_places.py")
PATIENT = ("tests/lab/dryrun/", "tests/lab/migration/", "tests/lab/storage/", "tests/lab/tiered/")
# Files with clusters of their own, by the beginning of their paths; those that take longest come first.
DIVIDED = (
    "tests/lab/roll/",
    "tests/lab/storage/test_verify_starts.py",
    "tests/lab/quorum/test_recover",
    "tests/lab/quorum/disks/",
    "tests/lab/scenes/",
    "tests/lab/client/test_secured_client.py",
    "tests/lab/quorum/test_unread_voters.py",
    "tests/lab/storage/",
    "tests/lab/client/",
    "tests/lab/metadata/test_image_boot.py",
    "tests/lab/metadata/test_log_damage.py",
    "tests/lab/status/test_rights.py",
)
SHARED_CLUSTERS = frozenset({"tests/lab/storage/test_lost_disk.py"})
OF_THE_TREE = "tests/repository/"
SPARK = "tests/spark/"
# Tests of the lab that ask Kafka's classes, and start no node: they compute, so they go with the other tests.
WITHOUT_NODES = frozenset(
    {
        "tests/lab/itself/test_cache.py",
        "tests/lab/client/test_client_keys.py",
        "tests/lab/metadata/test_codec_oracle.py",
        "tests/lab/metadata/test_definitions.py",
        "tests/lab/metadata/test_dump_equality.py",
        "tests/lab/features/test_facts.py",
        "tests/lab/storage/test_format_differential.py",
        "tests/lab/metadata/test_generated_log.py",
        "tests/lab/metadata/test_image_oracle.py",
        "tests/lab/storage/test_info_differential.py",
        "tests/lab/storage/test_inputs.py",
        "tests/lab/judge/test_judge.py",
        "tests/lab/tiered/test_judge.py",
        "tests/lab/features/test_levels_and_tool.py",
        "tests/lab/dryrun/test_loader_oracle.py",
        "tests/lab/dryrun/test_plan_judge.py",
        "tests/lab/metadata/test_log_dump_equality.py",
        "tests/lab/itself/test_maven.py",
        "tests/lab/storage/test_node_config.py",
        "tests/lab/storage/test_setting_values.py",
        "tests/lab/dryrun/test_partition_changes.py",
        "tests/lab/dryrun/test_poisoned_folder.py",
        "tests/lab/itself/test_pool.py",
        "tests/lab/itself/test_ports.py",
        "tests/lab/metadata/test_quorum_state_oracle.py",
        "tests/lab/features/test_record_types.py",
        "tests/lab/features/test_release_rules.py",
        "tests/lab/roll/test_setting_rules.py",
        "tests/lab/client/test_secret_configs.py",
        "tests/lab/itself/test_storage_tool.py",
        "tests/lab/client/test_tokens.py",
    }
)
# Few tests of half a minute or more: the last of the suite by their number, they would keep one worker waiting for the
# other.
LONG = (
    SPARK,
    "tests/jobs/test_failure.py",
    "tests/commands/dryrun/test_ended_spark.py",
    "tests/lab/dryrun/test_poisoned_folder.py",
    "tests/samples/test_fleet_crash.py",
    "tests/lab/dryrun/test_partition_changes.py",
    "tests/lab/storage/test_format_differential.py",
)


QUORUMS, OTHERS = "live quorums", "other live tests"


def share_of(nodeid: str) -> str:
    """Return the share of a test: one of the two with live nodes, its file, all tests of the tree, or all of Spark.

    Tests of the tree are kept together because they parse the same files, those of Spark because they share a JVM.
    """
    file = nodeid.partition("::")[0]
    for folder in (OF_THE_TREE, SPARK):
        if file.startswith(folder):
            return folder
    if file.startswith(LIVE) and file not in WITHOUT_NODES and not is_divided(file):
        return OTHERS if file.startswith(PATIENT) else QUORUMS
    return file


def _shortest_first(files: Iterable[str]) -> list[str]:
    return sorted(files, key=lambda file: -next(at for at, part in enumerate(DIVIDED) if file.startswith(part)))


def is_divided(file: str) -> bool:
    """Return True for a file with live clusters that no share of live tests has."""
    return file.startswith(DIVIDED) and file not in WITHOUT_NODES | SHARED_CLUSTERS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return the scheduler of the workers (`-n 3`)."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Shares(LoadScopeScheduling):
        """Scheduler of shares: the live ones first, then files of few and long tests, then the others by size.

        A worker of a live share then has the divided files, and others have them after everything else.
        """

        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

        def _reschedule(self, node: Any) -> None:
            """Assign more to a worker that has one test left, which it begins when it knows the next one.

            xdist assigns more when two are left: with files of one test, a worker would keep others from its last two.
            """
            if node.shutting_down or not self.workqueue or self._pending_of(self.assigned_work[node]) < 2:
                super()._reschedule(node)

        def _assign_work_unit(self, node: Any) -> None:
            queue = self.workqueue
            live = [share for share in (QUORUMS, OTHERS) if share in queue]
            if live:
                queue.move_to_end(live[0], last=False)
            else:
                had_live = {QUORUMS, OTHERS} & set(self.assigned_work.get(node, ()))
                for file in filter(queue.__contains__, reversed(LONG)):
                    queue.move_to_end(file, last=False)
                nodes = _shortest_first(filter(is_divided, queue))
                for file in nodes if had_live else reversed(nodes):
                    queue.move_to_end(file, last=not had_live)
            super()._assign_work_unit(node)

    return Shares(config, log)
