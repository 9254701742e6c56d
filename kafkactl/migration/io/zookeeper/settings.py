"""Settings of a ZooKeeper client: `zookeeper.connect`, and Kafka's `zookeeper.*` properties for TLS and SASL.

The keys are those of server.properties (core `KafkaConfig`, ZkSslXxxProp), and the Java system properties of the
ZooKeeper client for what Kafka leaves to them: `java.security.auth.login.config` and `zookeeper.sasl.clientconfig`.
A login line may also stand in the settings themselves, as `zookeeper.sasl.jaas.config`. Secrets stay out of reprs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.safe_text import if_plain
from kafkactl.files.input_files import InputKind, read_input, read_whole
from kafkactl.migration.zktree.connect import check_servers, parse_connect_string
from kafkactl.net.tls import Store, TlsSettings
from kafkactl.net.tls_properties import not_supported
from kafkactl.net.transport import Address
from kafkactl.protocol.text.jaas import JaasEntry, parse_jaas
from kafkactl.protocol.text.java_text import parse_int
from kafkactl.protocol.text.places import key_lines, placed
from kafkactl.protocol.text.properties import parse_properties

SESSION_TIMEOUT_MS: Final = 18_000  # Kafka's default
_TLS: Final = "zookeeper.ssl."
# Settings that decide about TLS and cannot be followed here, with the values with which it is the same without them.
_SAME: Final[Mapping[str, tuple[str, ...]]] = {
    f"{_TLS}cipher.suites": ("",),
    f"{_TLS}crl.enable": ("", "false"),
    f"{_TLS}ocsp.enable": ("", "false"),
    f"{_TLS}protocol": ("", "tls", "tlsv1.2", "tlsv1.3"),
    f"{_TLS}context.supplier.class": ("",),
}
_NETTY: Final = "org.apache.zookeeper.ClientCnxnSocketNetty"
_MODULE: Final = "DigestLoginModule"
_CONTENT: Final = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^"}])*')
_SECTION_END: Final = re.compile(r"\}\s*;")


@frozen
class Connect:
    """`zookeeper.connect`: the servers, and the chroot ("" or a path that begins with a slash)."""

    servers: tuple[Address, ...]
    chroot: str = ""

    def __str__(self) -> str:
        """Return the text for server.properties."""
        return ",".join(map(str, self.servers)) + self.chroot


@frozen
class Login:
    """Credentials for SASL DIGEST-MD5."""

    username: str
    password: str = field(repr=False)


@frozen
class ZooKeeperSettings:
    """Settings in addition to the address. `read_only`: servers that have lost their quorum may answer as well."""

    tls: TlsSettings | None = None
    login: Login | None = None
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    read_only: bool = False


def parse_connect(text: str) -> Connect:
    """Read `host:port,host:port/chroot`; a port left out is 2181. Raises InputError `invalid-zookeeper-connect`."""
    try:
        read = parse_connect_string(text)
        check_servers(read)
    except ValueError as error:
        raise InputError(
            f"{if_plain(text, 'zookeeper.connect')} does not name a ZooKeeper: expected {error}",
            id="invalid-zookeeper-connect",
        ) from None
    return Connect(servers=tuple(Address(host, port) for host, port in read.servers), chroot=read.chroot)


def zookeeper_settings(properties: Mapping[str, str], *, read_only: bool = False) -> ZooKeeperSettings:
    """Return the settings that a server.properties, or a file with the same keys, gives; other keys have no meaning
    here.

    Raises InputError `invalid-zookeeper-setting`, `tls-setting-not-supported`, `zookeeper-login-unreadable` and those
    of a login line.
    """
    return ZooKeeperSettings(
        tls=_tls(properties),
        login=_login(properties),
        session_timeout_ms=_session_timeout(properties),
        read_only=read_only,
    )


def load_zookeeper_settings(path: Path, *, read_only: bool = False) -> ZooKeeperSettings:
    """Return the settings of a file.

    Raises InputError `input-file-unreadable`, and what `zookeeper_settings` raises, with the file and the line.
    """
    parsed = parse_properties(read_input(path, "ZooKeeper settings", InputKind.CLIENT_CONFIG), file=str(path))
    with placed(str(path), key_lines(parsed)):
        return zookeeper_settings(parsed.mapping, read_only=read_only)


def _session_timeout(properties: Mapping[str, str]) -> int:
    text = properties.get("zookeeper.session.timeout.ms", str(SESSION_TIMEOUT_MS)).strip()
    number = parse_int(text)
    if number is None or number <= 0:
        raise _wrong("zookeeper.session.timeout.ms", "a number of milliseconds")
    return number


def _tls(properties: Mapping[str, str]) -> TlsSettings | None:
    enabled = properties.get(f"{_TLS}client.enable", "false").strip().lower()
    if enabled not in ("true", "false"):
        raise _wrong(f"{_TLS}client.enable", "true or false")
    if enabled == "false":
        return None
    socket = properties.get("zookeeper.clientCnxnSocket", _NETTY).strip()
    if not socket.endswith("Netty"):
        raise _wrong("zookeeper.clientCnxnSocket", f"{_NETTY}, for with any other there is no TLS")
    identification = properties.get(f"{_TLS}endpoint.identification.algorithm", "HTTPS").strip().lower()
    if identification not in ("https", ""):
        raise _wrong(f"{_TLS}endpoint.identification.algorithm", "HTTPS or nothing")
    if others := [key for key, same in _SAME.items() if properties.get(key, "").strip().lower() not in same]:
        raise not_supported(others)
    protocols = properties.get(f"{_TLS}enabled.protocols") or "TLSv1.2,TLSv1.3"
    return TlsSettings(
        truststore=_store(properties, "truststore"),
        keystore=_store(properties, "keystore"),
        key_password=properties.get(f"{_TLS}keystore.password"),
        protocols=tuple(protocol.strip() for protocol in protocols.split(",") if protocol.strip()),
        verifies_host=bool(identification),
    )


def _store(properties: Mapping[str, str], name: str) -> Store | None:
    location = properties.get(f"{_TLS}{name}.location", "").strip()
    if not location:
        return None
    return Store(name=name, location=location, password=properties.get(f"{_TLS}{name}.password"))


def _wrong(key: str, expected: str) -> InputError:
    """Omit the value: after a missing line break it contains the login line."""
    return InputError(f"{key} has a value that is not understood; expected {expected}", id="invalid-zookeeper-setting")


def _login(properties: Mapping[str, str]) -> Login | None:
    inline = properties.get("zookeeper.sasl.jaas.config")
    file = properties.get("java.security.auth.login.config")
    if inline is not None:
        return _digest(_parsed(inline))
    if file is None:
        return None
    section = properties.get("zookeeper.sasl.clientconfig", "Client")
    try:
        text = read_whole(file.strip(), InputKind.LOGIN).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        place = if_plain(file, "the file of java.security.auth.login.config")
        raise _no_login(f"{place} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}") from error
    return _digest(parse_jaas(_section(text, section, file)))


def _parsed(line: str) -> JaasEntry:
    try:
        return parse_jaas(line)
    except InputError as error:  # it calls the line by its name in a client's file
        message = error.message.replace("sasl.jaas.config", "zookeeper.sasl.jaas.config", 1)
        raise InputError(message, id=error.id, next_step=error.next_step) from None


def _section(text: str, name: str, file: str) -> str:
    head = re.compile(rf"(?:^|[\s;}}]){re.escape(name)}\s*\{{")
    at = 0
    while begin := head.search(text, at):
        body = _CONTENT.match(text, begin.end())
        assert body is not None, "it matches nothing, too"
        if _SECTION_END.match(text, body.end()):
            return body[0].strip()
        at = body.end()  # what a section without an end holds is not read again
    place = if_plain(file, "the file of java.security.auth.login.config")
    named = name if name == "Client" else "that zookeeper.sasl.clientconfig names"
    raise _no_login(f"{place} has no section {named}")


def _no_login(words: str) -> InputError:
    return InputError(words, id="zookeeper-login-unreadable")


def _digest(entry: JaasEntry) -> Login:
    if entry.short_name != _MODULE:
        raise InputError(
            f"the login module for ZooKeeper is {entry.shown_module}; only {_MODULE} (DIGEST-MD5) is spoken here",
            id="zookeeper-sasl-not-supported",
        )
    missing = [name for name in ("username", "password") if name not in entry.options]
    if missing:
        raise _no_login(f"the login line for ZooKeeper has no {' and no '.join(missing)}")
    return Login(username=entry.options["username"], password=entry.options["password"])
