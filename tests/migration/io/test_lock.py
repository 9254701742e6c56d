"""The lock of a migration's driver: one holder, taken over from a dead process of the same journal, seen to be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.errors import RefusedError, UnreachableError
from kafkactl.core.frozen import changed
from kafkactl.migration.io.lock import take_lock, this_driver
from kafkactl.migration.io.zookeeper.read import ROOTS
from kafkactl.migration.observed.driver_lock import PATH, Holder, holder_in
from kafkactl.migration.zktree.znode import Znode


class Ensemble:
    """Znodes of sessions."""

    def __init__(self) -> None:
        self.znodes: dict[str, Znode] = {}
        self.sessions = 0

    def open(self) -> Session:
        self.sessions += 1
        return Session(self, self.sessions)

    def expire(self, session: int) -> None:
        """Expire a session, with what it owned."""
        self.znodes = {path: znode for path, znode in self.znodes.items() if znode.ephemeral_owner != session}


class Session:
    """Session as the lock needs it of `ZooKeeper`."""

    def __init__(self, ensemble: Ensemble, session_id: int) -> None:
        self.ensemble, self.session_id, self.closed = ensemble, session_id, False
        self.away: Exception | None = None

    def create_ephemeral(self, path: str, data: bytes) -> bool:
        if path in self.ensemble.znodes:
            return False
        self.ensemble.znodes[path] = Znode(path=path, data=data, ephemeral_owner=self.session_id)
        return True

    def read(self, path: str) -> Znode | None:
        if self.away is not None:
            raise self.away
        return self.ensemble.znodes.get(path)

    def delete(self, path: str, version: int) -> None:
        if path not in self.ensemble.znodes:
            raise RefusedError("it is not there any more", id="znode-gone")
        del self.ensemble.znodes[path]

    def close(self) -> None:
        self.closed = True
        self.ensemble.expire(self.session_id)


def driver(journal: str = "/a/journal.jsonl", **fields: object) -> Holder:
    usual = Holder(user="ann", host="h1", pid=11, since_ms=1_790_000_000_000, journal=journal, file=f"1:{len(journal)}")
    return changed(usual, **fields)


def taken(ensemble: Ensemble, me: Holder):
    return take_lock(ensemble.open, me)  # type: ignore[arg-type,return-value]


def test_lock_path_is_outside_of_kafkas_paths() -> None:
    assert not any(root == PATH or PATH.startswith(root + "/") for root in ROOTS)
    assert PATH.count("/") == 1


def test_second_driver_is_refused_whatever_its_journal() -> None:
    ensemble = Ensemble()
    with taken(ensemble, driver()) as lock:
        lock.check()
        for other in (
            driver("/other/journal.jsonl", pid=12, user="bob"),
            driver(host="h2"),  # the same path on another machine
            driver(file="2:99"),  # the same path in another container
        ):
            with pytest.raises(RefusedError, match="ann@h1") as caught:
                taken(ensemble, other)
            assert caught.value.id == "concurrent-migration-run"
            assert "process 11" in caught.value.message
            assert "/a/journal.jsonl" in caught.value.message
            assert "2026-09-21" in caught.value.message
        lock.check()
    assert ensemble.znodes == {}
    with taken(ensemble, driver("/other/journal.jsonl")):
        pass


def test_driver_that_was_killed_is_succeeded_at_once_with_its_journal() -> None:
    # The next one holds the journal's own lock, so the one before is gone; its session lingers.
    ensemble = Ensemble()
    dead = taken(ensemble, driver())
    heir = taken(ensemble, driver(pid=12))
    heir.check()
    assert "taken over from process 11" in heir.words
    ensemble.expire(1)  # the end of the dead session takes nothing of the heir's
    heir.check()
    with pytest.raises(RefusedError):
        dead.check()


def test_lock_that_is_lost_is_reported() -> None:
    ensemble = Ensemble()
    lock = taken(ensemble, driver())
    ensemble.expire(1)
    with pytest.raises(RefusedError, match="no driver holds it") as caught:
        lock.check()
    assert caught.value.id == "migration-lock-lost"
    taken(ensemble, driver("/other/journal.jsonl", user="bob"))
    with pytest.raises(RefusedError, match="bob@h1"):
        lock.check()


def test_zookeeper_that_is_away_is_not_a_lost_lock() -> None:
    ensemble = Ensemble()
    session = ensemble.open()
    lock = take_lock(lambda: session, driver())  # type: ignore[arg-type,return-value]
    session.away = UnreachableError("ZooKeeper does not answer", id="zookeeper-timed-out")
    with pytest.raises(UnreachableError):
        lock.check()
    session.away = None
    lock.check()


def test_session_of_who_is_refused_is_closed() -> None:
    ensemble, sessions = Ensemble(), []
    taken(ensemble, driver())

    def opened():
        sessions.append(ensemble.open())
        return sessions[-1]

    with pytest.raises(RefusedError):
        take_lock(opened, driver("/other/journal.jsonl"))
    assert [session.closed for session in sessions] == [True]


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b'{"pid": "x", "since_ms": -1}', b"\xff"])
def test_lock_that_cannot_be_read_keeps_everybody_out(data: bytes | None) -> None:
    ensemble = Ensemble()
    ensemble.znodes[PATH] = Znode(path=PATH, data=data, ephemeral_owner=77)
    assert holder_in(data).file == "unknown"
    with pytest.raises(RefusedError, match="unknown@unknown"):
        taken(ensemble, driver(file="unknown"))


def test_lock_names_this_process(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text("")
    me = this_driver(str(journal), now_ms=5)
    assert holder_in(me.to_bytes()) == me
    assert me.is_predecessor_of(changed(me, pid=me.pid + 1))
