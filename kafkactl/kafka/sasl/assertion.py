"""Signed assertions with which a client authenticates to an authorization server without a secret (RFC 7521, 7523).

An assertion that was made elsewhere is read from `sasl.oauthbearer.assertion.file`, again for each login. Otherwise it
is made here from the template file, the claims in the properties and the current time, where later sources override
earlier ones, and signed with the private key (KIP-1139; KIP-1258 for client credentials). Signing needs the extra
`oauth`. Kafka reads a key as bare base64 of PKCS8; here a PEM file is accepted as well. ES256 is signed as in RFC 7518.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from kafkactl.core.errors import InputError
from kafkactl.core.extras import install_advice
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.protocol.text.client_properties import ClientProperties

_PREFIX = "sasl.oauthbearer.assertion"
_COORDINATE_BYTES = 32  # of a point on P-256
_DEFAULT_EXP_S, _DEFAULT_NBF_S = 300, 60
Sign = Callable[[bytes], bytes]


def has_assertion(properties: ClientProperties) -> bool:
    """Return True if client credentials are to be proved by an assertion: what Kafka 4.3 and later look at."""
    return bool(properties.get(f"{_PREFIX}.file") or properties.get(f"{_PREFIX}.claim.iss"))


def assertion_source(properties: ClientProperties) -> Callable[[], str]:
    """Return a function that returns a new assertion. Raise InputError `invalid-assertion`, `assertion-needs-extra`."""
    if file := properties.get(f"{_PREFIX}.file"):
        _read(file, "file")
        return lambda: _read(file, "file").decode("ascii", "replace").strip()
    algorithm = properties.get(f"{_PREFIX}.algorithm") or "RS256"
    key_file = properties.get(f"{_PREFIX}.private.key.file")
    if not key_file:
        raise _invalid(f"neither {_PREFIX}.file nor {_PREFIX}.private.key.file is set")
    sign = _signer(algorithm, key_file, properties.get(f"{_PREFIX}.private.key.passphrase"))
    header, payload = _template(properties)
    return lambda: _signed(
        {**header, "alg": algorithm, "typ": "JWT"}, {**payload, **_claims(properties), **_times(properties)}, sign
    )


def _claims(properties: ClientProperties) -> dict[str, Any]:
    found = {name: properties.get(f"{_PREFIX}.claim.{name}") for name in ("aud", "iss", "sub")}
    return {name: value for name, value in found.items() if value is not None}


def _times(properties: ClientProperties) -> dict[str, Any]:
    now_s = int(time.time())
    times: dict[str, Any] = {
        "iat": now_s,
        "exp": now_s + properties.get(f"{_PREFIX}.claim.exp.seconds", _DEFAULT_EXP_S),
        "nbf": now_s - properties.get(f"{_PREFIX}.claim.nbf.seconds", _DEFAULT_NBF_S),
    }
    if properties.get(f"{_PREFIX}.claim.jti.include", False):
        times["jti"] = os.urandom(16).hex()
    return times


def _template(properties: ClientProperties) -> tuple[dict[str, Any], dict[str, Any]]:
    file = properties.get(f"{_PREFIX}.template.file")
    if not file:
        return {}, {}
    try:
        content = json.loads(_read(file, "template.file"))
        header, payload = dict(content.get("header", {})), dict(content.get("payload", {}))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _invalid(f"{file} is not a JSON object with objects header and payload") from None
    return header, payload


def _signed(header: Mapping[str, Any], payload: Mapping[str, Any], sign: Sign) -> str:
    content = f"{encoded(json.dumps(header).encode())}.{encoded(json.dumps(payload).encode())}"
    return f"{content}.{encoded(sign(content.encode('ascii')))}"


def encoded(data: bytes) -> str:
    """Return base64url without padding (RFC 7515)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _signer(algorithm: str, file: str, passphrase: str | None) -> Sign:
    try:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
    except ImportError:
        raise InputError(
            f"signing an assertion with {file} needs the extra `oauth`",
            id="assertion-needs-extra",
            next_step=f"{install_advice('oauth')}, or give a signed assertion by {_PREFIX}.file.",
        ) from None
    key = _private_key(file, passphrase)
    if algorithm.upper() == "RS256" and isinstance(key, rsa.RSAPrivateKey):
        return lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    if algorithm.upper() == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name == "secp256r1":

        def sign(data: bytes) -> bytes:
            numbers = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
            return b"".join(number.to_bytes(_COORDINATE_BYTES, "big") for number in numbers)

        return sign
    raise _invalid(f"{_PREFIX}.algorithm does not go with the key in {file}: expected RS256 or ES256")


def _private_key(file: str, passphrase: str | None) -> Any:
    from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key

    data = _read(file, "private.key.file")
    password = None if passphrase is None else passphrase.encode()
    try:
        if b"-----BEGIN" in data:
            return load_pem_private_key(data, password)
        return load_der_private_key(base64.b64decode(data), password)
    except (ValueError, TypeError, binascii.Error):
        raise _invalid(f"{file} is not a readable private key, or its passphrase is wrong") from None


def _read(file: str, key: str) -> bytes:
    try:
        return read_whole(file, InputKind.STORE)
    except OSError as error:
        raise _invalid(f"{_PREFIX}.{key}: {file} cannot be read: {error.strerror}") from error


def _invalid(words: str) -> InputError:
    return InputError(words, id="invalid-assertion")
