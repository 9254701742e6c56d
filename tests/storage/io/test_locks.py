"""The lock against a second kafkactl."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kafkactl.core.errors import RefusedError
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.storage.io.locks import directory_lock
from kafkactl.storage.model import KAFKACTL_LOCK


def test_second_is_refused_and_the_file_is_gone_afterwards(tmp_path: Path) -> None:
    with directory_lock(str(tmp_path), OsFilesystem()):
        with pytest.raises(RefusedError) as caught, directory_lock(str(tmp_path), OsFilesystem()):
            pass
        assert caught.value.id == "another-kafkactl-is-writing"
        assert caught.value.exit_code == 3
        assert (tmp_path / KAFKACTL_LOCK).exists()
    assert list(tmp_path.iterdir()) == []


def test_file_is_gone_after_a_failure_too(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no"), directory_lock(str(tmp_path), OsFilesystem()):
        raise OSError("no")
    assert list(tmp_path.iterdir()) == []


def test_lock_on_a_removed_file_is_not_a_lock(tmp_path: Path) -> None:
    # The first holder unlinks the name between the second's open and its lock: the second must open again.
    class Slow(OsFilesystem):
        tries = 0

        def lock(self, path: str, *, at: int | None = None) -> int:
            descriptor = super().lock(path, at=at)
            self.tries += 1
            if self.tries == 1:
                Path(path).unlink()
            return descriptor

    files = Slow()
    with directory_lock(str(tmp_path), files):
        assert files.tries == 2
        with pytest.raises(RefusedError), directory_lock(str(tmp_path), OsFilesystem()):
            pass


def test_of_many_at_once_one_works_at_a_time(tmp_path: Path) -> None:
    inside, most, refused = [0], [0], [0]
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(30):
            try:
                with directory_lock(str(tmp_path), OsFilesystem()):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    inside[0] -= 1
            except RefusedError:
                refused[0] += 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    assert list(tmp_path.iterdir()) == []
