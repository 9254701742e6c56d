"""A session with ZooKeeper through kazoo: opened within a deadline, used within deadlines, every failure typed.

No exception of kazoo leaves this file. kazoo restores a lost connection itself, so a caller that reads may continue
after `LostError`; a caller that writes first has to find out whether the write was carried out.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import socket
import struct
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.core.extras import install_advice
from kafkactl.migration.io.zookeeper.settings import Connect, ZooKeeperSettings
from kafkactl.net.tls import Tls
from kafkactl.net.transport import Address

if TYPE_CHECKING:
    from kazoo.client import KazooClient

_POLL_S: Final = 0.05
_ATTEMPTS: Final = 3
_FAILURES: Final = 4
# A first answer and a login take some hundred bytes. Afterwards: 8 times what ZooKeeper's own client takes
# (jute.maxbuffer), for servers that are configured to send more.
_ANSWER_BYTES_BEFORE_SESSION: Final = 1 << 20
_ANSWER_BYTES: Final = 32 << 20
_RECEIVE_BYTES: Final = 64 << 10


class LostError(UnreachableError):
    """The connection was lost before the answer: it is unknown whether the request was carried out."""


class CodeError(Exception):
    """ZooKeeper's own answer is an error; `code` is its number, `name` its name."""

    def __init__(self, code: int, name: str) -> None:
        super().__init__(name)
        self.code = code
        self.name = name


class _Bounded:
    """A connected socket for kazoo, which asks for as many bytes as a server claims, and waits for all of them."""

    def __init__(self, connected: socket.socket, check: Callable[[int], None]) -> None:
        self._socket = connected
        self._check = check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)  # `pending` is there only under TLS

    def recv(self, size: int) -> bytes:
        """Return the next bytes of an answer of which `size` are due. Raises OSError if that is too many."""
        self._check(size)
        return self._socket.recv(min(size, _RECEIVE_BYTES))


class Link:
    """A session. Close it when done."""

    def __init__(self, connect: Connect, settings: ZooKeeperSettings, deadline: Deadline) -> None:
        """Connect. Raises UnreachableError, and InputError for settings that cannot be used or a missing extra."""
        self.connect = connect
        self.tls = _tls(settings)
        self._settings = settings
        self._failures: dict[str, BaseException] = {}
        self._failed: dict[str, int] = {}
        self._socket: socket.socket | None = None
        self._proven = False
        self._too_large: UnreachableError | None = None
        self._client = self._made(deadline)
        try:
            self._start(deadline)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the session; harmless twice."""
        if not (self._proven and self._client.connected) and self._socket is not None:
            # A client of kazoo waits for an answer on the connection for as long as a session lasts.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._client.stop()
        self._client.close()

    @property
    def last_zxid(self) -> int:
        """Return the last transaction that the server had carried out when it answered last."""
        return int(self._client.last_zxid)

    @property
    def session_id(self) -> int:
        """Return the number of the session; 0 before there is one."""
        known = self._client.client_id
        return int(known[0]) if known else 0

    @property
    def own_acl(self) -> Any:
        """Return the rights for a znode of ours: all of them for this identity if there is one, else for everybody."""
        from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

        return OPEN_ACL_UNSAFE if self._settings.login is None else [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]

    @property
    def is_read_only(self) -> bool:
        """Return True if the server has lost its quorum and only lets read."""
        from kazoo.protocol.states import KeeperState

        return bool(self._client.client_state == KeeperState.CONNECTED_RO)

    def send(self, request: Any) -> Any:
        """Hand a request of kazoo's shape over at once; `wait` gives its answer. Paths in it are absolute."""
        pending = self._client.handler.async_result()
        self._client._call(request, pending)
        return pending

    def wait(self, pending: Any, deadline: Deadline) -> Any:
        """Return the answer. Raises CodeError, LostError, and UnreachableError if none comes in time."""
        from kazoo.exceptions import (
            AuthFailedError,
            CancelledError,
            ConnectionClosedError,
            ConnectionLoss,
            NotReadOnlyCallError,
            SessionClosedRequireSaslError,
            SessionExpiredError,
            ZookeeperError,
        )

        try:
            return pending.get(timeout=deadline.left_ms / 1000)
        except self._client.handler.timeout_exception as error:
            self._proven = False  # nor will it answer to our good-bye
            raise self._slow() from error
        except (ConnectionLoss, SessionExpiredError, ConnectionClosedError, CancelledError) as error:
            raise self._too_large or self._lost(error) from error
        except AuthFailedError as error:
            raise self._refused() from error
        except SessionClosedRequireSaslError as error:  # enforce.auth.enabled of ZooKeeper 3.7 and newer
            raise (self._requires_login() if self._settings.login is None else self._refused()) from error
        except NotReadOnlyCallError as error:
            raise read_only(self.connect) from error
        except ZookeeperError as error:
            raise CodeError(getattr(error, "code", 0), type(error).__name__.removesuffix("Error")) from error
        except (ValueError, RuntimeError, struct.error, LookupError, TypeError, MemoryError) as error:
            raise self._garbled(error) from error  # invalid UTF-8, another request's answer, wrong lengths …

    def _garbled(self, error: Exception) -> UnreachableError:
        return UnreachableError(
            f"{self.connect} gives an answer that cannot be read: {type(error).__name__} {error}"[:300],
            id="zookeeper-answer-unreadable",
        )

    def ask(self, request: Any, deadline: Deadline) -> Any:
        """Send a request, and wait for its answer."""
        return self.wait(self.send(request), deadline)

    def await_return(self, deadline: Deadline) -> None:
        """Wait after a loss until there is a connection again. Raises UnreachableError."""
        while not self._client.connected:
            if self._too_large is not None:
                raise self._too_large
            if self._client._connection.connection_stopped.is_set() and not self._client._stopped.is_set():
                raise self._unreachable()
            if deadline.passed:
                raise self._unreachable()
            time.sleep(_POLL_S)

    def _made(self, deadline: Deadline) -> KazooClient:
        from kazoo.client import KazooClient
        from kazoo.handlers.threading import SequentialThreadingHandler
        from kazoo.retry import KazooRetry

        handler = SequentialThreadingHandler()
        handler.create_connection = functools.partial(self._connected, deadline)
        handler.spawn = functools.partial(_quietly, handler.spawn)
        login = self._settings.login
        sasl = None
        if login is not None:
            _check_sasl_is_installed()
            sasl = {"mechanism": "DIGEST-MD5", "username": login.username, "password": login.password}
        return KazooClient(
            hosts=",".join(map(str, self.connect.servers)),
            timeout=self._settings.session_timeout_ms / 1000,
            handler=handler,
            read_only=self._settings.read_only,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=1, sleep_func=handler.sleep_func),
            sasl_options=sasl,
            logger=_silent_logger(),
        )

    def _connected(
        self, deadline: Deadline, address: tuple[str, int], hostname: str, timeout: float, **_: Any
    ) -> _Bounded:
        """Return a connected socket, under TLS if it is asked for: kazoo's own TLS checks no host names."""
        name = Address(hostname, address[1])
        seconds = max(0.1, min(timeout, deadline.left_ms / 1000)) if not deadline.passed else timeout
        try:
            plain = socket.create_connection(address, timeout=seconds)
        except OSError as error:
            self._note_failure(str(name), error)
            raise
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            secured = plain if self.tls is None else self.tls.wrap(plain, name)
        except OSError as error:
            plain.close()
            explained = None if self.tls is None else self.tls.explain(error, name, shaking_hands=True)
            self._note_failure(str(name), explained or error)
            raise
        self._failures.pop(str(name), None)
        self._failed.pop(str(name), None)
        self._socket = secured
        return _Bounded(secured, functools.partial(self._check_size, name))

    def _check_size(self, server: Address, size: int) -> None:
        most = _ANSWER_BYTES if self._proven else _ANSWER_BYTES_BEFORE_SESSION
        if size <= most:
            return
        self._too_large = UnreachableError(
            f"ZooKeeper at {server} announces an answer of {size} bytes; at most {most} are taken"
            + ("" if self._proven else " before there is a session"),
            id="zookeeper-answer-too-large",
        )
        raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))

    def _note_failure(self, server: str, failure: BaseException) -> None:
        self._failures[server] = failure
        self._failed[server] = self._failed.get(server, 0) + 1

    def _start(self, deadline: Deadline) -> None:
        live = self._client.start_async()
        stopped = self._client._connection.connection_stopped
        while not live.wait(min(_POLL_S, deadline.left_ms / 1000)):
            if self._too_large is not None:
                raise self._too_large
            # Each has failed several times: a host can have several numbers, and a server may be just starting.
            if all(self._failed.get(str(address), 0) >= _FAILURES for address in self.connect.servers):
                raise self._unreachable()
            if stopped.is_set() and self._settings.login is not None:
                raise self._refused()
            if stopped.is_set() or deadline.passed:
                raise self._unreachable()
        self._prove(deadline)
        self._proven = True

    def _prove(self, deadline: Deadline) -> None:
        """Check the session by a first answer: kazoo reports a connection before the login is finished."""
        from kazoo.protocol.serialization import Exists

        for _ in range(_ATTEMPTS):
            try:
                self.ask(Exists("/", None), deadline)
                return
            except UnreachableError as error:
                if self._too_large is not None:
                    raise
                if self._settings.login is not None:
                    raise self._refused() from None
                if not isinstance(error, LostError):
                    raise
                self.await_return(deadline)
            except CodeError:
                return  # whatever it says, it has answered
        raise self._unreachable()

    def _unreachable(self) -> UnreachableError:
        for failure in self._failures.values():
            if isinstance(failure, UnreachableError):
                return failure
        return UnreachableError(
            f"ZooKeeper at {self.connect} does not take a session",
            id="zookeeper-unreachable",
            cause="; ".join(f"{server}: {self._probed(server)}" for server in self.connect.servers),
        )

    def _probed(self, server: Address) -> str:
        """Return why this server opened no session, by one plain connection."""
        try:
            with socket.create_connection((server.host, server.port), timeout=0.5):
                return (
                    "the server accepts connections but no session: it has no quorum, is overloaded, or "
                    "requires TLS or SASL"
                )
        except OSError as error:
            return (error.strerror or str(error) or type(error).__name__).lower()

    def _slow(self) -> UnreachableError:
        return UnreachableError(f"ZooKeeper at {self.connect} did not answer in time", id="zookeeper-timed-out")

    def _lost(self, error: Exception) -> LostError:
        return LostError(
            f"the connection to ZooKeeper at {self.connect} was lost in the middle",
            id="zookeeper-connection-lost",
            cause=type(error).__name__,
        )

    def _requires_login(self) -> UnreachableError:
        return UnreachableError(
            f"ZooKeeper at {self.connect} requires a SASL login (enforce.auth.enabled), and kafkactl has none",
            id="zookeeper-requires-login",
        )

    def _refused(self) -> UnreachableError:
        return UnreachableError(
            f"ZooKeeper at {self.connect} does not let kafkactl in by DIGEST-MD5", id="zookeeper-login-refused"
        )


def _quietly(spawn: Any, work: Any, *words: Any, **options: Any) -> Any:
    """Start a thread whose exception is not printed: the caller that waits for its answer reports the failure."""

    def run(*words: Any, **options: Any) -> None:
        with contextlib.suppress(Exception):
            work(*words, **options)

    return spawn(run, *words, **options)


def _check_sasl_is_installed() -> None:
    """Check that SASL is installed: kazoo fails at the first connection only, in a thread of its own."""
    try:
        import_module("puresasl.client")
    except ImportError:
        raise InputError(
            "a login at ZooKeeper by SASL (DIGEST-MD5) needs the extra `zookeeper-sasl`",
            id="zookeeper-sasl-needs-extra",
            next_step=f"{install_advice('zookeeper-sasl')}, or connect without a login: leave out"
            " zookeeper.sasl.jaas.config and java.security.auth.login.config.",
        ) from None


def read_only(connect: Connect) -> UnreachableError:
    """Return the error for a write while only reads are allowed."""
    return UnreachableError(
        f"ZooKeeper at {connect} has lost its quorum and only lets read",
        id="zookeeper-read-only",
        next_step="Bring its quorum back first; nothing was written.",
    )


def _tls(settings: ZooKeeperSettings) -> Tls | None:
    if settings.tls is None:
        return None
    try:
        return Tls(settings.tls)
    except InputError as error:
        # Its keys are the clients' there; here they stand behind zookeeper.
        words = error.message.replace("ssl.", "zookeeper.ssl.", 1)
        raise InputError(words, id=error.id, cause=error.cause, next_step=error.next_step) from error


@functools.cache
def _silent_logger() -> logging.Logger:
    """Return a logger that discards kazoo's messages: failures are raised as errors."""
    logger = logging.getLogger("kafkactl.zookeeper")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    return logger
