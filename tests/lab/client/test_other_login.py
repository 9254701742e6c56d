"""Controllers that take another login than brokers: living nodes that are not asked, and two files for one command."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import Run
from tests.lab.features.test_features_secured import ADMIN, ALICE, CLUSTER_ID, RELEASE, Guarded
from tests.lab.harness.storage_tool import StorageToolServer

Kafkactl = Callable[..., Run]
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class OtherLogin(Guarded):
    """The brokers' listener takes admin and alice, the controllers' listener admin alone."""

    def _security(self) -> dict[str, str]:
        only_admin = f'{_MODULE} username="admin" password="{ADMIN}" user_admin="{ADMIN}";'
        return super()._security() | {"listener.name.controller.plain.sasl.jaas.config": only_admin}


@pytest.fixture(scope="module")
def cluster(storage_tool: StorageToolServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherLogin]:
    found = OtherLogin(storage_tool, tmp_path_factory.mktemp("login"))
    formatted = storage_tool.run(RELEASE, ["format", "-t", CLUSTER_ID, "-c", found.node.config_file, "-r", RELEASE])
    assert formatted.exit_code == 0, formatted
    with found.node as node:
        node.start().wait_ready()
        for operation in ("Describe", "ClusterAction", "DescribeConfigs", "Alter"):
            found.allow(operation)
        yield found


def test_controller_with_another_login_is_not_asked_and_not_called_gone(
    cluster: OtherLogin, kafkactl: Kafkactl
) -> None:
    def asked(*words: str) -> Run:
        run = kafkactl(*words, *cluster.words("alice"), "-o", "json")
        assert ALICE not in run.stdout + run.stderr
        return run

    change = ("features", "disable", "--feature", "share.version", "--dry-run")
    refused = asked(*change)
    assert (refused.code, refused.json["outcome"]) == (4, "refused"), refused
    (blocker,) = [finding for finding in refused.json["findings"] if finding["severity"] == "blocker"]
    assert (blocker["id"], blocker["subject"]) == ("controller-not-asked", "controller 1")
    assert "--controller-command-config" in blocker["next_step"]
    assert not {"release-not-recognised", "node-silent"} & {finding["id"] for finding in refused.json["findings"]}
    dumped = asked("log", "image", "--from-cluster")
    assert (dumped.code, dumped.error["id"]) == (4, "authentication-failed")
    assert "--controller-command-config" in dumped.error["next_step"]

    second = ("--controller-command-config", str(cluster.folder / "admin.properties"))
    planned = asked(*change, *second)
    assert (planned.code, planned.json["outcome"], planned.json["findings"]) == (0, "planned", []), planned
    assert asked("log", "image", "--from-cluster", *second).code == 0
    listed = asked("nodes", "list", *second)
    assert [(node["id"], node["registered"], node["answers"]) for node in listed.json["nodes"]] == [(1, True, True)]
