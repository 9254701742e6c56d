"""`kafkactl roll` with connection options: nodes of a live cluster without an inventory, and logins with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.commands.demo.quorum import FakeQuorum
from tests.roll.rolls import Roll, save_roll


@pytest.mark.parametrize("verb", ["check", "plan", "status"])
def test_judgement_without_an_inventory_asks_the_nodes_that_the_cluster_names(kafkactl, verb: str) -> None:
    with FakeQuorum(controllers=3, voters=(1, 2, 3)) as quorum:
        address = str(quorum.address(1))
        run = kafkactl("roll", verb, "--bootstrap-controller", address, "--to", "4.4.0", "-o", "json")
        assert quorum.effects == []
    assert run.code == 0, run.stderr
    if verb == "plan":
        assert sorted(run.json["order"]["controllers"]) == [1, 2, 3]
    else:
        assert [node["id"] for node in run.json["nodes"]] == [1, 2, 3]
    if verb == "check":
        assert {node["will_start"] for node in run.json["nodes"]} == {None}, "files were not read"


def test_observation_of_a_cluster_without_an_inventory_is_saved(kafkactl, tmp_path: Path) -> None:
    out = tmp_path / "saved"
    with FakeQuorum(controllers=3, voters=(1, 2, 3)) as quorum:
        run = kafkactl("roll", "--bootstrap", str(quorum.address(2)), "observe", "--out", str(out), "-o", "json")
    assert run.code == 0, run.stderr
    assert [node["alive"] for node in run.json["nodes"]] == [True, True, True]
    status = kafkactl("roll", "status", "--observation", str(out), "-o", "json")
    assert [node["back"] for node in status.json["nodes"]] == [True, True, True]


def test_cluster_that_cannot_be_reached_is_exit_4(kafkactl) -> None:
    run = kafkactl("roll", "status", "--bootstrap-server", "127.0.0.1:1", "-o", "json")
    assert (run.code, run.error["id"]) == (4, "connection-refused")


def test_login_of_the_command_line_replaces_that_of_the_inventory(kafkactl, tmp_path: Path) -> None:
    (tmp_path / "roll.toml").write_text(
        "command_config = 'gone.properties'\n[hooks]\ntemplate = 'manual'\n"
        "[[nodes]]\nid = 1\nroles = ['controller']\ncontroller_address = '127.0.0.1:1'\nconfig = '1.properties'\n"
    )
    inventory = ("roll", "status", "--inventory", str(tmp_path / "roll.toml"), "-o", "json")
    assert (kafkactl(*inventory).code, kafkactl(*inventory).error["id"]) == (2, "unreadable-client-config")
    (tmp_path / "other.properties").write_text("security.protocol=PLAINTEXT\n")
    run = kafkactl(*inventory, "--command-config", str(tmp_path / "other.properties"))
    assert (run.code, run.error["id"]) == (4, "cluster-not-reached")


def test_two_sources_are_a_usage_error(kafkactl, tmp_path: Path) -> None:
    folder = str(save_roll(Roll("4.4.0"), tmp_path / "seen"))
    for source in (("--observation", folder), ("--inventory", "roll.toml")):
        assert kafkactl("roll", "check", *source, "--bootstrap-server", "127.0.0.1:1").code == 2
    assert kafkactl("roll", "check", "--observation", folder, "--inventory", "roll.toml").code == 2
    assert kafkactl("roll", "run", "--bootstrap-server", "127.0.0.1:1").code == 2


def test_address_in_the_environment_does_not_replace_an_observation(kafkactl, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("KAFKACTL_BOOTSTRAP_SERVER", "127.0.0.1:1")
    folder = save_roll(Roll("4.4.0"), tmp_path / "seen")
    assert kafkactl("roll", "status", "--observation", str(folder)).code == 0


def test_cluster_of_another_id_than_the_context_has_is_refused(kafkactl, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "contexts.toml"))
    with FakeQuorum(controllers=3, voters=(1, 2, 3)) as quorum:
        words = ("--bootstrap-controller", str(quorum.address(1)), "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ")
        assert kafkactl("config", "set", "prod", *words, "--yes").code == 0
        run = kafkactl("roll", "plan", "--context", "prod", "--to", "4.4.0", "-o", "json")
    assert (run.code, run.error["id"]) == (3, "cluster-id-mismatch")


def test_current_context_names_the_cluster_if_no_option_does(kafkactl, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "contexts.toml"))
    assert kafkactl("roll", "status").code == 2
    folder = save_roll(Roll("4.4.0"), tmp_path / "seen")
    with FakeQuorum(controllers=3, voters=(1, 2, 3)) as quorum:
        words = ("--bootstrap-controller", str(quorum.address(1)), "--yes")
        assert kafkactl("config", "set", "prod", *words).code == 0
        assert kafkactl("config", "use", "prod").code == 0
        run = kafkactl("roll", "status", "-o", "json")
        assert kafkactl("roll", "status", "--observation", str(folder), "-o", "json").json != run.json
    assert (run.code, [node["id"] for node in run.json["nodes"]]) == (0, [1, 2, 3])
