"""Texts of others are read in time that grows with their length, whatever they repeat.

Each reader gets hostile texts of 200,000 characters. Time that grows with the length is half a second then, time that
grows with its square over 15 s: the limit lies far from both, so a busy machine decides nothing.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable

import pytest

from kafkactl.change.journal_lines import JournalText, entry_line, new_entry, read_journal, redacted
from kafkactl.cluster.quorum.voters import parse_host_port
from kafkactl.commands.framework import failure
from kafkactl.commands.rendering import page, terminal
from kafkactl.core.errors import KafkactlError
from kafkactl.core.safe_text import visible
from kafkactl.dryrun.controller.setting_checks import _COMMA
from kafkactl.migration.io.zookeeper.settings import _section
from kafkactl.protocol.text.config_values import resolve_values
from kafkactl.protocol.text.config_variables import Variable, has_variable, variables
from kafkactl.protocol.text.jaas import parse_jaas
from kafkactl.protocol.text.java_text import parse_double
from kafkactl.protocol.text.pem import read_pem
from kafkactl.protocol.text.properties import parse_properties

KAFKAS_VARIABLE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
LENGTH = 200_000
LIMIT_SECONDS = 7.5  # of the processor
LINES, LIMIT_OF_LINES_SECONDS = 20_000, 30

READERS: dict[str, Callable[[str], object]] = {
    "variables": lambda text: list(variables(text)),
    "has_variable": has_variable,
    "resolve_values": lambda text: resolve_values(
        {"config.providers": "a", "config.providers.a.class": "A", "log.dirs": text}, None
    ),
    "pem": read_pem,
    "double": parse_double,
    "host_port": lambda text: parse_host_port(text, anything_before_host=True),
    "host_port of 4.0": parse_host_port,
    "comma": _COMMA.split,
    "address": lambda text: page._alike(text, "broker 1"),
    "trailing blanks": lambda text: terminal._TRAILING_BLANKS.sub("", text),
    "redacted error": failure.redacted,
    "redacted entry": redacted,
    "visible": visible,
    "properties": lambda text: parse_properties(text.encode()),
    "jaas": parse_jaas,
    "zookeeper section": lambda text: _section(text, "Client", "jaas.conf"),
}
PIECES = (
    "${a:", "${", "}", ":", "-", "a-", "1", "1:", "0x1", " ", " ,", "\\", "=", "/*", "\"", "Client{", "Client {\"",
    "-----BEGIN A-----\n", "-----END A-----\n", "-----BEGIN A-----\n-----END B-----\n", "password", "password ",
    "token=",
    "[", "]:", "\u202e", "a=b\n", "[1]:1",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_text(name: str):
    for piece in PIECES:
        text = piece * (LENGTH // len(piece)) + "x"
        began = time.process_time()
        with contextlib.suppress(KafkactlError):
            READERS[name](text)
        assert time.process_time() - began < LIMIT_SECONDS, piece


@pytest.mark.slow
def test_journal_is_read_in_time_that_grows_with_its_lines():
    text, lines = JournalText(entries=()), []
    header = {"version": 1, "subject": "s", "cluster_id": "c"}
    for number in range(LINES):
        kind, data = ("note", {}) if number else ("journal", header)
        lines.append(new_entry(text, kind, data, at_ms=1))
        text = Long(number + 1, lines[-1].chain)
    content = b"".join(map(entry_line, lines))
    began = time.process_time()
    assert len(read_journal(content, file="j", subject="s", cluster_id="c").entries) == LINES
    assert time.process_time() - began < LIMIT_OF_LINES_SECONDS


class Long:
    """State of a long journal, as much as the next entry has to know."""

    def __init__(self, count: int, chain: str) -> None:
        self.entries = range(count)
        self.chain = chain


@pytest.mark.parametrize(
    "text",
    [
        "${a:b}", "x${a:b:c}y", "${a}", "${a}${b:c}", "${${a:b}", "${a:b:c:d}", "${:}", "${a:\n}", "${a:b", "$ {a:b}",
        "${}${::}",
        "${a ${b:c} d:e}", "}${a:b}}",
    ],
)  # fmt: skip
def test_variables_are_those_of_kafkas_expression(text: str):
    expected = [Variable(*found.span(), found[1], found[3] or "", found[4]) for found in KAFKAS_VARIABLE.finditer(text)]
    assert list(variables(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "host:9093", "[::1]:9093", "PLAINTEXT://host:1", "a b://[h]:2", "x[h:3", "h]:4", ":5", "::6", "[]:7", "a\n:8",
        "a\nb c:9", "", "h", "h:", "h:x", "h:\u0661", "a[b]c:1", "a]]:1", "1:2:3",
    ],
)  # fmt: skip
def test_hosts_are_those_of_kafkas_expression(text: str):
    found = re.fullmatch(r"[^\n\r\u0085\u2028\u2029]*?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)", text)
    assert parse_host_port(text, anything_before_host=True) == (found and (found[1], int(found[2])))


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN A-----\nx\n-----END A-----", "-BEGIN A- x -END A-", "-----BEGIN A-----x-----END A-----",
        "-----BEGIN A-----\nx-----BEGIN A-----END A-----", "-----BEGIN A-----\n-----BEGIN B-----\ny\n-----END B-----",
        "-----BEGIN A-----\n1-----END A----------BEGIN B-----\n2-----END B-----",
        "-----END A-----\n-----BEGIN A-----\n",
        "-----BEGIN A-----\n-----END B-----\n-----END A-----\n-----BEGIN A-----\n3\n-----END A-----",
    ],
)  # fmt: skip
def test_blocks_are_those_of_the_expression(text: str):
    from kafkactl.protocol.text.pem import _blocks

    expression = re.compile(r"-+BEGIN ([A-Z0-9 ]+?)-+\s+(.*?)\s*-+END \1-+", re.DOTALL)
    assert list(_blocks(text)) == [(found[1], found[2]) for found in expression.finditer(text)]
