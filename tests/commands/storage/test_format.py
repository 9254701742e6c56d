"""`kafkactl storage format` as an operator meets it: flags, answers, exit codes, and what is never shown."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkactl.files.filesystem import OsFilesystem
from tests.conftest import Run
from tests.storage.nodes import CLUSTER_ID, properties

HOSTILE_LINES = {"storage format": ("-c {config} -t {id} --dry-run", "-c {config} -t {text} --standalone --dry-run")}

OWN_ID = "JEXY6aqzQY-32P5TStzaFg"
SCRAM = "SCRAM-SHA-256=[name=alice,password=alice-secret]"


class Node:
    """A node's configuration file and its directories, all in a scratch directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "server.properties"
        self.configure()

    def configure(self, *names: str, **settings: Any) -> None:
        names = names or ("d1", "d2")
        text = properties(log_dirs=[str(self.root / name) for name in names], **settings)
        self.file.write_text(text, encoding="utf-8")

    def tree(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and path != self.file
        }


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.fixture
def format_(kafkactl: Callable[..., Run], node: Node) -> Callable[..., Run]:
    def run(*words: object, cluster_id: str = CLUSTER_ID, input: str = "") -> Run:
        common = ("-c", str(node.file), "-o", "json")
        return kafkactl("storage", "format", "-t", cluster_id, *common, *words, input=input)

    return run


def blockers(run: Run) -> list[str]:
    return [finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"]


def test_formats_and_answers_with_every_field_of_the_contract(format_: Callable[..., Run], node: Node) -> None:
    run = format_("-s", "--kafka-version", "4.3.1")
    answer = run.json
    assert (run.code, answer["kind"], answer["outcome"]) == (0, "storage.format", "done")
    assert (answer["cluster_id"], answer["node_id"], answer["kafka_version"]) == (CLUSTER_ID, 1, "4.3.1")
    assert answer["metadata_version"] == {"level": 30, "name": "4.3-IV0"}
    assert answer["kraft_version"] == 1
    assert answer["features"]["share.version"] == 1
    first, second = answer["directories"]
    assert (first["path"], first["role"], first["action"]) == (str(node.root / "d1"), "metadata", "format")
    assert second["role"] == "data"
    assert first["directory_id"] == answer["voters"][0]["directory_id"] != second["directory_id"]
    assert {file["path"] for directory in answer["directories"] for file in directory["files"]} == {
        str(node.root / name) for name in node.tree()
    }
    for item in answer["directories"]:
        for file in item["files"]:
            assert Path(file["path"]).stat().st_size == file["size"]


def test_dry_run_shows_the_same_and_writes_nothing(format_: Callable[..., Run], node: Node) -> None:
    run = format_("-s", "--dry-run")
    assert (run.code, run.json["outcome"]) == (0, "planned")
    assert [directory["action"] for directory in run.json["directories"]] == ["format", "format"]
    assert list(node.root.iterdir()) == [node.file]


def test_dry_run_of_a_refused_format_is_refused(format_: Callable[..., Run], node: Node) -> None:
    run = format_("--dry-run")
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert blockers(run) == ["voter-flag-missing"]


def test_people_get_a_table(kafkactl: Callable[..., Run], node: Node) -> None:
    run = kafkactl("storage", "format", "-t", CLUSTER_ID, "-c", str(node.file), "-s", "--kafka-version", "4.3")
    assert run.code == 0
    assert "Formatted node 1 for Kafka 4.3" in run.stdout
    assert "4.3-IV0 (30)" in run.stdout
    assert str(node.root / "d2") in run.stdout


def test_again_without_ignore_formatted_is_refused_and_with_it_nothing_is_to_do(
    format_: Callable[..., Run], node: Node
) -> None:
    format_("-s")
    before = node.tree()
    again = format_("-s")
    assert (again.code, again.json["outcome"], blockers(again)) == (3, "refused", ["already-formatted"] * 2)
    kept = format_("-s", "-g")
    assert (kept.code, kept.json["outcome"]) == (0, "nothing-to-do")
    assert kept.json["voters"] == []  # a new id would be on no disk
    assert [directory["action"] for directory in kept.json["directories"]] == ["keep", "keep"]
    assert node.tree() == before


def test_new_disk_is_formatted_and_the_others_stay(format_: Callable[..., Run], node: Node) -> None:
    node.configure("d1")
    format_("-s")
    before = node.tree()
    node.configure("d1", "d2")
    run = format_("-s", "-g")
    assert (run.code, [directory["action"] for directory in run.json["directories"]]) == (0, ["keep", "format"])
    assert before.items() <= node.tree().items()


@pytest.mark.parametrize(
    "words",
    [["-t", "-xyz"], ["-t=-xyz"], ["--cluster-id=-xyz"], ["--cluster-id", "-xyz"]],
)
def test_cluster_id_may_begin_with_a_dash(kafkactl: Callable[..., Run], node: Node, words: list[str]) -> None:
    run = kafkactl("storage", "format", *words, "-c", str(node.file), "-s", "-o", "json")
    assert (run.code, run.json["cluster_id"]) == (0, "-xyz")


def test_arguments_can_stand_in_a_file(kafkactl: Callable[..., Run], node: Node) -> None:
    arguments = node.root / "arguments"
    arguments.write_text(f"-t\n{CLUSTER_ID}\n-s\n-o\njson\n", encoding="utf-8")
    run = kafkactl("storage", "format", "-c", str(node.file), f"@{arguments}")
    assert (run.code, run.json["outcome"]) == (0, "done")


def test_kafkas_long_flags_mean_what_the_short_ones_do(format_: Callable[..., Run], node: Node) -> None:
    voters = f"1@localhost:9093:{OWN_ID}"
    run = format_(
        "--initial-controllers", voters, "--release-version", "4.1", "--feature", "group.version=0",
        "--add-scram", SCRAM, "--ignore-formatted", "--kafka-version", "4.4",
    )  # fmt: skip
    assert run.code == 0
    assert run.json["metadata_version"]["name"] == "4.1-IV1"
    assert "group.version" not in run.json["features"]
    assert run.json["directories"][0]["directory_id"] == OWN_ID


@pytest.mark.parametrize("words", [["-s", "-N"], ["-s", "-I", f"1@h:1:{OWN_ID}"], ["-N", "-I", f"1@h:1:{OWN_ID}"]])
def test_voter_flags_exclude_each_other(format_: Callable[..., Run], words: list[str]) -> None:
    run = format_(*words)
    assert (run.code, run.error["kind"]) == (2, "error")
    assert "exclude each other" in run.error["message"]


@pytest.mark.parametrize("missing", ["-t", "-c"])
def test_cluster_id_and_config_are_required(kafkactl: Callable[..., Run], node: Node, missing: str) -> None:
    words = {"-t": CLUSTER_ID, "-c": str(node.file)}
    del words[missing]
    run = kafkactl("storage", "format", *[word for pair in words.items() for word in pair], "-o", "json")
    assert (run.code, run.error["id"]) == (2, "missing-option")


@pytest.mark.parametrize(
    ("words", "id_"),
    [
        (["-I", "1@h"], "voter-without-port"),
        (["-I", ""], "no-voters"),
        (["-s", "-f", "group.version"], "feature-argument-not-understood"),
        (["-s", "-r", "9.9"], "unknown-release-version"),
        (["-s", "--kafka-version", "5.0"], "unknown-kafka-version"),
        (["-s", "-S", "nonsense"], None),
        (["-s", "--owner", "no-such-user"], "unknown-owner"),
        (["-s", "--scram-file", "/no/such/file"], "input-file-unreadable"),
    ],
)
def test_words_that_cannot_be_understood_are_a_usage_error(
    format_: Callable[..., Run], node: Node, words: list[str], id_: str | None
) -> None:
    run = format_(*words)
    assert (run.code, run.stdout) == (2, "")
    assert run.error["exit_code"] == 2
    assert id_ in {None, run.error["id"]}
    assert node.tree() == {}


@pytest.mark.parametrize(
    ("content", "id_"),
    [
        (None, "input-file-unreadable"),
        (b"", None),
        (b"process.roles=broker\n", None),
        (b"node.id=\\u00zz\n", None),
    ],
    ids=["missing", "empty", "incomplete", "bad escape"],
)
def test_configuration_that_kafka_would_not_load_is_a_usage_error(
    format_: Callable[..., Run], node: Node, content: bytes | None, id_: str | None
) -> None:
    node.file.unlink()
    if content is not None:
        node.file.write_bytes(content)
    run = format_("-s")
    assert (run.code, run.stdout) == (2, "")
    assert run.error["next_step"]
    assert id_ in {None, run.error["id"]}


def stored_users(node: Node) -> int:
    return sum(content.count(b"alice") for content in node.tree().values())


@pytest.mark.parametrize("output", ["json", "table", "yaml"])
def test_password_in_an_argument_works_is_warned_of_and_never_shown(
    kafkactl: Callable[..., Run], node: Node, output: str
) -> None:
    words = ["-t", CLUSTER_ID, "-c", str(node.file), "-s", "-S", SCRAM, "-o", output, "-v", "--kafka-version", "4.4"]
    run = kafkactl("storage", "format", *words)
    assert run.code == 0
    assert "secret-in-arguments" in run.stdout
    assert "alice-secret" not in run.stdout + run.stderr
    assert stored_users(node) == 1


def test_users_by_file_stdin_and_environment_are_not_warned_of(
    format_: Callable[..., Run], node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = node.root / "users"
    file.write_text(f"# the first user\n{SCRAM}\n", encoding="utf-8")
    for words, given in ((["--scram-file", str(file)], ""), (["--scram-file", "-"], SCRAM)):
        run = format_("-s", "--dry-run", "--kafka-version", "4.4", *words, input=given)
        assert run.code == 0
        assert "secret-in-arguments" not in run.stdout
    file.unlink()
    monkeypatch.setenv("KAFKACTL_SCRAM", SCRAM)
    assert format_("-s", "--kafka-version", "4.4").code == 0
    assert stored_users(node) == 1


@pytest.mark.parametrize("text", [SCRAM.replace("name=alice,", ""), SCRAM.replace("]", ""), SCRAM.replace("256", "1")])
def test_user_that_cannot_be_read_is_reported_without_the_password(format_: Callable[..., Run], text: str) -> None:
    run = format_("-s", "--scram-file", "-", input=text)
    assert run.code == 2
    assert "alice-secret" not in run.stdout + run.stderr


def test_empty_scram_file_is_a_mistake(format_: Callable[..., Run]) -> None:
    run = format_("-s", "--scram-file", "-", input="\n# nobody\n")
    assert (run.code, run.error["id"]) == (2, "scram-file-empty")


def test_directory_that_is_not_blank_is_refused_and_can_be_allowed(format_: Callable[..., Run], node: Node) -> None:
    (node.root / "d2" / "topic-0").mkdir(parents=True)
    run = format_("-s")
    assert (run.code, blockers(run)) == (3, ["directory-not-blank"])
    assert node.tree() == {}
    assert format_("-s", "--allow-not-blank", node.root / "d2").code == 0


def test_lost_metadata_disk_is_refused_and_can_be_replaced(format_: Callable[..., Run], node: Node) -> None:
    format_("-s")
    for path in sorted((node.root / "d1").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    run = format_("-s", "-g")
    assert (run.code, blockers(run)) == (3, ["metadata-disk-lost"])
    assert format_("-s", "-g", "--replace-lost-metadata-disk").code == 3
    assert format_("-s", "-g", "--replace-lost-metadata-disk", "--verified-quorum").code == 0


def test_unreadable_directory_is_refused_and_can_be_left_out(format_: Callable[..., Run], node: Node) -> None:
    (node.root / "d2").write_text("no directory")
    run = format_("-s")
    assert (run.code, blockers(run)) == (3, ["log-directory-unreadable"])
    run = format_("-s", "--allow-failed-dir", node.root / "d2")
    assert (run.code, [directory["action"] for directory in run.json["directories"]]) == (0, ["format", "skip"])


def test_expected_mount_that_is_none_is_refused(format_: Callable[..., Run], node: Node) -> None:
    run = format_("-s", "--expect-mount", node.root / "d1")
    assert (run.code, blockers(run)) == (3, ["not-a-mount"])


def test_directory_in_use_is_refused(format_: Callable[..., Run], node: Node) -> None:
    (node.root / "d1").mkdir()
    (node.root / "d1" / ".lock").touch()
    script = "import fcntl,sys; f=open(sys.argv[1],'r+'); fcntl.lockf(f,fcntl.LOCK_EX); print('x',flush=True); input()"
    command = [sys.executable, "-c", script, str(node.root / "d1" / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        run = format_("-s", "--allow-not-blank", node.root / "d1")
        running.communicate(b"\n")
    assert (run.code, blockers(run)) == (3, ["directory-in-use"])


@pytest.mark.parametrize(
    ("number", "id_"),
    [
        (errno.ENOSPC, "no-space-left"),
        (errno.EACCES, "write-not-permitted"),
        (errno.EROFS, "read-only-filesystem"),
        (errno.EIO, "disk-io-error"),
    ],
)
def test_disk_that_fails_is_an_answer_with_the_next_step(
    format_: Callable[..., Run], node: Node, monkeypatch: pytest.MonkeyPatch, number: int, id_: str
) -> None:
    def fail(self: OsFilesystem, path: str, mode: int, *, at: int | None = None) -> int:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(OsFilesystem, "create", fail)
    run = format_("-s")
    assert (run.code, run.json["outcome"]) == (1, "failed")
    assert [finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"] == [id_]
    assert run.json["findings"][-1]["id"] == "format-not-begun"
    assert list(node.root.iterdir()) == [node.file]


def test_half_of_a_format_is_exit_5_and_the_same_command_finishes_it(
    format_: Callable[..., Run], node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = OsFilesystem.publish

    def fail(self: OsFilesystem, source: str, target: str, *, at: int) -> None:
        if target == str(node.root / "d1" / "meta.properties"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), target)
        publish(self, source, target, at=at)

    with monkeypatch.context() as broken:
        broken.setattr(OsFilesystem, "publish", fail)
        run = format_("-s")
    assert (run.code, run.json["outcome"]) == (5, "partial")
    assert {directory["path"]: directory["progress"] for directory in run.json["directories"]} == {
        str(node.root / "d1"): "half-done",
        str(node.root / "d2"): "unknown",
    }
    again = format_("-s")
    assert (again.code, again.json["outcome"]) == (0, "done")
    assert {Path(name).name for name in node.tree()} == {
        "meta.properties",
        "00000000000000000000-0000000000.checkpoint",
    }


@pytest.mark.slow
def test_of_several_operators_at_once_one_formats_and_nothing_is_lost(node: Node) -> None:
    command = [sys.executable, "-m", "kafkactl", "storage", "format", "-t", CLUSTER_ID, "-c", str(node.file), "-s"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[3])}
    runs = [
        subprocess.Popen([*command, "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        for _ in range(5)
    ]
    answers = [(run.communicate()[0], run.returncode) for run in runs]
    outcomes = sorted((code, json.loads(text)["outcome"]) for text, code in answers)
    assert outcomes == [(0, "done")] + [(3, "refused")] * 4, [text.decode() for text, _ in answers]
    winner = next(json.loads(text) for text, code in answers if code == 0)
    for directory in winner["directories"]:
        stored = (Path(directory["path"]) / "meta.properties").read_text()
        assert f"directory.id={directory['directory_id']}" in stored
