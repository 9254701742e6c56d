"""A node with a listener of every kind of security, and the client files that fit them.

One process serves them all, so a test costs no start of its own. Users: alice (SCRAM, made at format; PLAIN), admin
(PLAIN, the node itself). The authority and its certificates are made each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from tests.lab.harness import config, ports, releases
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.services import oidc
from tests.lab.harness.storage_tool import StorageToolServer
from tests.net.certificates import Authority

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
ALICE, ADMIN = "al1ce-s3cret,=ä", "adm1n-s3cret"
SCRAM_ALICE = "al1ce-scr4m-ä"  # without a comma, at which the tool cuts its argument
LISTENERS = {
    "CLEAR": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "EXPIRED": "SSL",
    "WRONGHOST": "SSL",
    "PLAIN": "SASL_PLAINTEXT",
    "OAUTH": "SASL_PLAINTEXT",
    "OIDC": "SASL_PLAINTEXT",
    "SCRAM": "SASL_SSL",
    "CONTROLLER": "SASL_SSL",
}
SCRAM_AT_FORMAT_SINCE = (3, 5)
SIGNED_TOKENS_SINCE = (4, 0)  # before, the class that checks them has another name
SESSION_MS = 60_000
_SECURITY = "org.apache.kafka.common.security"
_PLAIN = f"{_SECURITY}.plain.PlainLoginModule required"
_SCRAM = f"{_SECURITY}.scram.ScramLoginModule required"
_ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
_OAUTH = f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule required"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuredNode:
    """The running node, where each listener is, and the files that belong to it."""

    node: KafkaNode
    ports: dict[str, int]
    folder: Path
    authority: Authority
    token_key: RSAPrivateKey

    @property
    def has_scram_users(self) -> bool:
        """Return True if alice could be made for SCRAM when the node was formatted."""
        return releases.release(self.node.release).number >= SCRAM_AT_FORMAT_SINCE

    @property
    def checks_signed_tokens(self) -> bool:
        """Return True if the listener OIDC takes tokens that `token_key` signed."""
        return releases.release(self.node.release).number >= SIGNED_TOKENS_SINCE

    @property
    def trust(self) -> dict[str, str]:
        """Return properties of a client that trusts the node's authority."""
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.folder / "authority.pem")}

    @property
    def own_certificate(self) -> dict[str, str]:
        """Return properties of a client that shows a certificate of the same authority."""
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.folder / "client.pem")}


def plain(username: str, password: str) -> dict[str, str]:
    """Return properties of a client that logs in by PLAIN."""
    return {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{_PLAIN} {_login(username, password)};"}


def scram(username: str, password: str, bits: int = 256) -> dict[str, str]:
    """Return properties of a client that logs in by SCRAM."""
    return {"sasl.mechanism": f"SCRAM-SHA-{bits}", "sasl.jaas.config": f"{_SCRAM} {_login(username, password)};"}


def oauth(**options: str) -> dict[str, str]:
    """Return properties of a client that shows a token."""
    words = " ".join(f'{name}="{value}"' for name, value in options.items())
    return {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{_OAUTH} {words};"}


def _login(username: str, password: str) -> str:
    return f'username="{username}" password="{password}"'


@contextmanager
def secured_node(release: str, tool: StorageToolServer, folder: Path) -> Iterator[SecuredNode]:
    """Start the node; it is killed at the end."""
    places = dict(zip(LISTENERS, ports.free_ports(len(LISTENERS)), strict=True))
    authority, token_key = _save_certificates(folder), oidc.new_key()
    keys = oidc.save_keys(folder / "keys.json", token_key).as_uri()
    quorum = config.static_quorum({1: places["CONTROLLER"]})
    base = config.combined(
        node_id=1, log_dirs=[folder / "data"], broker_port=1, controller_port=places["CONTROLLER"], quorum=quorum
    )
    checks_tokens = releases.release(release).number >= SIGNED_TOKENS_SINCE
    settings = base | _listeners(places) | _tls(folder) | _sasl() | _signed_tokens(keys, checks_tokens=checks_tokens)
    node = KafkaNode(release, settings, folder, java_options=[f"-D{_ALLOWED}={keys}"])
    arguments: list[str | Path] = ["format", "-t", CLUSTER_ID, "-c", node.config_file]
    if releases.release(release).number >= SCRAM_AT_FORMAT_SINCE:
        for bits in (256, 512):
            arguments += ["--add-scram", f'SCRAM-SHA-{bits}=[name="alice",password="{SCRAM_ALICE}"]']
    result = tool.run(release, arguments)
    assert result.exit_code == 0, result
    with node:
        node.start().wait_ready()
        yield SecuredNode(node=node, ports=places, folder=folder, authority=authority, token_key=token_key)
    for port in places.values():
        ports.release_port(port)


def _save_certificates(folder: Path) -> Authority:
    authority = Authority()
    authority.save(folder)
    authority.identity("node").save(folder, "node")
    authority.identity("client").save(folder, "client")
    authority.identity("node", days=(-20, -1)).save(folder, "expired")
    authority.identity("node", hosts=("elsewhere.example",)).save(folder, "wronghost")
    Authority("somebody else").identity("client").save(folder, "stranger")
    return authority


def _listeners(places: dict[str, int]) -> dict[str, str]:
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in places.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in LISTENERS.items()),
        "inter.broker.listener.name": "CLEAR",
    }


def _tls(folder: Path) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "node.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "authority.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.expired.ssl.keystore.location": str(folder / "expired.pem"),
        "listener.name.wronghost.ssl.keystore.location": str(folder / "wronghost.pem"),
    }


def _sasl() -> dict[str, str]:
    users = f'{_login("admin", ADMIN)} user_admin="{ADMIN}" user_alice="{ALICE}"'
    return {
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": f"{_PLAIN} {users};",
        "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plain.plain.sasl.jaas.config": f"{_PLAIN} {users};",
        "listener.name.plain.plain.connections.max.reauth.ms": str(SESSION_MS),
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.scram.scram-sha-256.sasl.jaas.config": f"{_SCRAM};",
        "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{_SCRAM};",
        "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.oauth.oauthbearer.sasl.jaas.config": f'{_OAUTH} unsecuredLoginStringClaim_sub="admin";',
    }


def _signed_tokens(keys: str, *, checks_tokens: bool) -> dict[str, str]:
    """Return the listener OIDC: tokens that a key of that file signed for this audience, by this issuer."""
    listener = "listener.name.oidc"
    common = {
        f"{listener}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{listener}.oauthbearer.sasl.jaas.config": f"{_OAUTH};",
    }
    if not checks_tokens:
        return common
    return common | {
        f"{listener}.oauthbearer.sasl.server.callback.handler.class": (
            f"{_SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        f"{listener}.sasl.oauthbearer.jwks.endpoint.url": keys,
        f"{listener}.sasl.oauthbearer.expected.audience": oidc.AUDIENCE,
        f"{listener}.sasl.oauthbearer.expected.issuer": oidc.ISSUER,
    }
