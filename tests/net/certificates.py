"""A certificate authority and certificates that it signs, generated for each test: good, expired, of another host."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

PASSWORD = "store-passw0rd"
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A key and its certificate, in the forms that Kafka and OpenSSL take."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    issuer: x509.Certificate

    @property
    def chain_pem(self) -> str:
        return "".join(
            certificate.public_bytes(Encoding.PEM).decode() for certificate in (self.certificate, self.issuer)
        )

    @property
    def key_pem(self) -> str:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def protected_key_pem(self) -> str:
        encryption = BestAvailableEncryption(PASSWORD.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()

    @property
    def pkcs12(self) -> bytes:
        encryption = BestAvailableEncryption(PASSWORD.encode())
        return pkcs12.serialize_key_and_certificates(b"node", self.key, self.certificate, [self.issuer], encryption)

    def save(self, folder: Path, name: str) -> Path:
        """Save one PEM file with key and chain."""
        file = folder / f"{name}.pem"
        file.write_text(self.key_pem + self.chain_pem)
        return file


class Authority:
    """Signs certificates."""

    def __init__(self, name: str = "the authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._signed(name, self._key, name, days=(-30, 30), hosts=(), is_authority=True)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def save(self, folder: Path, name: str = "authority") -> Path:
        file = folder / f"{name}.pem"
        file.write_text(self.pem)
        return file

    def identity(
        self, name: str, *, hosts: tuple[str, ...] = ("localhost", "127.0.0.1"), days: tuple[int, int] = (-10, 10)
    ) -> Identity:
        """Return a key with a certificate that is valid for these days, counted from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
        certificate = self._signed(name, key, str(issuer), days=days, hosts=hosts, is_authority=False)
        return Identity(key=key, certificate=certificate, issuer=self.certificate)

    def _signed(
        self, name: str, key: ec.EllipticCurvePrivateKey, issuer: str, *,
        days: tuple[int, int], hosts: tuple[str, ...], is_authority: bool,
    ) -> x509.Certificate:  # fmt: skip
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + days[0] * _DAY)
            .not_valid_after(now + days[1] * _DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        return builder.sign(self._key, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
