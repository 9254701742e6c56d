"""An authorization server that gives signed tokens for a client's secret, over TLS, and the keys that a node checks
them with.

What a token says is chosen for each test; nothing else of OpenID Connect is there.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

CLIENT = "tool"
CLIENT_SECRET = "t00l-s3cret/+"
ISSUER, AUDIENCE = "https://issuer.example", "kafka"
SCOPE = "metadata"
KEY_ID = "k1"


def new_key() -> RSAPrivateKey:
    """Return a key that signs tokens."""
    return generate_private_key(65537, 2048)


def save_keys(file: Path, key: RSAPrivateKey) -> Path:
    """Return the public half as a JWK set (RFC 7517), for `sasl.oauthbearer.jwks.endpoint.url`."""
    numbers = key.public_key().public_numbers()
    jwk = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_ID, "n": _number(numbers.n), "e": _number(numbers.e)}
    file.write_text(json.dumps({"keys": [jwk]}))
    return file


def signed(key: RSAPrivateKey, *, lifetime_s: float = 600, **claims: Any) -> str:
    """Return a token that is good at the node, but for the claims that are given; None takes one away."""
    now_s = int(time.time())
    payload = {
        "sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "scope": SCOPE, "iat": now_s - 700, "exp": now_s + lifetime_s,
    } | claims  # fmt: skip
    parts = [{"alg": "RS256", "kid": KEY_ID}, {name: value for name, value in payload.items() if value is not None}]
    text = ".".join(_base64(json.dumps(part).encode()) for part in parts)
    return f"{text}.{_base64(key.sign(text.encode(), PKCS1v15(), SHA256()))}"


@contextmanager
def token_endpoint(certificate: Path, token: str) -> Iterator[str]:
    """Yield the address of a server with this key and certificate (PEM), which gives this token to CLIENT for SCOPE."""
    wanted = "Basic " + base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            if self.headers["Authorization"] != wanted:
                return self.reply(401, {"error": "invalid_client"})
            if form.get("scope", [SCOPE]) != [SCOPE]:
                return self.reply(400, {"error": "invalid_scope"})
            return self.reply(200, {"access_token": token, "token_type": "Bearer", "expires_in": 60})

        def reply(self, status: int, answer: dict[str, Any]) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            return

    class Server(HTTPServer):
        def handle_error(self, *_: object) -> None:
            """Ignore a client that does not like the certificate and hangs up."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}/token"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
