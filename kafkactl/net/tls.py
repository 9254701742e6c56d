"""TLS for a client, from the `ssl.*` properties of Kafka.

Invariant: certificates are always checked, and host names unless `ssl.endpoint.identification.algorithm` is empty;
there is no way to turn the first off. Stores are PEM (KIP-651: in a file, or in the property itself), or PKCS12 with
the extra `pkcs12`; without a truststore the system's authorities count. Keys and passwords stay out of reprs and
errors, and never touch a disk.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from socket import socket

from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.core.extras import install_advice
from kafkactl.core.frozen import frozen
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.net.transport import Address, closed_by_peer
from kafkactl.protocol.text.pem import PemText, read_pem

_JKS_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # JKS, JCEKS
_DER_SEQUENCE = b"\x30"  # what a PKCS12 file begins with
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@frozen
class Store:
    """A keystore or truststore: `pem` is the text from the property itself, `location` a file's path."""

    name: str  # "keystore" or "truststore", for errors
    location: str | None = None
    password: str | None = field(default=None, repr=False)
    pem: str | None = field(default=None, repr=False)


@frozen
class TlsSettings:
    """Values of the `ssl.*` properties. `protocols` are names such as TLSv1.3."""

    truststore: Store | None = None
    keystore: Store | None = None
    key_password: str | None = field(default=None, repr=False)
    protocols: tuple[str, ...] = tuple(_VERSIONS)
    verifies_host: bool = True


class Tls:
    """TLS around sockets; implements `transport.Wrapper`."""

    def __init__(self, settings: TlsSettings) -> None:
        """Read the stores. Raise InputError that names the store that is wrong."""
        self._context = make_context(settings)

    def wrap(self, plain: socket, address: Address) -> socket:
        """Shake hands within the socket's time-out; raises OSError."""
        return self._context.wrap_socket(plain, server_hostname=address.host)

    def explain(self, error: OSError, address: Address, *, shaking_hands: bool) -> UnreachableError | None:
        """Return the meaning of a TLS error; None for any other error."""
        if isinstance(error, ssl.SSLEOFError) and not shaking_hands:
            return closed_by_peer(address)
        if isinstance(error, ssl.SSLCertVerificationError):
            return _certificate_error(error, address)
        if isinstance(error, ssl.SSLError):
            return _handshake_error(error, address)
        return None


def make_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context of a client with these settings. Raises InputError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.verifies_host
    # As in Java, whatever is in a truststore is trusted, be it no root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    _limit_protocols(context, settings.protocols)
    if settings.truststore is None:
        context.load_default_certs()
    else:
        _trust(context, settings.truststore)
    if settings.keystore is not None:
        _present(context, settings.keystore, settings.key_password)
    return context


def _limit_protocols(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    known = [_VERSIONS[name] for name in names if name in _VERSIONS]
    if not known:
        raise InputError(
            f"ssl.enabled.protocols names none of {', '.join(_VERSIONS)}",
            id="invalid-tls-setting",
            next_step="Leave it out: both are used then.",
        )
    context.minimum_version, context.maximum_version = min(known), max(known)


def _trust(context: ssl.SSLContext, store: Store) -> None:
    text = _pem_of(store, store.password).certificates
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise _bad_store(store, "it contains no certificate in PEM") from error


def _present(context: ssl.SSLContext, store: Store, key_password: str | None) -> None:
    pem = _pem_of(store, store.password)
    # A password is always given: OpenSSL would ask for it on the terminal otherwise.
    password = (key_password or "").encode() if pem.key_is_protected else b""
    try:
        with _unnamed_file(pem.certificates + pem.keys) as path:
            context.load_cert_chain(path, password=password)
    except (ssl.SSLError, ValueError) as error:
        reason = "its key does not open with ssl.key.password" if pem.key_is_protected else "it lacks a key or a chain"
        raise _bad_store(store, f"{reason}, or they do not belong together") from error


@contextmanager
def _unnamed_file(text: str) -> Iterator[str]:
    """Yield a path with this content for an interface that needs one: in memory, else a private file."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("keystore", os.MFD_CLOEXEC)
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()
    try:
        data = text.encode()
        while data:
            data = data[os.write(descriptor, data) :]
        yield path
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            Path(path).unlink()


def _pem_of(store: Store, password: str | None) -> PemText:
    if store.pem is not None:
        return read_pem(store.pem)
    data = _read(store)
    if data.startswith(_JKS_MAGIC):
        raise _unreadable_jks(store)
    if data.startswith(_DER_SEQUENCE):
        return _from_pkcs12(store, data, password)
    return read_pem(data.decode("utf-8", "replace"))


def _read(store: Store) -> bytes:
    try:
        return read_whole(store.location or "", InputKind.STORE)
    except OSError as error:
        raise InputError(
            f"ssl.{store.name}.location: {store.location} cannot be read: {error.strerror}", id="unreadable-tls-store"
        ) from error


def _from_pkcs12(store: Store, data: bytes, password: str | None) -> PemText:
    try:
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            pkcs12,
        )
    except ImportError:
        raise InputError(
            f"ssl.{store.name}.location: {store.location} is a PKCS12 file, which needs the extra `pkcs12`",
            id="pkcs12-needs-extra",
            next_step=f"{install_advice('pkcs12')}, or make a PEM file: "
            f"openssl pkcs12 -in {store.location} -out {store.name}.pem",
        ) from None
    try:
        content = pkcs12.load_pkcs12(data, (password or "").encode() if password is not None else None)
    except ValueError as error:
        raise _bad_store(store, f"ssl.{store.name}.password does not open it, or it is not a PKCS12 file") from error
    own = [content.cert] if content.cert else []
    found = [
        certificate.certificate.public_bytes(Encoding.PEM).decode() for certificate in [*own, *content.additional_certs]
    ]
    key = content.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode() if content.key else ""
    return PemText(certificates="".join(found), keys=key)


def _unreadable_jks(store: Store) -> InputError:
    return InputError(
        f"ssl.{store.name}.location: {store.location} is a Java keystore (JKS), which only Java reads",
        id="jks-not-readable",
        next_step=f"Convert it: keytool -importkeystore -srckeystore {store.location} "
        f"-destkeystore {store.name}.p12 -deststoretype PKCS12; then openssl pkcs12 -in {store.name}.p12 "
        f"-out {store.name}.pem, and set ssl.{store.name}.type=PEM.",
    )


def _bad_store(store: Store, reason: str) -> InputError:
    where = f"ssl.{store.name}.location: {store.location}" if store.pem is None else f"ssl.{store.name} (in PEM)"
    return InputError(f"{where} cannot be used: {reason}", id="invalid-tls-store")


_HOST_MISMATCH, _IP_MISMATCH = 62, 64
_UNTRUSTED = (2, 18, 19, 20, 21)  # no issuer, self-signed, self-signed in chain, no local issuer, cannot verify first
_NOT_YET_VALID, _EXPIRED = 9, 10
_PLAINTEXT_REASONS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}
_OUR_CERTIFICATE = "ALERT"  # every alert that speaks of certificates is about ours: the server's we check ourselves


def _certificate_error(error: ssl.SSLCertVerificationError, address: Address) -> UnreachableError:
    code, words = error.verify_code, error.verify_message.rstrip(".")
    if code in (_HOST_MISMATCH, _IP_MISMATCH):
        return UnreachableError(
            f"{address} shows a certificate that is not for this host: {words}", id="certificate-host-mismatch"
        )
    if code in (_EXPIRED, _NOT_YET_VALID):
        return UnreachableError(
            f"{address} shows a certificate that is {'expired' if code == _EXPIRED else 'not valid yet'}",
            id="certificate-expired" if code == _EXPIRED else "certificate-not-yet-valid",
            next_step="Give the node a new certificate; check the clocks of both sides.",
        )
    if code in _UNTRUSTED:
        return UnreachableError(
            f"the certificate of {address} is not signed by an authority in the truststore: {words}",
            id="certificate-not-trusted",
        )
    return UnreachableError(f"{address} shows a certificate that is refused: {words}", id="certificate-refused")


def _handshake_error(error: ssl.SSLError, address: Address) -> UnreachableError | None:
    reason = error.reason or ""
    for applies, error_of in _REASONS:
        if applies(error, reason):
            return error_of(address, reason)
    return _handshake_failed(address, reason.replace("_", " ").lower() or "no reason given")


def _hung_up(address: Address, _: str) -> UnreachableError:
    return _handshake_failed(address, "the node closed the connection, as a plaintext listener does with TLS")


def _handshake_failed(address: Address, words: str) -> UnreachableError:
    return UnreachableError(f"{address} and kafkactl do not agree on TLS: {words}", id="tls-handshake-failed")


def _no_tls(address: Address, _: str) -> UnreachableError:
    return UnreachableError(f"{address} does not speak TLS", id="tls-not-spoken")


def _ours_refused(address: Address, reason: str) -> UnreachableError:
    return UnreachableError(
        f"{address} does not accept kafkactl's certificate, or the lack of one: {reason.replace('_', ' ').lower()}",
        id="client-certificate-refused",
    )


_REASONS: tuple[tuple[Callable[[ssl.SSLError, str], bool], Callable[[Address, str], UnreachableError]], ...] = (
    (lambda error, _: isinstance(error, ssl.SSLEOFError), _hung_up),
    (lambda _, reason: reason in _PLAINTEXT_REASONS, _no_tls),
    (lambda _, reason: "CERTIFICATE" in reason and _OUR_CERTIFICATE in reason, _ours_refused),
    (lambda _, reason: reason.endswith("UNKNOWN_CA"), _ours_refused),
)
