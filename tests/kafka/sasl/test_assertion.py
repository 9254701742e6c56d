"""Signed assertions: what they hold, that the seal is right, and how they go to the authorization server."""

from __future__ import annotations

import base64
import json
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from kafkactl.core.errors import InputError
from kafkactl.kafka.client_config import read_client_config
from kafkactl.kafka.sasl.assertion import assertion_source
from kafkactl.protocol.text.client_properties import read_client_properties
from tests.kafka.sasl.test_sasl import Server, connected, endpoint

A = "sasl.oauthbearer.assertion"
PASSPHRASE = "hunter2"
RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def save(folder: Path, key: Any, passphrase: str | None = None) -> Path:
    lock = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase.encode())
    file = folder / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
    return file


def assertion(given: dict[str, str]) -> str:
    return assertion_source(read_client_properties(given, file="c"))()


def opened(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    """Return header, payload, what is sealed, and the seal."""
    parts = [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(".")]
    return json.loads(parts[0]), json.loads(parts[1]), token.rpartition(".")[0].encode(), parts[2]


def refused(given: dict[str, str]) -> InputError:
    with pytest.raises(InputError) as caught:
        assertion(given)
    assert PASSPHRASE not in str(caught.value.to_dict())
    return caught.value


class TestMadeHere:
    def test_assertion_has_claims_times_and_a_signature(self, tmp_path: Path) -> None:
        template = tmp_path / "template.json"
        template.write_text('{"header": {"kid": "k1", "alg": "none"}, "payload": {"sub": "other", "room": [1]}}')
        given = {
            f"{A}.private.key.file": str(save(tmp_path, RSA_KEY)),
            f"{A}.template.file": str(template),
            f"{A}.claim.iss": "me",
            f"{A}.claim.sub": "alice",
            f"{A}.claim.aud": "server",
            f"{A}.claim.exp.seconds": "120",
            f"{A}.claim.jti.include": "true",
        }
        header, payload, content, seal = opened(assertion(given))
        assert header == {"kid": "k1", "alg": "RS256", "typ": "JWT"}
        assert (payload["iss"], payload["sub"], payload["aud"], payload["room"]) == ("me", "alice", "server", [1])
        assert abs(payload["iat"] - time.time()) < 60
        assert (payload["exp"] - payload["iat"], payload["iat"] - payload["nbf"]) == (120, 60)
        RSA_KEY.public_key().verify(seal, content, padding.PKCS1v15(), hashes.SHA256())
        with pytest.raises(InvalidSignature):
            RSA_KEY.public_key().verify(seal, content + b"x", padding.PKCS1v15(), hashes.SHA256())
        assert opened(assertion(given))[1]["jti"] != payload["jti"]

    def test_assertion_is_signed_with_a_curve(self, tmp_path: Path) -> None:
        key = save(tmp_path, EC_KEY, PASSPHRASE)
        given = {
            f"{A}.algorithm": "ES256",
            f"{A}.private.key.file": str(key),
            f"{A}.private.key.passphrase": PASSPHRASE,
        }
        _, payload, content, seal = opened(assertion(given))
        assert "jti" not in payload
        numbers = int.from_bytes(seal[:32], "big"), int.from_bytes(seal[32:], "big")
        EC_KEY.public_key().verify(utils.encode_dss_signature(*numbers), content, ec.ECDSA(hashes.SHA256()))

    def test_key_is_read_in_every_form_of_kafka(self, tmp_path: Path) -> None:
        file = tmp_path / "key"
        der = RSA_KEY.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(base64.b64encode(der))
        assert opened(assertion({f"{A}.private.key.file": str(file)}))[0]["alg"] == "RS256"

    @pytest.mark.parametrize(
        "more",
        [
            {f"{A}.algorithm": "ES256"},
            {f"{A}.algorithm": "HS256"},
            {f"{A}.private.key.passphrase": PASSPHRASE},
            {f"{A}.private.key.file": "/none"},
            {f"{A}.template.file": "/none"},
        ],
    )
    def test_conflicting_assertion_options_are_refused(self, tmp_path: Path, more: dict[str, str]) -> None:
        assert refused({f"{A}.private.key.file": str(save(tmp_path, RSA_KEY))} | more).id == "invalid-assertion"

    @pytest.mark.parametrize("text", ["", "hunter2", "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"])
    def test_file_without_a_key_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "key").write_text(text)
        assert refused({f"{A}.private.key.file": str(tmp_path / "key")}).id == "invalid-assertion"

    @pytest.mark.parametrize("text", ["[]", "3", "{", '{"header": 3}'])
    def test_invalid_template_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "template").write_text(text)
        given = {
            f"{A}.private.key.file": str(save(tmp_path, RSA_KEY)),
            f"{A}.template.file": str(tmp_path / "template"),
        }
        assert refused(given).id == "invalid-assertion"

    def test_assertion_without_settings_is_refused(self) -> None:
        assert refused({}).id == "invalid-assertion"

    def test_assertion_without_the_extra_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
        assert refused({f"{A}.private.key.file": str(save(tmp_path, RSA_KEY))}).id == "assertion-needs-extra"


class TestAtTheServer:
    RETRIEVER = "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"

    def posted(self, **more: str) -> tuple[str | None, dict[str, list[str]]]:
        with Server(b"") as broker, endpoint(200, {"access_token": "tok", "expires_in": 60}) as (url, seen):
            given = {"sasl_oauthbearer_token_endpoint_url": url, "sasl_oauthbearer_scope": "a b"} | more
            connected(broker, "OAUTHBEARER", "", **given).close()
            assert broker.messages == [b"n,,\x01auth=Bearer tok\x01\x01"]
        ((authorization, body),) = seen
        return authorization, parse_qs(body.decode())

    def test_token_is_requested_by_jwt_bearer(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("head.body.seal\n")
        authorization, body = self.posted(
            sasl_oauthbearer_jwt_retriever_class=self.RETRIEVER, sasl_oauthbearer_assertion_file=str(tmp_path / "a")
        )
        assert authorization is None
        assert body == {
            "grant_type": ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
            "assertion": ["head.body.seal"],
            "scope": ["a b"],
        }

    def test_client_credentials_are_sent_with_an_assertion(self, tmp_path: Path) -> None:
        authorization, body = self.posted(
            sasl_oauthbearer_assertion_claim_iss="me",
            sasl_oauthbearer_assertion_private_key_file=str(save(tmp_path, RSA_KEY)),
            sasl_oauthbearer_client_credentials_client_id="kafka tool",
        )
        assert authorization is None
        (made,) = body.pop("client_assertion")
        assert opened(made)[1]["iss"] == "me"
        assert body == {
            "grant_type": ["client_credentials"],
            "client_assertion_type": ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
            "client_id": ["kafka tool"],
            "scope": ["a b"],
        }

    def test_class_of_another_package_is_refused(self) -> None:
        lines = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER"]
        lines += ["sasl.jaas.config=x.OAuthBearerLoginModule required;", "sasl.oauthbearer.jwt.retriever.class=my.Own"]
        with pytest.raises(InputError) as caught:
            read_client_config("\n".join(lines).encode(), file="c").access()
        assert caught.value.id == "invalid-token-source"
        assert "sasl.oauthbearer.jwt.retriever.class" in caught.value.message
        assert "my.Own" not in caught.value.message
