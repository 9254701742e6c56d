"""The kinds of input that others write, each with sound samples and with what reads it.

A reader may refuse with an error of ours, and may do nothing else: `feed` raises KafkactlError at most.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkactl.change.clock import Deadline
from kafkactl.change.journal_lines import JournalText, entry_line, new_entry, read_journal
from kafkactl.change.plan_document import checksum
from kafkactl.core.errors import KafkactlError
from kafkactl.files.clock import SystemClock
from kafkactl.files.contexts import parse_contexts
from kafkactl.kafka.api.exposure import client_exposure, zookeeper_exposure
from kafkactl.kafka.client_config import read_client_config
from kafkactl.kafka.sasl.token import token_source
from kafkactl.migration.driver.journal import remembered
from kafkactl.migration.io.zookeeper.client import open_zookeeper
from kafkactl.migration.io.zookeeper.multi import GET_CHILDREN, GET_DATA, MultiRead
from kafkactl.migration.io.zookeeper.settings import zookeeper_settings
from kafkactl.protocol.sasl.oauthbearer import OAuthBearer, extensions_of
from kafkactl.protocol.sasl.scram import Scram
from kafkactl.protocol.text.client_properties import read_client_properties
from kafkactl.protocol.text.jaas import parse_jaas
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.quorum.change.journal import remembered as remembered_change
from kafkactl.storage.fleet.receipts import Receipt, Reformat, parse_receipt, render_receipt
from tests.fakes.talkers import HttpTalker, ZooKeeperTalker, data, names

Feed = Callable[[bytes], object]
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule required"
ID = "q1Sh-9_ISia_zwGINzRvyQ"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required"


@dataclass(frozen=True)
class Kind:
    """Kind of input: sound samples, and their reader."""

    samples: tuple[bytes, ...]
    feed: Feed


def scram() -> Kind:
    """Return what a server says in a SCRAM exchange: its first message, and its last after a sound first one."""
    client = Scram("SCRAM-SHA-256", "user", "hunter2", nonce=b"n" * 18)
    nonce = client.first().decode().partition(",r=")[2]
    first = f"r={nonce}theirs,s=c2FsdA==,i=4096".encode()

    def feed(said: bytes) -> None:
        again = Scram("SCRAM-SHA-256", "user", "hunter2", nonce=b"n" * 18)
        with suppress(KafkactlError):
            again.answer(said)
        last = Scram("SCRAM-SHA-256", "user", "hunter2", nonce=b"n" * 18)
        last.answer(first)
        last.answer(said)

    last = b"v=" + base64.b64encode(bytes(32))
    return Kind((first, last, b"e=unknown-user", first.replace(b"4096", b"4097")), feed)


def refusals_of_a_token() -> Kind:
    """Return what a broker says to a token that it does not take."""
    samples = (b'{"status":"invalid_token","scope":"a","openid-configuration":"https://h/x"}', b"\x01", b"")
    return Kind(samples, OAuthBearer("x", {}).answer)


def answers_with_a_token(talker: HttpTalker) -> Kind:
    """Return what an authorization server answers."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"

    def whole(body: bytes) -> bytes:
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    good = json.dumps({"access_token": "e30.e30.x", "token_type": "Bearer", "expires_in": 3600}).encode()
    url = f"http://{talker.address}/t"
    properties = read_client_properties({"sasl.oauthbearer.token.endpoint.url": url}, file="f")
    entry = parse_jaas(f'{OAUTH} clientId="a" clientSecret="hunter2";')

    def feed(said: bytes) -> None:
        talker.answer = whole(said) if said.startswith(b"{") else said
        token_source(entry, properties).token(Deadline.after(1_000, SystemClock()))

    more = (
        b"HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nnope",
        b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        f"{head}Transfer-Encoding: chunked\r\n\r\n{len(good):x}\r\n".encode() + good + b"\r\n0\r\n\r\n",
    )
    return Kind((good, whole(good), *more), feed)


def client_properties(folder: Path) -> Kind:
    """Return files of --command-config, with a login line of each mechanism."""
    (folder / "token").write_text("e30.e30.x")
    logins = {
        "PLAIN": f'{PLAIN} username="a" password="hunter2";',
        "SCRAM-SHA-512": f'{SCRAM} username="a" password="hunter2" tokenauth="true";',
        "OAUTHBEARER": f'{OAUTH} clientId="a" clientSecret="hunter2" scope="s" extension_a="b";',
        "GSSAPI": f'{KERBEROS} useKeyTab=true keyTab="/nowhere" principal="a@B";',
    }
    more = (
        "sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:1/t\n"
        "ssl.truststore.type=PEM\nssl.truststore.certificates=-----BEGIN CERTIFICATE-----\\nAAAA\n"
        "ssl.enabled.protocols=TLSv1.2,TLSv1.3\nrequest.timeout.ms=1000\nssl.endpoint.identification.algorithm=\n"
    )
    samples = tuple(
        f"security.protocol={protocol}\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n{more}".encode()
        for mechanism, login in logins.items()
        for protocol in ("SASL_SSL", "SASL_PLAINTEXT")
    )

    def feed(text: bytes) -> None:
        config = read_client_config(text, file="f")
        client_exposure(config)
        extensions_of(parse_jaas(str(config.properties.get("sasl.jaas.config") or "")))
        config.access()

    return Kind(samples, feed)


def zookeeper_answers(talker: ZooKeeperTalker) -> Kind:
    """Return what a server says: to the session, to a first question, to the reads of a tree, and in a login."""
    session = struct.pack(">iiqi16s?", 0, 18_000, 77, 16, bytes(16), False)
    challenge = b'realm="zk-sasl-md5",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess'
    login = b"#ID#" + struct.pack(">qii", 5, 0, len(challenge)) + challenge
    samples = (names("brokers", "controller"), data(b'{"version":1}'), session, login, b"#ID#" + bytes(12))
    settings = zookeeper_settings({"zookeeper.sasl.jaas.config": f'{DIGEST} username="a" password="hunter2";'})

    def feed(said: bytes) -> None:
        talker.answer = said
        for number, with_login in ((1, False), (2, True), (3, False)):
            talker.from_request, talker.is_framed = number, not said.startswith(b"!")
            chosen = settings if with_login else None
            with suppress(KafkactlError), open_zookeeper(talker.address, settings=chosen, timeout_ms=250) as zookeeper:
                zookeeper.read_tree()

    return Kind(samples, feed)


def zookeeper_multi_reads() -> Kind:
    """Return the answer to many reads at once; what `Link.wait` makes a typed error of may come."""
    stat = bytes(68)
    header = struct.Struct("!iBi")
    reads = header.pack(GET_DATA, 0, 0) + struct.pack("!i", 2) + b"{}" + stat
    lists = header.pack(GET_CHILDREN, 0, 0) + struct.pack("!ii", 1, 1) + b"a"
    refused = header.pack(-1, 0, -101) + struct.pack("!i", -101)

    def feed(said: bytes) -> None:
        for operation in (GET_DATA, GET_CHILDREN):
            with suppress(ValueError, struct.error, LookupError, TypeError):
                MultiRead(operation, ["/a", "/b"]).deserialize(said, 0)

    return Kind((reads + reads, lists + lists, reads + refused), feed)


def zookeeper_properties() -> Kind:
    """Return the zookeeper.* settings of an inventory or a server.properties."""
    text = (
        "zookeeper.connect=zk1:2181,[::1]:2182/kafka\nzookeeper.session.timeout.ms=18000\n"
        "zookeeper.ssl.client.enable=true\nzookeeper.ssl.truststore.location=/nowhere\n"
        "zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty\n"
        f'zookeeper.sasl.jaas.config={DIGEST} username="a" password="hunter2";\n'
        "zookeeper.ssl.enabled.protocols=TLSv1.2\njava.security.auth.login.config=/nowhere\n"
    ).encode()

    def feed(said: bytes) -> None:
        mapping = parse_properties(said, file="f").mapping
        zookeeper_exposure(mapping, "f")
        zookeeper_settings(mapping)

    return Kind((text,), feed)


def contexts() -> Kind:
    """Return the file of contexts."""
    text = (
        b'current = "prod"\n[contexts.prod]\nbootstrap_server = "h:1,h:2"\ncommand_config = "c.properties"\n'
        b'[contexts."a b"]\nbootstrap_controller = "h:1"\nspark_master = "local[2]"\n'
    )
    return Kind((text,), lambda said: parse_contexts(said, file="f"))


def receipts() -> Kind:
    """Return receipts of `storage apply`."""
    again = Reformat(directory="/a", time_ms=1, reason="disk lost")
    good = Receipt(
        node_id=1, cluster_id=ID, plan_sha256="ab", applied_ms=1, directories={"/a": ID, "/b": None}, reformats=(again,)
    )  # fmt: skip
    return Kind((render_receipt(good),), lambda said: parse_receipt(said, file="f"))


MIGRATION = (
    ("journal", {"version": 1, "subject": "migration", "cluster_id": "c"}),
    ("begin", {"goal": "run", "until": None, "migration": {"zookeeper": "zk", "nodes": []}}),
    ("state", {"state": "M3"}),
    ("original", {"node": "broker 1", "sha256": "ab"}),
    ("file", {"node": "broker 1", "sha256": "ab"}),
    ("rendered", {"folder": "/x"}),
    ("tree", {"sha256": "ab"}),
    ("intent", {"action": "put-config", "target": "broker 1", "phase": "migration"}),
    ("starting", {"of": 7, "target": "broker 1", "phase": "migration"}),
    ("done", {"of": 7}),
    ("intent", {"action": "restart-node", "target": "broker 2"}),
    ("failed", {"of": 10, "why": "x"}),
    ("withdrawn", {"of": 10, "why": "x"}),
    ("end", {"outcome": "done"}),
)
KEY = f"1@{ID}"
CHANGE = (
    ("journal", {"version": 1, "subject": "quorum", "cluster_id": "c"}),
    ("begin", {"goal": {"verb": "add", "voter": KEY}, "high_watermark": 3, "voters": [KEY]}),
    ("intent", {"unread_ms": 5, "way": [[KEY]], "number": 1, "action": "add", "voter": KEY, "voters_before": [],
                "voters_after": [KEY], "alive": [KEY], "leader_leaves": False, "leader_id": 1, "leader_epoch": 2,
                "high_watermark": 4}),
    ("answer", {"of": 2, "error_code": 7, "error_name": "x", "message": "x"}),
    ("done", {"of": 2, "known": "done", "leader_id": 1, "leader_epoch": 2, "high_watermark": 5}),
    ("undecided", {"of": 2, "may_happen": ["x"]}),
    ("end", {"outcome": "done"}),
)  # fmt: skip


def chained(entries: Any) -> bytes:
    """Return lines of a journal with a valid chain and any content."""
    text, lines = JournalText(entries=()), b""
    for entry, said in entries:
        made = new_entry(text, entry, said, at_ms=1)
        text = JournalText(entries=(*text.entries, made))
        lines += entry_line(made)
    return lines


def rechained(said: bytes) -> bytes:
    """Return a list of entries as a journal's lines; other bytes as they are."""
    if said.startswith(b"[["):
        with suppress(ValueError, TypeError, AttributeError, RecursionError):
            return chained([(str(entry), dict(more)) for entry, more in json.loads(said)])
    return said


def journal(entries: Any, subject: str, fold: Callable[..., object]) -> Kind:
    """Return journals: as a list of entries that are chained, and as lines."""

    def feed(said: bytes) -> None:
        fold(read_journal(rechained(said), file="f", subject=subject, cluster_id="c").entries)

    return Kind((json.dumps(entries).encode(), chained(entries)), feed)


def resealed(said: bytes) -> bytes:
    """Return a plan with a checksum that fits, if it is one still."""
    with suppress(ValueError, TypeError, AttributeError, RecursionError, KeyError):
        document: Mapping[str, Any] = json.loads(said)
        return json.dumps({**document, "plan_sha256": checksum(document)}).encode()
    return said


def packed_znodes(said: bytes) -> bytes:
    """Return zk.jsonl.gz of lines."""
    return gzip.compress(said, 1)


def library_kinds(folder: Path, http: HttpTalker, zookeeper: ZooKeeperTalker) -> dict[str, Callable[[], Kind]]:
    """Return by name what is read by a call; the kinds that a command reads are with the test."""
    return {
        "scram": scram,
        "refusal of a token": refusals_of_a_token,
        "client properties": lambda: client_properties(folder),
        "answer with a token": lambda: answers_with_a_token(http),
        "zookeeper answers": lambda: zookeeper_answers(zookeeper),
        "zookeeper reads": zookeeper_multi_reads,
        "zookeeper properties": zookeeper_properties,
        "contexts": contexts,
        "receipt": receipts,
        "journal of a migration": lambda: journal(MIGRATION, "migration", remembered),
        "journal of a quorum": lambda: journal(CHANGE, "quorum", remembered_change),
    }
