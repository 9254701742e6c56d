"""Settings that the validator of OAuth tokens requires of a listener, and without which a node ends at its start.

`KafkaConfig` takes such a file; the listener is built later. Measured on 4.2.1, 4.3.1 and 4.4.0. Source: clients
`OAuthBearerValidatorCallbackHandler`, `BrokerJwtValidator`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.text.config_values import Problem
from kafkactl.protocol.text.java_text import trim
from kafkactl.storage.config.release_rules import config_rules

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
_HANDLER: Final = f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler"
_OWN_VALIDATORS: Final = frozenset({"", f"{_PACKAGE}.DefaultJwtValidator", f"{_PACKAGE}.BrokerJwtValidator"})
_HANDLER_KEY: Final = re.compile(
    r"(listener\.name\.([^.]+)\.)?(?:oauthbearer\.)?sasl\.server\.callback\.handler\.class"
)
_START: Final = "sasl.oauthbearer."
# A setting, and the one that makes it unnecessary if it is true.
_UNVERIFIED: Final = (
    ("expected.audience", "allow.unverified.audience"),
    ("expected.issuer", "allow.unverified.issuer"),
)


def oauth_problems(properties: Mapping[str, str], release: Release) -> Iterator[Problem]:
    """Yield the settings that are missing for the listeners on which Kafka's own validator checks tokens."""
    rules = config_rules(release)
    for key, handler in properties.items():
        match = _HANDLER_KEY.fullmatch(key)
        if match is None or trim(handler) != _HANDLER or not _is_open(properties, match[2]):
            continue
        prefix = match[1] or ""
        if _value(properties, prefix, "jwt.validator.class") not in _OWN_VALIDATORS:
            continue
        if rules.oauth_needs_keys and not _value(properties, prefix, "jwks.endpoint.url"):
            yield _missing(prefix, "jwks.endpoint.url")
        for wanted, allowed in _UNVERIFIED if rules.oauth_needs_claims else ():
            if not _value(properties, prefix, wanted) and _value(properties, prefix, allowed).lower() != "true":
                yield _missing(prefix, wanted)


def _is_open(properties: Mapping[str, str], listener: str | None) -> bool:
    """Return True for a listener of the node, and for a setting of all listeners."""
    opened = properties.get("listeners", "").upper()
    return listener is None or re.search(rf"(^|,)\s*{re.escape(listener.upper())}://", opened) is not None


def _value(properties: Mapping[str, str], prefix: str, name: str) -> str:
    keys = (f"{prefix}oauthbearer.{_START}{name}", f"{prefix}{_START}{name}", f"{_START}{name}")
    return next((trim(properties[key]) for key in keys if key in properties), "")


def _missing(prefix: str, name: str) -> Problem:
    key = f"{prefix}{_START}{name}"
    words = f'The OAuth validator for the broker requires "{_START}{name}" to be configured'
    return Problem(id="oauth-setting-missing", key=key, words=words, next_step=f"Set {key}.")
