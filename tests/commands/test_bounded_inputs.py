"""Bounded memory and time for inputs that may have no end: devices, FIFOs and sparse files.

The command lines of one kind run in one process of their own, whose largest resident size is measured and whose address
space is limited, so that a reader without a bound fails the test and not the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.errors import KafkactlError
from kafkactl.files.config_providers import resolve
from kafkactl.files.contexts import load_contexts
from kafkactl.files.journal import open_journal
from kafkactl.files.one_file import read_file
from kafkactl.kafka.sasl import assertion as sasl_assertion
from kafkactl.kafka.sasl import token as sasl_token
from kafkactl.metadata.io.source import read_pieces
from kafkactl.migration.io.journal import kept_file
from kafkactl.migration.io.operator_files import FilesOfOperator
from kafkactl.migration.io.rendered_files import MANIFEST, read_manifest
from kafkactl.migration.io.zookeeper import settings as zookeeper_settings
from kafkactl.protocol.text.config_values import ConfigProvider
from kafkactl.storage.fleet.receipts import receipt_name
from kafkactl.storage.io.receipts import read_receipt
from tests.metadata.goldens import golden

ENDLESS, FIFO, SPARSE = "device", "fifo", "sparse"
HOSTILE = (ENDLESS, FIFO, SPARSE)
MOST_BYTES = 512 << 20
SPARSE_BYTES = 200 << 30
SEGMENT = "00000000000000000000.log"
CODE = """
import json, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from kafkactl.commands.main import main
for words in json.load(sys.stdin):
    sys.stdout, sys.stderr = open(os.devnull, "w"), open("stderr", "w+")
    began = time.monotonic()
    code = main([*words, "-o", "json"])
    took = time.monotonic() - began
    sys.stderr.seek(0)
    said = sys.stderr.read()
    sys.stdout = sys.__stdout__
    # VmHWM starts from zero with a program; ru_maxrss begins with the size of the process that started it.
    status = open("/proc/self/status").read()
    size = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    print(json.dumps({"code": code, "stderr": said, "seconds": took, "bytes": size}), flush=True)
"""
"""Runs command lines in one process and prints how each ended, and how large the process has become."""


def planted(path: Path, kind: str) -> Path:
    """Return a file of that kind at this path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == ENDLESS:
        path.symlink_to("/dev/zero")
    elif kind == FIFO:
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(SPARSE_BYTES)
    path.chmod(0o600) if kind != ENDLESS else None
    return path


def log_next_to(folder: Path, name: str, kind: str) -> Path:
    """Return a sound metadata log with a hostile file of this name: in the log's folder, or with `../` above."""
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / SEGMENT).write_bytes(golden("segment-4.4.0-standalone.log.bin"))
    planted(log / name, kind)
    return log


def command_lines(folder: Path, kind: str) -> dict[str, tuple[list[str], int, str | None]]:
    """Return by name the words, the exit code, and the id of the error on stderr (None: the file is done without)."""
    file = str(planted(folder / "hostile", kind))
    settings = {name: folder / f"{name}.properties" for name in ("truststore", "keystore")}
    for name, path in settings.items():
        path.write_text(f"security.protocol=SSL\nssl.{name}.type=PEM\nssl.{name}.location={file}\n")
    observation = folder / "observation"
    observation.mkdir()
    (observation / "observation.json").write_text("{}")
    planted(observation / "zk.jsonl.gz", kind)
    ask = ["quorum", "describe", "--bootstrap-controller", "127.0.0.1:1", "--timeout", "5s", "--command-config"]
    marker = 2 if kind == SPARSE else 0  # only a regular file is read as partition.metadata
    lines: dict[str, tuple[list[str], int, str | None]] = {
        "meta.properties": (["log", "verify", str(log_next_to(folder / "a", "../meta.properties", kind))], 0, None),
        "partition.metadata": (
            ["log", "verify", str(log_next_to(folder / "b", "partition.metadata", kind))],
            marker,
            "input-file-unreadable" if marker else None,
        ),
        "dump": (["storage", "dump", file], 2, "input-file-unreadable"),
        "command-config": ([*ask, file], 2, "unreadable-client-config"),
        "truststore": ([*ask, str(settings["truststore"])], 2, "unreadable-tls-store"),
        "keystore": ([*ask, str(settings["keystore"])], 2, "unreadable-tls-store"),
        "arguments": (["storage", f"@{file}"], 2, "wrong-usage"),
        "plan": (["storage", "apply", file, "--node", "1", "--yes"], 2, "input-file-unreadable"),
        "fleet": (["storage", "plan", file, "--out", str(folder / "plan")], 2, "input-file-unreadable"),
        "inventory": (["migrate", "status", "--inventory", file], 2, "input-file-unreadable"),
        "observation": (["migrate", "status", "--observation", str(observation)], 2, None),
        "tree": (["dryrun", "zk-migration", str(observation / "zk.jsonl.gz")], 2, "input-file-unreadable"),
        "after": (["dryrun", "broker-loss", str(folder / "a"), "--brokers", "1", "--after", file], 2, None),
    }
    if kind != SPARSE:  # 200 GB of a segment take their time, and no memory
        disk = log_next_to(folder / "e", f"{1:020}.log", kind).parent
        lines["quorum of a disk"] = (["quorum", "describe", "--log-dir", str(disk)], 7, None)
        lines["segment"] = (["log", "verify", str(planted(folder / SEGMENT, kind))], 2, "input-file-unreadable")
        among_others = str(log_next_to(folder / "d", f"{1:020}.log", kind))
        lines["segment of a disk"] = (["log", "image", among_others], 2, "log-file-not-regular")
    return lines


def _error_id(text: str) -> str | None:
    """Return the id of the error after any warnings; None if there is none."""
    return json.loads(text[text.index("{") :])["id"] if "{" in text else None


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_command_line_with_a_hostile_file_is_bounded(kind: str, tmp_path: Path) -> None:
    lines = command_lines(tmp_path, kind)
    words = [line for line, _, _ in lines.values()]
    run = subprocess.run(
        [sys.executable, "-c", CODE], input=json.dumps(words), capture_output=True, text=True, timeout=120,
        cwd=tmp_path, check=False,
    )  # fmt: skip
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(found) == len(words), run.stderr
    ended: dict[str, Any] = {}
    for (name, (_, code, id)), key in zip(lines.items(), found, strict=True):
        said = _error_id(key["stderr"])
        wanted = said if id is None else id
        if (key["code"], said) != (code, wanted) or "internal-error" in key["stderr"] or key["seconds"] > 5:
            ended[name] = (key["code"], key["stderr"], key["seconds"])
        if key["bytes"] > MOST_BYTES:
            ended[f"{name}: memory"] = key["bytes"]
    assert ended == {}


def _assertion(path: Path) -> object:
    return sasl_assertion._read(str(path), "private.key.file")


def _directory_provider(path: Path) -> object:
    provider = ConfigProvider(
        name="d", class_name="org.apache.kafka.common.config.provider.DirectoryConfigProvider", settings={}
    )
    return resolve(provider, str(path.parent), path.name)


def _receipt(path: Path) -> object:
    path.rename(path.with_name(receipt_name(1)))
    return read_receipt(path.parent, 1)


READERS: dict[str, Callable[[Path], object]] = {
    "token file": lambda path: sasl_token._from_file(str(path)),
    "assertion": _assertion,
    "login of ZooKeeper": lambda path: zookeeper_settings.zookeeper_settings(
        {"java.security.auth.login.config": str(path)}, read_only=True
    ),
    "config provider": _directory_provider,
    "contexts": load_contexts,
    "journal": lambda path: open_journal(str(path), subject="quorum", cluster_id="x"),
    "kept file": lambda path: kept_file(path.parent, path.name),
    "receipt": _receipt,
    "rendered file": FilesOfOperator().rendered,
    "copy of a configuration": lambda path: FilesOfOperator().copy(path, "copy"),
    "segment": lambda path: next(iter(read_pieces(str(path)))),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("reader", sorted(READERS))
def test_reader_of_a_hostile_file_is_bounded(reader: str, kind: str, tmp_path: Path) -> None:
    path = planted(tmp_path / "hostile", kind)
    if (reader, kind) == ("segment", SPARSE):
        pytest.skip("segments are streamed, whatever their size")
    if (reader, kind) == ("journal", ENDLESS):
        path.unlink()
        path = Path("/dev/zero")
    began = time.monotonic()
    with pytest.raises((KafkactlError, LookupError, OSError)) as caught:
        READERS[reader](path)
    assert time.monotonic() - began < 30
    assert "hostile" in str(caught.value) or "zero" in str(caught.value) or reader in ("receipt", "kept file")


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_optional_file_is_ignored(kind: str, tmp_path: Path) -> None:
    # Optional files: their absence is not an error.
    planted(tmp_path / MANIFEST, kind)
    assert read_manifest(tmp_path) == {}
    assert read_file(str(tmp_path / MANIFEST)).content is None
