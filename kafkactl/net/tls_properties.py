"""The `ssl.*` properties as TLS settings, with Kafka's rules on which of them go together (DefaultSslEngineFactory)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from kafkactl.core.errors import InputError
from kafkactl.net.tls import Store, TlsSettings
from kafkactl.protocol.text.client_properties import ClientProperties, other_tls

_TYPES = ("JKS", "PKCS12", "PEM")


def tls_settings(properties: ClientProperties) -> TlsSettings:
    """Return the settings of a client.

    Raises InputError `invalid-tls-setting`, `tls-setting-not-supported` if TLS would be another one than asked for.
    """
    if others := other_tls(properties):
        raise not_supported(others)
    identification = properties.get("ssl.endpoint.identification.algorithm", "https").lower()
    if identification not in ("https", ""):
        _refuse(
            "ssl.endpoint.identification.algorithm is neither https nor empty",
            "Leave it out to have host names checked; an empty value switches that off.",
        )
    return TlsSettings(
        truststore=_truststore(properties),
        keystore=_keystore(properties),
        key_password=properties.get("ssl.key.password"),
        protocols=tuple(properties.get("ssl.enabled.protocols") or ("TLSv1.2", "TLSv1.3")),
        verifies_host=bool(identification),
    )


def not_supported(keys: Iterable[str]) -> InputError:
    """Return the error for TLS settings that kafkactl does not support."""
    names = ", ".join(keys)
    return InputError(
        f"{names}: kafkactl cannot do that, and the connection would be another one without it",
        id="tls-setting-not-supported",
        next_step=f"If a connection without it is allowed, take {names} out of the file that kafkactl is given.",
    )


def _truststore(properties: ClientProperties) -> Store | None:
    inline = properties.get("ssl.truststore.certificates")
    return _store(properties, "truststore", inline, "ssl.truststore.certificates")


def _keystore(properties: ClientProperties) -> Store | None:
    chain, key = properties.get("ssl.keystore.certificate.chain"), properties.get("ssl.keystore.key")
    if (chain is None) != (key is None):
        _refuse(
            "ssl.keystore.certificate.chain and ssl.keystore.key are given one without the other",
            "Give both, or a file by ssl.keystore.location.",
        )
    inline = None if chain is None else f"{chain}\n{key}"
    return _store(properties, "keystore", inline, "ssl.keystore.key")


def _store(properties: ClientProperties, name: str, inline: str | None, key: str) -> Store | None:
    prefix = f"ssl.{name}"
    kind = properties.get(f"{prefix}.type", "JKS").upper()
    location, password = properties.get(f"{prefix}.location") or None, properties.get(f"{prefix}.password")
    if kind not in _TYPES:
        _refuse(f"{prefix}.type is not a supported store type", f"Use one of {', '.join(_TYPES)}.")
    if inline is not None and kind != "PEM":
        _refuse(f"{key} is given, and {prefix}.type is {kind}", f"Set {prefix}.type=PEM.")
    if inline is not None and location:
        _refuse(f"both {key} and {prefix}.location are given", "Keep one of the two.")
    if kind == "PEM" and password is not None:
        _refuse(f"{prefix}.password is given, and {prefix}.type is PEM", "A key in PEM has ssl.key.password.")
    if inline is None and location is None:
        if password is not None:
            _refuse(f"{prefix}.password is given without {prefix}.location", "Give both.")
        return None
    return Store(name=name, location=location, password=password, pem=inline)


def _refuse(words: str, next_step: str) -> NoReturn:
    raise InputError(words, id="invalid-tls-setting", next_step=next_step)
