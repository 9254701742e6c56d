"""SCRAM as servers and clients have it: the example of RFC 7677, and Kafka's numbers of the mechanisms."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from kafkactl.protocol.scram import MECHANISMS, salted_password, server_key, stored_key


@pytest.mark.parametrize(("name", "type", "hash"), [("SCRAM-SHA-256", 1, "sha256"), ("SCRAM-SHA-512", 2, "sha512")])
def test_mechanisms_have_the_numbers_that_records_and_requests_give_them(name: str, type: int, hash: str):
    mechanism = MECHANISMS[name]
    assert (mechanism.name, mechanism.type, mechanism.hash) == (name, type, hash)
    assert mechanism.min_iterations == 4096  # ScramMechanism.java: both


def test_kafka_knows_two_mechanisms():
    assert sorted(MECHANISMS) == ["SCRAM-SHA-256", "SCRAM-SHA-512"]


def test_keys_equal_the_example_in_rfc_7677():
    # The signature that the server sends there for the password `pencil`.
    mechanism = MECHANISMS["SCRAM-SHA-256"]
    salted = salted_password(mechanism, "pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    first = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = f"{first},r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}".encode()
    signature = hmac.digest(server_key(mechanism, salted), said, "sha256")
    assert base64.b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    signed = hmac.digest(stored_key(mechanism, salted), said, "sha256")
    client_key = bytes(left ^ right for left, right in zip(proof, signed, strict=True))
    assert stored_key(mechanism, salted) == hashlib.sha256(client_key).digest()
