"""Hooks of `systemd-ssh` about releases, run by a shell that takes the remote side of ssh."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kafkactl.change.hooks.templates import TEMPLATES, VARIABLES
from kafkactl.change.hooks.words import Verb, words_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for release in ("4.3.1", "4.4.0"):
        (tmp_path / "releases" / release / "libs").mkdir(parents=True)
        (tmp_path / "releases" / release / "libs" / f"kafka_2.13-{release}.jar").touch()
        (tmp_path / "releases" / release / "libs" / f"kafka-clients-{release}.jar").touch()
    (tmp_path / "kafka").symlink_to("releases/4.3.1")
    return tmp_path


def remote(home: Path, verb: Verb, **more: str) -> subprocess.CompletedProcess[str]:
    values = {
        **{name: value or "x" for name, value in VARIABLES["systemd-ssh"].items()}, "host": "h", "ssh_user": "",
        "kafka_home": str(home / "kafka"), "kafka_releases": str(home / "releases"), **more,
    }  # fmt: skip
    words = words_of(TEMPLATES["systemd-ssh"][verb], values, where="t")
    command = " ".join(words[words.index("h") + 1 :]).removeprefix("sudo -n ")
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


def test_install_moves_the_link_and_installed_reports_the_release(home: Path) -> None:
    assert remote(home, Verb.INSTALLED).stdout == "4.3.1\n"
    for _ in range(2):
        assert remote(home, Verb.INSTALL, release="4.4.0").returncode == 0
        assert remote(home, Verb.INSTALLED).stdout == "4.4.0\n"
    assert sorted(path.name for path in home.iterdir()) == ["kafka", "releases"]


def test_install_of_a_release_that_is_not_there_changes_nothing(home: Path) -> None:
    run = remote(home, Verb.INSTALL, release="4.2.0")
    assert run.returncode == 67
    assert "unpack Kafka 4.2.0 there" in run.stderr
    assert remote(home, Verb.INSTALLED).stdout == "4.3.1\n"


def test_install_refuses_a_directory_in_place_of_the_link(home: Path) -> None:
    (home / "kafka").unlink()
    (home / "kafka").mkdir()
    assert remote(home, Verb.INSTALL, release="4.4.0").returncode == 67
    assert (home / "kafka").is_dir()
    assert not (home / "kafka").is_symlink()


def test_running_reports_the_jars_of_the_process_and_not_of_the_link(home: Path) -> None:
    jar = home / "kafka" / "libs" / "kafka_2.13-4.3.1.jar"
    with subprocess.Popen(["sleep", "60"], executable="/bin/sleep") as other:
        program = "import time; print('up', flush=True); time.sleep(60)"
        process = subprocess.Popen(
            ["python3", "-c", program, f"{home}/kafka/libs/a.jar:{jar}:{home}/b.jar"], stdout=subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            assert remote(home, Verb.INSTALL, release="4.4.0").returncode == 0
            script = TEMPLATES["systemd-ssh"][Verb.RUNNING]
            words = list(words_of(script, {"unit": "k", "ssh_user": "", "host": "h"}, where="t"))

            def running(pid: int) -> str:
                command = " ".join([*words[words.index("h") + 1 : -1], str(pid)]).removeprefix("sudo -n ")
                return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout

            assert running(process.pid) == "4.3.1\n"
            assert running(other.pid) == ""
            assert running(0) == ""
        finally:
            process.kill()
            other.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
