"""Token requests to an authorization server: kafkactl sends the same as Kafka's own client."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import javaproperties
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kafkactl.change.clock import Deadline
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.sasl.token import token_source
from kafkactl.protocol.text.client_properties import read_client_properties
from kafkactl.protocol.text.jaas import JaasEntry
from tests.kafka.sasl.test_sasl import endpoint
from tests.lab.harness.pool import Pool
from tests.lab.oracles.messages import Oracle

SECRET = "cl1ent-s3cret/+ä"
A = "sasl.oauthbearer.assertion"
RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
JWT_BEARER = {RETRIEVER: "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"}
CREDENTIALS = {
    "sasl.oauthbearer.client.credentials.client.id": "to ol*~",
    "sasl.oauthbearer.client.credentials.client.secret": SECRET,
}


class TokenOracle(Oracle):
    """A JVM with the clients of one release."""

    source = Path(__file__).parents[1] / "java" / "TokenOracle.java"


@pytest.fixture(scope="module")
def oracle(lab_pool: Pool) -> Iterator[Oracle]:
    with TokenOracle("4.4.0", pool=lab_pool) as opened:
        yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a key as Kafka takes it, a template, and an assertion made elsewhere."""
    folder = tmp_path_factory.mktemp("tokens")
    key = rsa.generate_private_key(65537, 2048)
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key").write_bytes(base64.b64encode(der))
    (folder / "template").write_text('{"header": {"kid": "k1"}, "payload": {"sub": "x", "room": ["a", 1, true]}}')
    (folder / "assertion").write_text(".".join([_part({"alg": "RS256"}), _part({"sub": "elsewhere"}), "c2VhbA\n"]))
    return {path.name: str(path) for path in folder.iterdir()}


def _part(content: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


CASES: dict[str, dict[str, str]] = {
    "secret": CREDENTIALS,
    "secret and scope": CREDENTIALS | {"sasl.oauthbearer.scope": "read write"},
    "secret, encoded": CREDENTIALS | {"sasl.oauthbearer.header.urlencode": "true"},
    "login line": {"option.clientId": "tool", "option.clientSecret": SECRET, "option.scope": "all"},
    "jwt-bearer from a file": JWT_BEARER | {f"{A}.file": "assertion", "sasl.oauthbearer.scope": "a b"},
    "jwt-bearer made here": JWT_BEARER
    | {f"{A}.private.key.file": "key", f"{A}.template.file": "template", f"{A}.claim.aud": "them"},
    "jwt-bearer with every claim": JWT_BEARER
    | {
        f"{A}.private.key.file": "key",
        f"{A}.claim.iss": "me",
        f"{A}.claim.sub": "alice",
        f"{A}.claim.exp.seconds": "77",
        f"{A}.claim.nbf.seconds": "7",
        f"{A}.claim.jti.include": "true",
    },
    "client assertion from a file": CREDENTIALS | {f"{A}.file": "assertion"},
    "client assertion made here": {f"{A}.claim.iss": "me", f"{A}.private.key.file": "key"},
}


@pytest.mark.parametrize("case", CASES)
def test_request_equals_that_of_kafkas_client(oracle: Oracle, files: dict[str, str], case: str) -> None:
    with endpoint(200, {"access_token": "head.body.seal", "expires_in": 60}) as (url, seen):
        given = {name: files.get(value, value) for name, value in CASES[case].items()}
        given["sasl.oauthbearer.token.endpoint.url"] = url
        text = javaproperties.dumps(given, timestamp=False).encode("latin-1")
        assert oracle.ask("token", text) == "OK head.body.seal"
        assert fetched(given) == "head.body.seal"
    theirs, ours = (understood(*token) for token in seen)
    assert ours == theirs


def fetched(given: dict[str, str]) -> str:
    options = {name.removeprefix("option."): value for name, value in given.items() if name.startswith("option.")}
    entry = JaasEntry(login_module="x.OAuthBearerLoginModule", flag="required", options=options)
    properties = read_client_properties({k: v for k, v in given.items() if not k.startswith("option.")}, file="c")
    assert properties.findings == ()
    return token_source(entry, properties).token(Deadline.after(10_000, SystemClock()))


def understood(authorization: str | None, body: bytes) -> tuple[str | None, dict[str, Any]]:
    """Return the request without what differs from one moment to the next."""
    found: dict[str, Any] = dict(parse_qs(body.decode(), strict_parsing=True))
    for name in ("assertion", "client_assertion"):
        if name in found:
            found[name] = opened(*found[name])
    return authorization, found


def opened(assertion: str) -> object:
    head, content, seal = assertion.split(".")
    header, payload = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, content))
    if "iat" not in payload:
        return header, payload, seal  # made elsewhere
    issued = payload.pop("iat")
    return header, payload, (payload.pop("exp") - issued, issued - payload.pop("nbf"), bool(payload.pop("jti", None)))
