"""A live cluster's log kept in a folder while it is read."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kafkactl
from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.core.errors import FailedError, InputError, UnreachableError
from kafkactl.metadata.io import live as live_log
from kafkactl.metadata.io.source import CHECKPOINT, SEGMENT, LogFile, cluster_files, open_source
from tests.metadata.goldens import golden

SEGMENT_BYTES = golden("segment-4.4.0-standalone.log.bin")


class Client:
    """Client as `saved_log` needs it."""

    def __init__(self, cluster_id: str | None) -> None:
        self._cluster_id = cluster_id

    def cluster(self) -> Any:
        if self._cluster_id is None:
            raise UnreachableError("it does not say", id="request-not-supported")
        return SimpleNamespace(cluster_id=self._cluster_id)


def files(*given: LogFile) -> Any:
    def cluster_files(client: Client, **_: Any) -> Iterator[LogFile]:
        yield from given

    return cluster_files


def file(name: str, kind: str, *pieces: bytes) -> LogFile:
    return LogFile(name=f"cluster:__cluster_metadata-0/{name}", kind=kind, base_offset=0, pieces=lambda: pieces)


@pytest.mark.parametrize("whole", [True, False])
def test_addresses_of_two_clusters_are_refused(whole: bool) -> None:
    with FakeQuorum() as first, FakeQuorum() as second:
        second.cluster_id = "another"
        addresses = f"{first.address(1)},{second.address(1)}"
        with kafkactl.connect(bootstrap_controller=addresses) as client, pytest.raises(InputError) as caught:
            list(cluster_files(client, from_offset=None, up_to=None, whole=whole))
    assert caught.value.id == "bootstrap-of-several-clusters"


@pytest.mark.parametrize("cluster_id", ["OMUHmur3Q2yPenap8xBpBg", None])
def test_it_is_a_folder_as_a_controller_has_it(cluster_id: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    half = len(SEGMENT_BYTES) // 2
    given = (
        file("00000000000000000025-0000000001.checkpoint", CHECKPOINT, b"x"),
        file("00000000000000000000.log", SEGMENT, SEGMENT_BYTES[:half], SEGMENT_BYTES[half:]),
    )
    monkeypatch.setattr(live_log, "cluster_files", files(*given))
    with live_log.saved_log(Client(cluster_id)) as path:  # type: ignore[arg-type]
        source = open_source(path)
        assert source.cluster_id == cluster_id
        assert [log_file.base_offset for log_file in (*source.segments, *source.checkpoints)] == [0, 25]
        assert Path(path, "00000000000000000000.log").read_bytes() == SEGMENT_BYTES
        assert stat.S_IMODE(Path(path).parents[1].stat().st_mode) == 0o700  # credentials stand in it
    assert not Path(path).parents[1].exists()


def test_disk_that_is_full_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def pieces() -> Iterator[bytes]:
        raise OSError(28, "No space left on device")
        yield b""

    full = LogFile(name="cluster:m/00000000000000000000.log", kind=SEGMENT, base_offset=0, pieces=pieces)
    monkeypatch.setattr(live_log, "cluster_files", files(full))
    with pytest.raises(FailedError, match="No space left") as caught, live_log.saved_log(Client("a")):  # type: ignore[arg-type]
        pass
    assert caught.value.id == "fetched-log-not-written"
