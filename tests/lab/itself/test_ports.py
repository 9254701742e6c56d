"""Reserved ports: no other process gets a port before a server listens on it."""

from __future__ import annotations

import socket

import pytest

from tests.lab.harness import ports


def test_ports_differ_and_stay_reserved_and_a_java_like_server_gets_its_own() -> None:
    taken = ports.free_ports(20)
    assert len(set(taken)) == 20
    try:
        with socket.socket() as rude, pytest.raises(OSError, match="in use"):
            rude.bind((ports.HOST, taken[0]))
        with socket.socket() as server, socket.socket() as client:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((ports.HOST, taken[0]))
            server.listen()
            client.connect((ports.HOST, taken[0]))
    finally:
        for port in taken:
            ports.release_port(port)


def test_port_given_back_can_be_bound_by_any_process() -> None:
    port = ports.free_port()
    ports.release_port(port)
    ports.release_port(port)
    with socket.socket() as other:
        other.bind((ports.HOST, port))
