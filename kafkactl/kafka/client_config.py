"""Client configuration from a `client.properties` file: security, timeouts, bootstrap servers.

Invariant: the file means what it means to Kafka's own tools. What it asks for and kafkactl cannot do is an error if
the connection would be another one without it, and a warning elsewhere.
Sources: clients `AdminClientConfig`, `SslConfigs`, `SaslConfigs`, `DefaultSslEngineFactory`; KIP-651.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any, NoReturn

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.kafka.client import DEFAULT_REQUEST_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, Client, Limits
from kafkactl.kafka.connection import DEFAULT_SETUP_TIMEOUT_MS, Access
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import parse_addresses
from kafkactl.protocol.schema.rights import Login
from kafkactl.protocol.text.client_properties import ClientProperties, client_keys, read_client_properties
from kafkactl.protocol.text.places import key_lines, place, placed
from kafkactl.protocol.text.properties import parse_properties

ANONYMOUS = "User:ANONYMOUS"  # the principal of a connection without SASL and without a certificate
_OWN_CERTIFICATE = ("ssl.keystore.location", "ssl.keystore.key")


class SecurityProtocol(Enum):
    """Protocol of a listener: (TLS, SASL)."""

    PLAINTEXT = (False, False)
    SSL = (True, False)
    SASL_PLAINTEXT = (False, True)
    SASL_SSL = (True, True)

    @property
    def has_tls(self) -> bool:
        """Return True if TLS is around the connection."""
        return self.value[0]

    @property
    def has_sasl(self) -> bool:
        """Return True if the client authenticates by SASL."""
        return self.value[1]


@frozen
class ClientConfig:
    """A client's file, read and understood. Its repr holds no secret. `lines` are those of its keys, from 1."""

    file: str
    protocol: SecurityProtocol
    properties: ClientProperties
    findings: tuple[Finding, ...]
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)

    def limits(self, timeout_ms: float | None = None) -> Limits:
        """Return the limits that the file sets; `timeout_ms` is that of the command, if it has one."""
        get = self.properties.get
        backoff = Backoff(first_ms=get("retry.backoff.ms", 100), most_ms=get("retry.backoff.max.ms", 1000))
        return Limits(
            timeout_ms=get("default.api.timeout.ms", DEFAULT_TIMEOUT_MS) if timeout_ms is None else timeout_ms,
            request_timeout_ms=get("request.timeout.ms", DEFAULT_REQUEST_TIMEOUT_MS),
            backoff=changed(backoff, most_ms=max(backoff.first_ms, backoff.most_ms)),
        )

    def access(self) -> Access:
        """Return the credentials, with stores and tokens read from their files now.

        Raises InputError, which contains the file and the line of the key.
        """
        with placed(self.file, self.lines):
            return self._access()

    def _access(self) -> Access:
        access = Access(
            client_id=self.properties.get("client.id") or "kafkactl",
            setup_timeout_ms=self.properties.get("socket.connection.setup.timeout.ms", DEFAULT_SETUP_TIMEOUT_MS),
        )
        if self.protocol.has_tls:
            from kafkactl.net.tls import Tls
            from kafkactl.net.tls_properties import tls_settings

            access = changed(access, wrapper=Tls(tls_settings(self.properties)))
        if self.protocol.has_sasl:
            from kafkactl.kafka.sasl.authenticator import authenticator

            sasl = authenticator(self.properties)
            principal = None if sasl.user is None else f"User:{sasl.user}"
            return changed(access, authenticator=sasl, login=Login(principal=principal))
        has_certificate = self.protocol.has_tls and any(map(self.properties.get, _OWN_CERTIFICATE))
        return access if has_certificate else changed(access, login=Login(principal=ANONYMOUS))


def client_of(
    config: ClientConfig,
    *,
    brokers: str | None,
    controllers: str | None,
    for_controllers: ClientConfig | None = None,
    acl_brokers: str | None = None,
    timeout_ms: float | None = None,
    time_left: Callable[[], float] | None = None,
) -> Client:
    """Return a client of the cluster that `--bootstrap-server` or `--bootstrap-controller` names; one of them, as in
    Kafka.

    `for_controllers` takes the place of `config` where controllers are asked, the bootstrap ones included.
    `acl_brokers` are brokers at which ACLs can be changed, where controllers are named. `time_left` is that of
    `Client`. Without either name, the file's `bootstrap.servers` or `bootstrap.controllers` count (Kafka's tools do
    not read these).
    Raises InputError `bootstrap-missing`, `bootstrap-twice`, `invalid-bootstrap-address` and those of `access()`.
    """
    if not brokers and not controllers:
        brokers = ",".join(config.properties.get("bootstrap.servers", ()))
        controllers = ",".join(config.properties.get("bootstrap.controllers", ()))
    if brokers and controllers:
        raise InputError("brokers and controllers are named at once", id="bootstrap-twice")
    text = brokers or controllers
    if not text:
        raise InputError("no node of the cluster is named", id="bootstrap-missing")
    role = Role.BROKER if brokers else Role.CONTROLLER
    own = config if for_controllers is None else for_controllers
    access, controller_access = (
        changed(found, login=changed(found.login, brokers=brokers or acl_brokers or None))
        for found in (config.access(), own.access())
    )
    return Client(
        parse_addresses(text),
        role,
        access=access,
        controller_access=controller_access,
        limits=(config if role is Role.BROKER else own).limits(timeout_ms),
        time_left=time_left,
    )


def load_client_config(path: str | None) -> ClientConfig:
    """Read a file; without one, what Kafka's tools do without one: plaintext.

    Raises InputError `unreadable-client-config`, and what `read_client_config` raises.
    """
    if path is None:
        return read_client_config(b"", file="defaults")
    from kafkactl.files.input_files import InputKind, read_whole

    try:
        data = read_whole(path, InputKind.CLIENT_CONFIG)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", id="unreadable-client-config") from error
    return read_client_config(data, file=path)


def read_client_config(data: bytes, *, file: str) -> ClientConfig:
    """Parse the bytes of a file; values of config providers are looked up.

    Raises InputError `invalid-client-property`, `unresolved-config-provider`, DecodeError `malformed-unicode-escape`.
    """
    parsed = parse_properties(data, file=file)
    lines = key_lines(parsed)
    config = client_config_of(_resolved(parsed.mapping, file, lines), file=file, lines=lines)
    return changed(config, findings=tuple(warning.finding(file) for warning in parsed.warnings) + config.findings)


def client_config_of(given: Mapping[str, str], *, file: str, lines: Mapping[str, int] | None = None) -> ClientConfig:
    """Parse properties that come from `file`, `lines` of it. Raises InputError `invalid-client-property`."""
    lines = lines or {}
    properties = read_client_properties(given, file=file, lines=lines)
    name = properties.get("security.protocol", "PLAINTEXT").upper()
    if name not in SecurityProtocol.__members__:
        raise InputError(
            f"{place(file, 'security.protocol', lines)}: the value of security.protocol is none of"
            f" {', '.join(SecurityProtocol.__members__)}",
            id="invalid-client-property",
            next_step="Set it to the protocol of the listener.",
        )
    return ClientConfig(
        file=file, protocol=SecurityProtocol[name], properties=properties, findings=properties.findings, lines=lines
    )


def _resolved(given: Mapping[str, str], file: str, lines: Mapping[str, int]) -> Mapping[str, Any]:
    if "config.providers" not in given:
        return given
    from kafkactl.files.config_providers import resolve
    from kafkactl.protocol.text.config_values import resolve_values

    found = resolve_values(given, resolve)
    for problem in found.problems + found.warnings:
        key = client_keys().get(problem.key)
        if key is not None and key.use == "used":
            # The problem's words quote the value, and a JAAS line may hold a password next to the provider's variable.
            is_secret = key.type == "PASSWORD"
            words = f"a config provider cannot tell {key.name}" if is_secret else problem.words
            _unresolved(place(file, key.name, lines), words)
    return found.given


def _unresolved(where: str, words: str) -> NoReturn:
    raise InputError(f"{where}: {words}", id="unresolved-config-provider")
