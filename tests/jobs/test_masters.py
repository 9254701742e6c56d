"""Masters that are refused before Spark starts, where Hadoop would try for a quarter of an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.jobs.masters import addresses, check_master
from tests.lab.harness.ports import free_port


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of Hadoop's settings, with nothing in it."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    return tmp_path


def write_site(folder: Path, name: str, value: str) -> None:
    row = f"<property><name>{name}</name><value>{value}</value></property>"
    (folder / "yarn-site.xml").write_text(f"<configuration>{row}</configuration>")


def test_yarn_without_a_folder_of_settings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR")
    with pytest.raises(InputError, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set") as caught:
        check_master("yarn", "")
    assert (caught.value.id, caught.value.exit_code) == ("yarn-not-configured", 2)


@pytest.mark.parametrize("text", [None, "<configuration/>", "not XML"])
def test_settings_without_resource_manager_are_refused(folder: Path, text: str | None) -> None:
    if text is not None:
        (folder / "yarn-site.xml").write_text(text)
    with pytest.raises(InputError, match=r"yarn-site\.xml") as caught:
        check_master("yarn", "")
    assert caught.value.id == "yarn-not-configured"


def test_unreachable_resource_manager_is_reported(folder: Path) -> None:
    write_site(folder, "yarn.resourcemanager.address", f"127.0.0.1:{free_port()}")
    with pytest.raises(UnreachableError, match="no YARN ResourceManager answers") as caught:
        check_master("yarn", "")
    assert (caught.value.id, caught.value.exit_code) == ("spark-master-unreachable", 4)


@pytest.mark.parametrize(
    "settings", ["spark.hadoop.yarn.resourcemanager.address rm:8032", "export HADOOP_CONF_DIR=/etc/hadoop"]
)
def test_address_in_settings_of_spark_is_left_to_spark(settings: str) -> None:
    check_master("yarn", settings)


def test_settings_are_found_in_each_folder_that_is_named(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "hive").mkdir()
    monkeypatch.setenv("HADOOP_CONF_DIR", f"{tmp_path / 'hive'}:{folder}")
    write_site(folder, "yarn.resourcemanager.hostname", "${env.RM}")
    check_master("yarn", "")


def test_names_that_hadoop_resolves_are_left_to_hadoop(folder: Path) -> None:
    write_site(folder, "yarn.resourcemanager.hostname", "${env.RM}")
    check_master("yarn", "")


def test_each_resource_manager_is_named_once() -> None:
    found = addresses({
        "yarn.resourcemanager.hostname.rm1": "a",
        "yarn.resourcemanager.address.rm1": "a:8050",
        "yarn.resourcemanager.hostname.rm2": "b",
        "yarn.resourcemanager.webapp.address.rm2": "b:8088",
    })  # fmt: skip
    assert found == [("a", 8050), ("b", 8032)]


def test_other_master_needs_no_settings_of_hadoop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR")
    for master in ("k8s://https://127.0.0.1:1", "local[2]"):
        check_master(master, "")
    with pytest.raises(KafkactlError):
        check_master("sc://host:15002", "")


def test_cluster_on_this_machine_needs_three_numbers() -> None:
    for master in ("local", "local[*]", "local[2,3]", "local-cluster[2, 1, 1024]"):
        check_master(master, "")
    for master in ("local[]", "local[0]", "local-cluster", "local-cluster[2]", "local-cluster[2,1,*]", "locals"):
        with pytest.raises(InputError, match="is not a valid master of Spark") as caught:
            check_master(master, "")
        assert caught.value.id == "invalid-spark-master"
