"""Rights that Kafka's authorizer asks for: schemas/rights.toml as values, and the errors that name a missing one.

A request that was denied says nothing of what it asked about. So every message about one names the request, the user,
the right, and the command with which an administrator adds it.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from kafkactl.core.data_files import read_data
from kafkactl.core.errors import UnreachableError
from kafkactl.core.frozen import frozen

TOPIC_DENIED, CLUSTER_DENIED = 29, 31  # TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED
_CLUSTER, _CODE = "cluster", "CLUSTER_AUTHORIZATION_FAILED"
# Releases before 4.0 print the session with its user, later ones the identity of a Java object.
_SESSION_USER = r"session=Session\(([A-Za-z]+:[^,()]+),"
_PRINTED_REQUEST = r"(?s)Request Request\(.*\) (needs \w+ permission|is not authorized)"
_JAVA_OBJECT = r"\b(?:[a-z]\w*\.)+[A-Z][\w$]*@[0-9a-f]+"


@frozen
class Right:
    """An operation on a resource, as kafka-acls.sh names both: `ClusterAction` on the `cluster`."""

    operation: str
    resource: str = _CLUSTER

    def __str__(self) -> str:
        return f"{self.operation} on the {self.resource}"


@frozen
class RequestRight:
    """The right that a request needs. `listener` is the kind that asks for it, None for both; `unknown` is what stays
    unknown without it."""

    request: str
    right: Right
    unknown: str
    listener: str | None = None


@frozen
class CommandRights:
    """The requests of commands: those of a full `answer`, and those of a `change`. `topics` are rights on topics."""

    names: tuple[str, ...]
    answer: tuple[str, ...]
    change: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@frozen
class Login:
    """The user that a connection acts as. `brokers` are addresses at which ACLs can be changed.

    `principal` is None if only the server knows it: a certificate, a token or a ticket is mapped by rules there.
    """

    principal: str | None = None
    brokers: str | None = None

    @property
    def name(self) -> str:
        """Return the user in a sentence."""
        return self.principal or "this user"

    def grant(self, rights: Iterable[Right]) -> str:
        """Return the command with which an administrator gives this user rights on the cluster."""
        return self._added((right.operation for right in rights), "--cluster")

    def grant_on_topics(self, operations: Iterable[str], topics: Iterable[str]) -> str:
        """Return the command with which an administrator gives this user operations on topics."""
        return self._added(operations, " ".join(f"--topic {shlex.quote(topic)}" for topic in topics))

    def _added(self, operations: Iterable[str], resource: str) -> str:
        user = shlex.quote(self.principal) if self.principal else "User:NAME"
        words = " ".join(f"--operation {operation}" for operation in dict.fromkeys(operations))
        return (
            f"kafka-acls.sh --bootstrap-server {self.brokers or 'HOST:PORT'} --command-config ADMIN.properties "
            f"--add --allow-principal {user} {words} {resource}"
        )

    def named_by(self, text: str | None) -> Login:
        """Return the login with the principal that a server's message names, if only the message does."""
        found = re.search(_SESSION_USER, text or "")
        return self if self.principal or found is None else Login(principal=found[1], brokers=self.brokers)


@functools.cache
def request_rights() -> Mapping[str, RequestRight]:
    """Return the right of every request, by the name of the request."""
    rows: Mapping[str, Mapping[str, Any]] = _table()["requests"]
    return {
        name: RequestRight(
            request=name,
            right=Right(operation=row["operation"], resource=row["resource"]),
            unknown=row["unknown"],
            listener=row.get("listener"),
        )
        for name, row in rows.items()
    }


@functools.cache
def command_rights() -> tuple[CommandRights, ...]:
    """Return the requests of every command that works on a live cluster."""
    return tuple(CommandRights(**{key: tuple(words) for key, words in row.items()}) for row in _table()["commands"])


def right_of(request: str) -> Right:
    """Return the right that a request needs."""
    return request_rights()[request].right


def denied_text(request: str, where: str, login: Login) -> str:
    """Return the sentence about a request that was denied: who denied it to whom, and which right is missing."""
    return f"{where} denied {request} to {login.name} ({_CODE}): {right_of(request)} is missing"


def grant_step(request: str, login: Login) -> str:
    """Return the next step after a request was denied: the command that adds the right."""
    notes = (
        "" if login.principal else "NAME: the principal that the listener gives to this login",
        ""
        if login.brokers
        else "HOST:PORT: a broker, or with Kafka 4.0 and later a controller after --bootstrap-controller",
    )
    given = "; ".join(filter(None, notes))
    return f"Have an administrator add the right{f' ({given})' if given else ''}: {login.grant([right_of(request)])}"


def not_authorised(request: str, where: str, login: Login, text: str | None = None) -> UnreachableError:
    """Return the error of a request that was denied. `text` is the server's own message."""
    login = login.named_by(text)
    return UnreachableError(
        denied_text(request, where, login), id="not-authorised", next_step=grant_step(request, login)
    )


def topic_not_authorised(request: str, topic: str, operations: Iterable[str], login: Login) -> UnreachableError:
    """Return the error of a request about a topic that was denied: also whether the topic exists is unknown."""
    needed = tuple(operations)
    return UnreachableError(
        f"the brokers denied {request} of the topic {topic} to {login.name} (TOPIC_AUTHORIZATION_FAILED): "
        f"{' and '.join(needed)} on the topic is missing",
        id="not-authorised",
        next_step=f"Have an administrator add the right: {login.grant_on_topics(needed, [topic])}",
    )


def server_text(text: str | None) -> str:
    """Return a server's message without the Java objects that Kafka prints into it.

    >>> server_text("Request Request(processor=0, session=a.b.Session@7f29e7b7) needs ALTER permission.")
    'the request needs ALTER permission.'
    """
    found = re.sub(_PRINTED_REQUEST, r"the request \1", text or "")
    return re.sub(_JAVA_OBJECT, "(a Java object)", found)


@functools.cache
def _table() -> Mapping[str, Any]:
    import tomli

    return tomli.loads(read_data("rights.toml").decode("utf-8"))
