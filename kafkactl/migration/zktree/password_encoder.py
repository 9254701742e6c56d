"""Passwords as Kafka encrypts them in ZooKeeper, and taken out of it again with `password.encoder.secret`.

A value is `name:value` pairs with commas between: the key is made of the secret by PBKDF2, the text encrypted with AES
in CBC mode. Nothing here needs a library beyond Python's own, so that a secret can be tried before anything starts.
No secret, password or cipher text appears in an error.
Sources: server-common `EncryptingPasswordEncoder`, `CipherParamsEncoder`; core `DynamicBrokerConfig`.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
from collections.abc import Iterable
from dataclasses import field
from typing import Final

from kafkactl.core.frozen import frozen

SECRET_KEYS: Final = ("password.encoder.secret", "password.encoder.old.secret")  # settings of brokers and controllers
_BLOCK: Final = 16
_NEEDED: Final = ("keyLength", "salt", "iterations", "encryptedPassword", "passwordLength")
_DIGESTS: Final = {"1": "sha1", "224": "sha224", "256": "sha256", "384": "sha384", "512": "sha512"}
_CIPHER: Final = "AES/CBC/PKCS5Padding"
_KEY_BITS: Final = (128, 192, 256)
_MAX_ITERATIONS: Final = 10_000_000  # more would be minutes of work, and no Kafka writes it


class PasswordDecodeError(ValueError):
    """An encrypted password that does not open; the text states why and repeats nothing of it."""


@frozen
class EncryptedPassword:
    """The content of an encrypted value."""

    key_algorithm: str
    cipher: str
    key_bits: int
    salt: bytes = field(repr=False)
    iterations: int
    password: bytes = field(repr=False)
    password_length: int
    initialization_vector: bytes = field(repr=False)


def parse_encrypted(value: str) -> EncryptedPassword | None:
    """Return the parts of an encrypted value; None for a text that is none (a plain password, or something else)."""
    pairs = dict(item.strip().rpartition(":")[::2] for item in value.split(",") if ":" in item)
    if not all(name in pairs for name in _NEEDED):
        return None
    try:
        return EncryptedPassword(
            key_algorithm=pairs.get("keyFactoryAlgorithm", "PBKDF2WithHmacSHA512"),
            cipher=pairs.get("cipherAlgorithm", _CIPHER),
            key_bits=int(pairs["keyLength"]),
            salt=base64.b64decode(pairs["salt"], validate=True),
            iterations=int(pairs["iterations"]),
            password=base64.b64decode(pairs["encryptedPassword"], validate=True),
            password_length=int(pairs["passwordLength"]),
            initialization_vector=base64.b64decode(pairs.get("initializationVector", ""), validate=True),
        )
    except (ValueError, binascii.Error):
        return None


def decode_password(value: str, secret: str) -> str:
    """Return the password of an encrypted value.

    Raises PasswordDecodeError: it is not encrypted, was made by a cipher that is not known here, or the secret is
    another one. Kafka recognizes a wrong secret by the padding and the length of what comes out, and so does this.
    """
    parts = parse_encrypted(value)
    if parts is None:
        raise PasswordDecodeError("the value is not in Kafka's format for encrypted passwords")
    digest = _DIGESTS.get(parts.key_algorithm.upper().removeprefix("PBKDF2WITHHMACSHA"))
    if digest is None or parts.cipher.upper() != _CIPHER.upper() or parts.key_bits not in _KEY_BITS:
        raise PasswordDecodeError(f"{parts.key_algorithm} with {parts.cipher} is not known here")
    sizes_fit = len(parts.initialization_vector) == _BLOCK and parts.password and len(parts.password) % _BLOCK == 0
    if not sizes_fit or not 1 <= parts.iterations <= _MAX_ITERATIONS:
        raise PasswordDecodeError("its parts have sizes that do not fit together")
    key = _key(digest, secret, parts.salt, parts.iterations, parts.key_bits // 8)
    plain = _without_padding(decrypt_cbc(key, parts.initialization_vector, parts.password))
    try:
        text = None if plain is None else plain.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is None or _utf16_length(text) != parts.password_length:
        raise PasswordDecodeError("the secret is not the one it was encrypted with")
    return text


def first_opening(value: str, secrets: Iterable[str]) -> str:
    """Return the password by the first of these secrets that decrypts it, as brokers try the new and the old one.

    Raises PasswordDecodeError, for the last one, if none does.
    """
    failure = PasswordDecodeError("no secret is given")
    for secret in secrets:
        try:
            return decode_password(value, secret)
        except PasswordDecodeError as error:
            failure = error
    raise failure


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@functools.lru_cache(maxsize=256)
def _key(digest: str, secret: str, salt: bytes, iterations: int, size: int) -> bytes:
    return hashlib.pbkdf2_hmac(digest, secret.encode(), salt, iterations, size)


def _without_padding(data: bytes) -> bytes | None:
    """Remove PKCS#5 padding; return None if the padding is invalid."""
    size = data[-1]
    return data[:-size] if 1 <= size <= _BLOCK and data.endswith(bytes([size]) * size) else None


# AES (FIPS 197), decryption only.


def _doubled(value: int) -> int:
    return (value << 1) ^ (0x11B if value & 0x80 else 0)


def _product(left: int, right: int) -> int:
    """Return the product in the field of 2^8 elements of AES."""
    found = 0
    while right:
        found ^= left if right & 1 else 0
        left, right = _doubled(left), right >> 1
    return found


@functools.cache
def _boxes() -> tuple[bytes, bytes]:
    """Return the substitution of a byte, and its inverse."""
    forward = bytearray(256)
    for value in range(256):
        inverse = next((other for other in range(1, 256) if _product(value, other) == 1), 0)
        mixed = 0x63
        for turn in range(5):
            mixed ^= ((inverse << turn) | (inverse >> (8 - turn))) & 0xFF
        forward[value] = mixed
    return bytes(forward), bytes(forward.index(value) for value in range(256))


@functools.cache
def _products(factor: int) -> bytes:
    return bytes(_product(value, factor) for value in range(256))


def _round_keys(key: bytes) -> list[bytes]:
    box, _ = _boxes()
    size = len(key) // 4
    words = [key[at : at + 4] for at in range(0, len(key), 4)]
    constant = 1
    while len(words) < 4 * (size + 7):
        word = words[-1]
        if len(words) % size == 0:
            word = bytes(box[byte] for byte in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _doubled(constant)
        elif size > 6 and len(words) % size == 4:
            word = bytes(box[byte] for byte in word)
        words.append(bytes(left ^ right for left, right in zip(words[-size], word, strict=True)))
    return [b"".join(words[at : at + 4]) for at in range(0, len(words), 4)]


def _unmixed(block: bytes) -> bytes:
    """Return the inverse of MixColumns."""
    by = [_products(factor) for factor in (14, 11, 13, 9)]
    return bytes(
        by[0][block[at + row]]
        ^ by[1][block[at + (row + 1) % 4]]
        ^ by[2][block[at + (row + 2) % 4]]
        ^ by[3][block[at + (row + 3) % 4]]
        for at in range(0, _BLOCK, 4)
        for row in range(4)
    )


def _decrypted(block: bytes, keys: list[bytes]) -> bytes:
    _, box = _boxes()
    state = _xor(block, keys[-1])
    for number in range(len(keys) - 2, -1, -1):
        # The rows of the columns-first block go back to the right by their number.
        state = bytes(box[state[(at - 4 * (at % 4)) % _BLOCK]] for at in range(_BLOCK))
        state = _xor(state, keys[number])
        if number:
            state = _unmixed(state)
    return state


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(byte ^ other for byte, other in zip(left, right, strict=True))


def decrypt_cbc(key: bytes, vector: bytes, data: bytes) -> bytes:
    """Decrypt AES in CBC mode; `key` of 16, 24 or 32 bytes, `data` of whole blocks. The padding stays."""
    keys = _round_keys(key)
    blocks = [vector, *(data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK))]
    pairs = zip(blocks[1:], blocks, strict=False)
    return b"".join(_xor(_decrypted(block, keys), before) for block, before in pairs)
