"""Sources of a bearer token: a file, an authorization server, or an unsigned token made here.

Sources: clients `OAuthBearerLoginCallbackHandler` (KIP-768), `JwtBearerJwtRetriever` (KIP-1139, from 4.1 on), client
assertions (KIP-1258, from 4.3 on), and for tokens without a seal, which only test clusters take,
`OAuthBearerUnsecuredLoginCallbackHandler` (KIP-255).
A token is kept until shortly before its end. Redirects are not followed: they would carry the secret elsewhere.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.protocol.text.client_properties import ClientProperties, read_client_properties
from kafkactl.protocol.text.jaas import JaasEntry

if TYPE_CHECKING:
    import ssl
    from urllib.error import HTTPError

_OAUTH = "sasl.oauthbearer"
_URL = f"{_OAUTH}.token.endpoint.url"
_CREDENTIALS = f"{_OAUTH}.client.credentials"
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_RETRIEVERS = ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever", "JwtBearerJwtRetriever")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
# RFC 6749, section 5.2.
_REASONS = frozenset(
    {
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
    }
)  # fmt: skip
_MOST_BYTES = 1024 * 1024
_LONGEST_LIFE_S = 365 * 24 * 3600
_KEPT = 0.8  # of a token's life, as sasl.login.refresh.window.factor


class TokenSource:
    """Source of a token, fetched again if the last one has expired; safe for several threads."""

    def __init__(self, fetch: Callable[[Deadline], tuple[str, float | None]]) -> None:
        """Keep `fetch`, which returns a token and the seconds for which the token is valid, None if unknown."""
        self._fetch = fetch
        self._lock = threading.Lock()
        self._token: str | None = None
        self._until_ms = 0.0

    def token(self, deadline: Deadline) -> str:
        """Return a token. Raises UnreachableError."""
        with self._lock:
            if self._token is None or deadline.clock.now_ms() >= self._until_ms:
                self._token, life_s = self._fetch(deadline)
                self._until_ms = deadline.clock.now_ms() + (life_s or 0) * 1000 * _KEPT
            return self._token


def token_source(entry: JaasEntry, properties: ClientProperties) -> TokenSource:
    """Return the source that a login line and the properties name. Raises InputError `invalid-token-source`."""
    url, retriever = properties.get(_URL), _retriever(properties)
    if not url:
        return _without_seal(entry)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _invalid(f"{_URL} is not an http, https or file address: {error}") from None
    if parts.scheme == "file":
        path = unquote(parts.path)
        return TokenSource(lambda _deadline: (_from_file(path), None))
    if parts.scheme not in ("http", "https") or not host:
        raise _invalid(f"{_URL} is not an http, https or file address")
    by = _by_jwt_bearer if retriever == "JwtBearerJwtRetriever" else _by_credentials
    return by(url, entry, properties)


def _retriever(properties: ClientProperties) -> str:
    """Return the class that fetches tokens in Kafka, by its short name. Only those that Kafka brings are known."""
    name = str(properties.get(f"{_OAUTH}.jwt.retriever.class") or "DefaultJwtRetriever")
    short = name.rpartition(".")[2]
    if short not in _RETRIEVERS:
        raise _invalid(f"{_OAUTH}.jwt.retriever.class is none of {', '.join(_RETRIEVERS)}")
    return short


def _by_jwt_bearer(url: str, entry: JaasEntry, properties: ClientProperties) -> TokenSource:
    """Exchange a signed assertion for a token (RFC 7523, KIP-1139)."""
    from kafkactl.kafka.sasl.assertion import assertion_source

    assertion = assertion_source(properties)
    scope = properties.get(f"{_OAUTH}.scope") or entry.options.get("scope")
    grant = f"grant_type={quote(_JWT_BEARER, safe='')}"
    return _posting(
        url, entry, lambda: ({}, f"{grant}&assertion={quote(assertion(), safe='')}{_scope_parameter(scope)}")
    )


def _from_file(path: str) -> str:
    try:
        text = read_whole(path, InputKind.LOGIN).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreachableError(
            f"the token file {path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}",
            id="token-not-available",
        ) from error
    return _checked(text.strip(), path)


def _by_credentials(url: str, entry: JaasEntry, properties: ClientProperties) -> TokenSource:
    """Return a source that logs in by the secret of a client, or by a signed assertion if there is one (KIP-1258)."""
    from kafkactl.kafka.sasl.assertion import assertion_source, has_assertion

    client_id = properties.get(f"{_CREDENTIALS}.client.id") or entry.options.get("clientId")
    secret = properties.get(f"{_CREDENTIALS}.client.secret") or entry.options.get("clientSecret")
    scope = properties.get(f"{_OAUTH}.scope") or entry.options.get("scope")
    body = "grant_type=client_credentials" + _scope_parameter(scope)
    if has_assertion(properties):
        assertion, who = assertion_source(properties), f"&client_id={quote(client_id, safe='')}" if client_id else ""
        kind = f"&client_assertion_type={quote(_CLIENT_ASSERTION, safe='')}"
        return _posting(url, entry, lambda: ({}, f"{body}{who}{kind}&client_assertion={quote(assertion(), safe='')}"))
    if not client_id or not secret:
        raise _invalid("client credentials need an id and a secret")
    if properties.get(f"{_OAUTH}.header.urlencode", False):
        client_id, secret = _form_encoded(client_id), _form_encoded(secret)
    login = base64.b64encode(f"{client_id}:{secret}".encode()).decode("ascii")
    return _posting(url, entry, lambda: ({"Authorization": f"Basic {login}"}, body))


def _form_encoded(text: str) -> str:
    """Encode as Java's URLEncoder does: a server may compare the credentials in the header without decoding them."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def _scope_parameter(scope: str | None) -> str:
    return f"&scope={quote(scope, safe='')}" if scope else ""


def _posting(url: str, entry: JaasEntry, request: Callable[[], tuple[Mapping[str, str], str]]) -> TokenSource:
    """Return a source of tokens by a POST of what `request` makes: headers and body."""
    context = _endpoint_context(entry) if url.startswith("https") else None

    def fetch(deadline: Deadline) -> tuple[str, float | None]:
        headers, body = request()
        answer = _post(url, headers, body, context, deadline)
        return _checked(str(answer.get("access_token") or ""), _shown(url)), _seconds(answer.get("expires_in"))

    return TokenSource(fetch)


def _endpoint_context(entry: JaasEntry) -> ssl.SSLContext:
    """Return the TLS context for the authorization server, from the `ssl.*` options of the login line."""
    from kafkactl.net.tls import make_context
    from kafkactl.net.tls_properties import tls_settings

    options = {name: value for name, value in entry.options.items() if name.startswith("ssl.")}
    return make_context(tls_settings(read_client_properties(options, file="sasl.jaas.config")))


def _post(
    url: str, headers: Mapping[str, str], body: str, context: ssl.SSLContext | None, deadline: Deadline
) -> Mapping[str, Any]:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    opener = build_opener(NoRedirects, *((HTTPSHandler(context=context),) if context else ()))
    sent = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded", **headers}
    request = Request(url, data=body.encode(), headers=sent, method="POST")
    try:
        with opener.open(request, timeout=max(0.001, deadline.left_ms / 1000)) as response:
            answer = json.loads(response.read(_MOST_BYTES))
    except HTTPError as error:
        with error:
            raise _refused(url, f"HTTP status {error.code}{_reason(error)}") from None
    except (OSError, ValueError, RecursionError, HTTPException) as error:
        raise _refused(url, str(getattr(error, "reason", None) or type(error).__name__)) from error
    if not isinstance(answer, dict):
        raise _refused(url, "the response is not a JSON object")
    return answer


def _reason(error: HTTPError) -> str:
    """Return the server's reason if it is a word of RFC 6749; its other text is not repeated."""
    from http.client import HTTPException

    try:
        answer = json.loads(error.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError, HTTPException):
        return ""
    word = answer.get("error") if isinstance(answer, dict) else None
    return f", {word}" if isinstance(word, str) and word in _REASONS else ""


def _refused(url: str, words: str) -> UnreachableError:
    return UnreachableError(f"{_shown(url)} gives no token: {words}", id="token-not-available")


def _shown(url: str) -> str:
    """Return an address without what may be secret in it: user, password and query."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port is not None else ''}{parts.path}"


def _checked(token: str, where: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise UnreachableError(
            f"{where} gives no bearer token, or one with characters that a token cannot have", id="token-not-available"
        )
    return token


def _seconds(value: object) -> float | None:
    if not isinstance(value, int | float) or not value > 0:  # nor NaN
        return None
    return float(min(value, _LONGEST_LIFE_S))


def _without_seal(entry: JaasEntry) -> TokenSource:
    try:
        claims = _claims(entry.options)
        life_s = float(entry.options.get("unsecuredLoginLifetimeSeconds", "3600"))
    except ValueError:
        raise _invalid("an option unsecuredLogin… that is a number to Kafka is none") from None
    if "sub" not in claims and "unsecuredLoginPrincipalClaimName" not in entry.options:
        raise _invalid(f"neither {_URL} nor unsecuredLoginStringClaim_sub is set")

    def make(_deadline: Deadline) -> tuple[str, float | None]:
        now_s = time.time()
        body = {"iat": now_s, "exp": now_s + life_s, **claims}
        return f"{_part({'alg': 'none'})}.{_part(body)}.", life_s

    return TokenSource(make)


def _claims(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the options `unsecuredLoginStringClaim_NAME`, `…NumberClaim_…` and `…ListClaim_…` as claims."""
    found: dict[str, Any] = {}
    for option, value in options.items():
        kind, separator, name = option.removeprefix("unsecuredLogin").partition("Claim_")
        if separator and kind in _CLAIM_VALUES:
            found[name] = _CLAIM_VALUES[kind](value)
    return found


_CLAIM_VALUES: Mapping[str, Callable[[str], Any]] = {
    "String": str,
    "Number": float,
    "List": lambda value: value[1:].split(value[0]) if value else [],  # its first character parts the rest
}


def _part(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode("ascii")


def _invalid(words: str) -> InputError:
    return InputError(words, id="invalid-token-source")
