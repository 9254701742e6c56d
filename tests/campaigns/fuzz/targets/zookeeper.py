"""The content of ZooKeeper's znodes, and the answers of its servers."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from contextlib import suppress

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.kafka.api.exposure import zookeeper_exposure
from kafkactl.migration.copy.forecast import forecast_copy
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.driver.actions import _is_kraft as is_kraft
from kafkactl.migration.driver.actions import zookeeper_controller
from kafkactl.migration.io.zookeeper.multi import GET_CHILDREN, GET_DATA, MultiRead
from kafkactl.migration.io.zookeeper.settings import parse_connect, zookeeper_settings
from kafkactl.migration.observed.driver_lock import holder_in
from kafkactl.migration.zktree.parse import parse_saved_tree, parse_znodes
from kafkactl.migration.zktree.password_encoder import PasswordDecodeError, decode_password
from kafkactl.migration.zktree.redact import redact_znodes
from kafkactl.migration.zktree.settings import parse_credential
from kafkactl.migration.zktree.znode import Znode, decode_znodes, encode_znodes, render_znode
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.text.properties import parse_properties
from tests.campaigns.fuzz.target import Feed, Target, UndeclaredError
from tests.migration.zk_trees import small, znodes
from tests.samples.hostile_inputs import DIGEST, packed_znodes

Made = tuple[Feed, Sequence[bytes]]


def _znode_values() -> Made:
    """Read a sound tree in which the first byte chooses the path whose data the rest is; the tree is also copied and
    redacted."""
    tree = small()
    paths = list(tree)
    rules = copy_rules(find_release("3.9.0").version)

    def feed(data: bytes) -> object:
        path = paths[(data[0] if data else 0) % len(paths)]
        content: bytes | None = data[1:] if len(data) > 1 else None
        with suppress(ValueError):
            parse_credential((content or b"").decode("utf-8", "replace"))
        made = znodes(tree | {path: content})
        list(redact_znodes(made))
        found = parse_znodes(made)
        forecast_copy(found, rules, secrets=("a",))
        return found

    return feed, [bytes([number]) + (tree[path] or b"") for number, path in enumerate(paths)]


def _znode_names() -> Made:
    """Return names below the places where names mean something: ids, topics, partitions, kinds of entities."""
    tree = small()
    folders = sorted({path.rpartition("/")[0] for path in tree} | {"/config/users", "/admin/delete_topics"})

    def feed(data: bytes) -> object:
        folder = folders[(data[0] if data else 0) % len(folders)]
        name, _, content = data[1:].partition(b"\0")
        text = name.decode("utf-8", "replace").strip("/").replace("//", "/") or "x"
        return parse_znodes(znodes(tree | {f"{folder}/{text}": content or None}))

    names = [path.rpartition("/")[2].encode() + b"\0" + (content or b"") for path, content in tree.items()]
    return feed, [bytes([number % len(folders)]) + name for number, name in enumerate(names)]


def _saved_tree() -> Made:
    """Return zk.jsonl.gz, packed here if it is not; what could be read of it is written and read the same."""

    def feed(data: bytes) -> object:
        saved = decode_znodes(data if data.startswith(b"\x1f\x8b") else packed_znodes(data), file="f")
        again = decode_znodes(encode_znodes(saved.znodes), file="f")
        if [render_znode(znode) for znode in again.znodes] != [render_znode(znode) for znode in saved.znodes]:
            raise UndeclaredError("a saved tree is written otherwise")
        return parse_saved_tree(packed_znodes(data), file="f")

    lines = "\n".join(render_znode(znode) for znode in znodes(small(), "/kafka")[:12])
    return feed, [lines.encode(), packed_znodes(lines.encode()), packed_znodes(lines.encode())[:-9]]


def _multi_reads() -> Made:
    """Return the answer to many reads at once. What `Link.wait` makes a typed error of may come."""
    header = struct.Struct("!iBi")
    reads = header.pack(GET_DATA, 0, 0) + struct.pack("!i", 2) + b"{}" + bytes(68)
    lists = header.pack(GET_CHILDREN, 0, 0) + struct.pack("!ii", 1, 1) + b"a"
    refused = header.pack(-1, 0, -101) + struct.pack("!i", -101)

    def feed(data: bytes) -> object:
        for operation in (GET_DATA, GET_CHILDREN):
            with suppress(ValueError, struct.error, LookupError, TypeError):
                MultiRead(operation, ["/a", "/b"]).deserialize(data, 0)

    return feed, [reads + reads, lists + lists, reads + refused]


def _settings() -> Made:
    def feed(data: bytes) -> object:
        with suppress(InputError):
            parse_connect(data.decode("utf-8", "replace"))
        mapping = parse_properties(data, file="f").mapping
        zookeeper_exposure(mapping, "f")
        return zookeeper_settings(mapping)

    text = (
        "zookeeper.connect=zk1:2181,[::1]:2182/kafka\nzookeeper.session.timeout.ms=18000\n"
        f'zookeeper.sasl.jaas.config={DIGEST} username="a" password="hunter2";\n'
    )
    tls = "zookeeper.ssl.client.enable=true\nzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty\n"
    return feed, [text.encode(), tls.encode(), b"zk1:2181,[::1]:2182/kafka"]


def _driver_lock() -> Made:
    holder = {"user": "ann", "host": "ops1", "pid": 7, "since_ms": 1, "journal": "a", "journal_file": "/j"}

    class World:
        """A ZooKeeper of two znodes, as the driver asks for them."""

        def __init__(self, data: bytes) -> None:
            self._data = data

        def znode(self, path: str) -> Znode | None:
            return Znode(path=path, data=self._data, ephemeral_owner=72)

    def feed(data: bytes) -> object:
        znode = Znode(path="/controller", data=data, ephemeral_owner=72)
        return holder_in(data).words, is_kraft(znode), zookeeper_controller(World(data))  # type: ignore[arg-type]

    return feed, [json.dumps(holder).encode(), b"{}", b'{"brokerid":1,"kraftControllerEpoch":3}', b""]


def _passwords() -> Made:
    """Return a password as `password.encoder.secret` hides it: without the secret, and with a wrong one."""

    def feed(data: bytes) -> object:
        text = data.decode("utf-8", "replace")
        if sum(sign.isdigit() for sign in text.partition("iterations:")[2].partition(",")[0]) > 3:
            return None  # each further digit takes ten times as long, by design of PBKDF2
        try:
            return decode_password(text, "secret")
        except PasswordDecodeError as error:
            return error

    return feed, [
        b"keyLength:128,initializationVector:MTIzNDU2Nzg5MDEyMzQ1Ng==,cipherAlgorithm:AES/CBC/PKCS5Padding,"
        b"encryptedPassword:MTIzNDU2Nzg5MDEyMzQ1Ng==,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,salt:c2FsdA==,"
        b"iterations:40,passwordLength:3"
    ]


TARGETS = (
    Target(name="znode-values", make=_znode_values, declared=(InputError,),
           reads=("migration.zktree.parse", "migration.zktree.json", "migration.zktree.topics",
                  "migration.zktree.cluster", "migration.zktree.access", "migration.zktree.admin",
                  "migration.zktree.settings", "migration.zktree.reading",
                  "migration.zktree.redact")),
    Target(name="znode-names", make=_znode_names, declared=(InputError,),
           reads=("migration.zktree.topics", "migration.zktree.settings", "migration.zktree.access")),
    Target(name="saved-tree", make=_saved_tree, declared=(InputError, DecodeError), reads=("migration.zktree.znode",)),
    Target(name="zookeeper-reads", make=_multi_reads, reads=("migration.io.zookeeper.multi",)),
    Target(name="zookeeper-settings", make=_settings, reads=("migration.io.zookeeper.settings",)),
    Target(name="driver-znodes", make=_driver_lock, is_json=True,
           reads=("migration.observed.driver_lock", "migration.driver.actions")),
    Target(name="encoded-password", make=_passwords, reads=("migration.zktree.password_encoder",)),
)  # fmt: skip
