"""At most one driver per cluster: a lock in its ZooKeeper that names its holder, host, start time and journal.

The lock is an ephemeral znode inside the chroot at a path that Kafka does not use, so brokers, controllers, the copy
and comparisons ignore it. It exists as long as the session of the driver that created it. A driver that finds it is
refused, whatever journal it has. A driver that was killed leaves it until its session ends. The next driver with the
same journal file holds that file's lock, therefore knows that the earlier driver has ended, and takes the znode over.
"""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkactl.core.closing import Closing
from kafkactl.core.errors import RefusedError
from kafkactl.migration.io.zookeeper.client import ZooKeeper
from kafkactl.migration.io.zookeeper.link import LostError
from kafkactl.migration.observed.driver_lock import PATH, UNKNOWN, Holder, LockSeen, holder_in
from kafkactl.migration.zktree.znode import Znode

_TRIES: Final = 20


def this_driver(journal: str, *, now_ms: int) -> Holder:
    """Return this process as holder, with its journal, which has to be open and locked."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    path = Path(journal).absolute()
    try:
        found = path.stat()
        file = f"{found.st_dev}:{found.st_ino}"
    except OSError:
        file = UNKNOWN
    return Holder(
        user=user, host=socket.gethostname(), pid=os.getpid(), since_ms=now_ms, journal=str(path), file=file
    )  # fmt: skip


class ZooKeeperLock(Closing):
    """A lock that is held; a context manager that gives it back. `take_lock` makes it."""

    def __init__(self, zookeeper: ZooKeeper, holder: Holder, predecessor: Holder | None = None) -> None:
        self._zookeeper = zookeeper
        self.holder = holder
        self.predecessor = predecessor

    def close(self) -> None:
        """End the session, and the lock with it."""
        self._zookeeper.close()

    @property
    def words(self) -> str:
        """Return the holder of the lock, and the ended driver from which it was taken over."""
        taken = "" if self.predecessor is None else f", taken over from process {self.predecessor.pid}, which has ended"
        return self.holder.words + taken

    def check(self) -> None:
        """Check that the lock is still this session's.

        Raises RefusedError `migration-lock-lost` if it is not, UnreachableError where ZooKeeper does not answer.
        """
        try:
            found = self._zookeeper.read(PATH)
        except LostError:
            self._zookeeper.await_return()
            found = self._zookeeper.read(PATH)
        if found is None or found.ephemeral_owner != self._zookeeper.session_id:
            raise _lost(found)


def observe_lock(zookeeper: ZooKeeper) -> LockSeen:
    """Return the driver that holds the lock now. Raises UnreachableError."""
    found = zookeeper.read(PATH)
    return LockSeen(holder=None if found is None else holder_in(found.data))


def take_lock(open_session: Callable[[], ZooKeeper], me: Holder) -> ZooKeeperLock:
    """Take the lock of a cluster's migration.

    Raises RefusedError `concurrent-migration-run`, and UnreachableError (`zookeeper-no-permission` among them).
    """
    zookeeper = open_session()
    predecessor: Holder | None = None
    try:
        for _ in range(_TRIES):
            if zookeeper.create_ephemeral(PATH, me.to_bytes()):
                return ZooKeeperLock(zookeeper, me, predecessor)
            found = zookeeper.read(PATH)
            if found is None:
                continue
            if found.ephemeral_owner == zookeeper.session_id:
                return ZooKeeperLock(zookeeper, me, predecessor)
            other = holder_in(found.data)
            if not other.is_predecessor_of(me):
                break
            predecessor = other
            _remove(zookeeper, found)
        raise _at_work(zookeeper.read(PATH))
    except BaseException:
        zookeeper.close()
        raise


def _remove(zookeeper: ZooKeeper, found: Znode) -> None:
    try:
        zookeeper.delete(PATH, found.version)
    except RefusedError:  # its session has just ended
        return


def _at_work(found: Znode | None) -> RefusedError:
    who = "another driver" if found is None else holder_in(found.data).words
    return RefusedError(
        f"the migration of this cluster is driven by {who}",
        id="concurrent-migration-run",
        cause=f"ZooKeeper's znode {PATH} is that driver's lock.",
    )


def _lost(found: Znode | None) -> RefusedError:
    now = "no driver holds it" if found is None else f"the holder is {holder_in(found.data).words}"
    return RefusedError(
        f"the lock of this migration ({PATH} in ZooKeeper) is no longer this driver's: {now}",
        id="migration-lock-lost",
        cause="The ZooKeeper session ended: ZooKeeper was unreachable, or this process was suspended, for too long.",
    )
