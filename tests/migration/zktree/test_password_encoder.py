"""Encrypted passwords: AES against an independent implementation, and what a wrong secret does."""

from __future__ import annotations

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.migration.zktree.password_encoder import (
    PasswordDecodeError,
    decode_password,
    decrypt_cbc,
    first_opening,
    parse_encrypted,
)

_SECRET = "encoder-Secret-é"


def encrypted(password: str, secret: str = _SECRET, *, digest: str = "sha512", iterations: int = 64) -> str:
    """Encrypt as `EncryptingPasswordEncoder.encode` does; by default with few iterations, which cost time only."""
    salt, vector = b"salt-of-a-test", bytes(range(16))
    key = hashlib.pbkdf2_hmac(digest, secret.encode(), salt, iterations, 16)
    data = password.encode()
    data += bytes([16 - len(data) % 16]) * (16 - len(data) % 16)
    encryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor()
    parts = {
        "keyFactoryAlgorithm": f"PBKDF2WithHmacSHA{digest.removeprefix('sha')}",
        "cipherAlgorithm": "AES/CBC/PKCS5Padding",
        "keyLength": "128",
        "salt": base64.b64encode(salt).decode(),
        "iterations": str(iterations),
        "encryptedPassword": base64.b64encode(encryptor.update(data)).decode(),
        "passwordLength": str(len(password.encode("utf-16-le")) // 2),
        "initializationVector": base64.b64encode(vector).decode(),
    }
    return ",".join(f"{name}:{value}" for name, value in parts.items())


@given(key=st.sampled_from([16, 24, 32]).flatmap(lambda size: st.binary(min_size=size, max_size=size)),
       vector=st.binary(min_size=16, max_size=16), blocks=st.integers(1, 3), data=st.data())  # fmt: skip
def test_aes_is_aes(key, vector, blocks, data):
    plain = data.draw(st.binary(min_size=16 * blocks, max_size=16 * blocks))
    cipher = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor().update(plain)
    assert decrypt_cbc(key, vector, cipher) == plain


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_encrypted_password_is_decoded(password):
    assert decode_password(encrypted(password), _SECRET) == password


@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha512"])
def test_every_key_algorithm_of_kafka_is_decoded(digest):
    assert decode_password(encrypted("pw", digest=digest), _SECRET) == "pw"


def test_wrong_secret_is_reported_without_repeating_anything():
    value = encrypted("open sesame")
    with pytest.raises(PasswordDecodeError) as caught:
        decode_password(value, "another")
    assert str(caught.value) == "the secret is not the one it was encrypted with"
    assert "sesame" not in repr(parse_encrypted(value))


def test_old_secret_opens_what_it_made():
    assert first_opening(encrypted("pw", "old"), ["new", "old"]) == "pw"
    with pytest.raises(PasswordDecodeError):
        first_opening(encrypted("pw", "old"), [])


@pytest.mark.parametrize("value", ["", "hunter2", "a:b,c:d", encrypted("x").replace("keyLength:128", "keyLength:many")])
def test_plain_password_is_not_parsed_as_encrypted(value):
    assert parse_encrypted(value) is None
    with pytest.raises(PasswordDecodeError):
        decode_password(value, _SECRET)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("AES/CBC/PKCS5Padding", "AES/GCM/NoPadding"),
        ("keyLength:128", "keyLength:40"),
        ("iterations:64", "iterations:0"),
        ("initializationVector:AAEC", "initializationVector:"),
        ("passwordLength:2", "passwordLength:3"),
    ],
)
def test_password_that_kafka_cannot_decode_is_refused(part, other):
    with pytest.raises(PasswordDecodeError):
        decode_password(encrypted("pw").replace(part, other), _SECRET)
