"""Missing rights, one at a time: the message names that right and no other, with the command that adds it.

The command is carried out as it is printed, but for the administrator's file, and the message is gone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkactl.protocol.schema.rights import command_rights, request_rights
from tests.conftest import Run
from tests.lab.features.test_features_secured import ADMIN, ALICE, CLUSTER_ID, RELEASE, Guarded
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import answer_once

Kafkactl = Callable[..., Run]
EVERY = ("Describe", "ClusterAction", "DescribeConfigs", "Alter")
# Words of a command, and the rights without which it reports something. Kafka derives Describe from Alter.
COMMANDS = {
    "quorum describe": ("DescribeConfigs", "Alter"),
    "quorum reassign --target 1 --dry-run": ("ClusterAction", "DescribeConfigs", "Alter"),
    "features verify": ("ClusterAction",),
    "features disable --feature share.version --dry-run": ("ClusterAction", "Alter"),
    "nodes list": ("ClusterAction",),
    "nodes verify": ("DescribeConfigs",),
    "nodes unregister --id 7 --dry-run": ("ClusterAction",),
    "log image --from-cluster": ("ClusterAction",),
    "dryrun replay --from-cluster": ("ClusterAction",),
}


@pytest.fixture(scope="module")
def guarded(storage_tool: StorageToolServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Yield a node to which alice may log in."""
    cluster = Guarded(storage_tool, tmp_path_factory.mktemp("rights"))
    formatted = storage_tool.run(RELEASE, ["format", "-t", CLUSTER_ID, "-c", cluster.node.config_file, "-r", RELEASE])
    assert formatted.exit_code == 0, formatted
    with cluster.node as node:
        node.start().wait_ready()
        yield cluster


@pytest.fixture(autouse=True)
def every_right(guarded: Guarded) -> None:
    for operation in EVERY:
        guarded.allow(operation)


def acls(cluster: Guarded, *words: str) -> None:
    result = cluster.tool.run_tool(RELEASE, "org.apache.kafka.tools.AclCommand", [*cluster.words("admin"), *words])
    assert result.exit_code == 0, result


def remove_right(cluster: Guarded, operation: str) -> None:
    acls(cluster, "--remove", "--force", "--allow-principal", "User:alice", "--operation", operation, "--cluster")


def missing_in(run: Run) -> dict[str, str]:
    """Return the commands of an answer that add rights, by operation."""
    text = run.stdout + run.stderr
    assert "Request(" not in text and ADMIN not in text and ALICE not in text
    found = re.findall(r"(kafka-acls\.sh .*? --operation (\w+) --cluster)", text.replace('\\"', '"'))
    return {operation: command for command, operation in found}


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("controllers", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_each_right_that_is_missing_is_named(
    guarded: Guarded, kafkactl: Kafkactl, tmp_path: Path, words: str, *, controllers: bool
) -> None:
    journal = ("--journal", str(tmp_path / "journal")) if words.startswith("quorum reassign") else ()

    def asked() -> Run:
        where = guarded.words("alice", controllers=controllers)
        return kafkactl(*shlex.split(words), *journal, *where, "-o", "json")

    whole = answer_once(lambda run: not missing_in(run), asked)
    assert missing_in(whole) == {}, whole
    for operation in COMMANDS[words]:
        remove_right(guarded, operation)
        run = answer_once(missing_in, asked)
        assert set(missing_in(run)) == {operation}, run
        command = shlex.split(missing_in(run)[operation])
        assert command[command.index("--allow-principal") + 1] == "User:alice"
        acls(guarded, *command[command.index("--add") :])
        run = answer_once(lambda run: not missing_in(run), asked)
        assert missing_in(run) == {}, run


def test_without_any_right_the_first_one_is_named(guarded: Guarded, kafkactl: Kafkactl) -> None:
    for operation in EVERY:
        remove_right(guarded, operation)
    for words in COMMANDS:
        if words.startswith(("features verify", "nodes")):
            continue  # these show what brokers answer to every user
        where = guarded.words("alice")
        run = answer_once(
            lambda run: run.code == 4 and set(missing_in(run)) == {"Describe"},
            lambda words=words, where=where: kafkactl(*shlex.split(words), *where, "-o", "json"),  # type: ignore[misc]
        )
        assert (run.code, set(missing_in(run))) == (4, {"Describe"}), (words, run)
        assert "no-active-controller" not in run.stdout + run.stderr


def test_rights_of_this_test_are_those_of_the_table() -> None:
    rows = {name: row for row in command_rights() for name in row.names}
    for words, rights in COMMANDS.items():
        row = next(row for name, row in rows.items() if words == name or words.startswith(f"{name} "))
        operations = {request_rights()[name].right.operation for name in (*row.answer, *row.change)}
        assert set(rights) <= operations, words
