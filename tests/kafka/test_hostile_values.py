"""Hostile values that ended in "this is a bug in kafkactl": each is a typed error, or means what it means in Java."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafkactl.change.journal_lines import JournalText, entry_line, new_entry, read_journal
from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.dryrun.scenarios.reassignment import parse_plan
from kafkactl.files.contexts import parse_contexts
from kafkactl.kafka.sasl.token import _seconds, token_source
from kafkactl.migration.driver.journal import remembered
from kafkactl.migration.inventory import parse_inventory
from kafkactl.migration.io.rendered_files import MANIFEST, originals
from kafkactl.protocol.sasl.plain import Plain
from kafkactl.protocol.sasl.scram import Scram
from kafkactl.protocol.text.client_properties import read_client_properties
from kafkactl.protocol.text.jaas import parse_jaas
from kafkactl.quorum.change.journal import remembered as remembered_change
from kafkactl.storage.fleet.inventory import parse_inventory as parse_fleet
from tests.samples.hostile_inputs import CHANGE, MIGRATION, chained

DEEP = "[" * 100_000
MANY_DIGITS = "1" * 10_000


@pytest.mark.parametrize("last", [b"v=\xff\xfe", "v=äöü".encode(), b"v=\x00", b"v=", b"", b"e=\xff"])
def test_scram_ends_with_what_is_not_a_signature(last: bytes) -> None:
    scram = Scram("SCRAM-SHA-256", "u", "hunter2", nonce=b"n" * 18)
    nonce = scram.first().decode().partition(",r=")[2]
    assert scram.answer(f"r={nonce}x,s=c2FsdA==,i=4096".encode())
    with pytest.raises(UnreachableError) as caught:
        scram.answer(last)
    assert caught.value.id == "sasl-exchange-broken"


def test_half_a_character_in_a_login_is_what_it_is_in_java() -> None:
    assert Plain("u\ud800", "p\udfff").first() == b"\0u?\0p?"
    assert b"n=u?," in Scram("SCRAM-SHA-512", "u\ud800", "\ud800", nonce=b"n").first()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(10**400, 31_536_000.0), (float("inf"), 31_536_000.0), (float("nan"), None), (-1, None), ("3", None), (60, 60.0)],
)
def test_lifetime_of_a_token_is_read(value: object, seconds: float | None) -> None:
    assert _seconds(value) == seconds


@pytest.mark.parametrize("url", ["http://[x", "https://[", "http://[::1", "nothing", "ftp://h"])
def test_invalid_url_of_a_token_endpoint_is_refused(url: str) -> None:
    properties = read_client_properties({"sasl.oauthbearer.token.endpoint.url": url}, file="f")
    entry = parse_jaas("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=a;")
    with pytest.raises(InputError) as caught:
        token_source(entry, properties)
    assert caught.value.id == "invalid-token-source"


@pytest.mark.parametrize("text", [f"a = {MANY_DIGITS}", f"a = {DEEP}", "a = [" * 3])
def test_malformed_toml_is_refused(text: str) -> None:
    for read, id in (
        (lambda: parse_contexts(text.encode(), file="f"), "malformed-contexts-file"),
        (lambda: parse_inventory(text, file="f"), "inventory-not-toml"),
        (lambda: parse_fleet(text.encode(), file="f"), "inventory-not-toml"),
    ):
        with pytest.raises(InputError) as caught:
            read()
        assert caught.value.id == id


@pytest.mark.parametrize("text", [DEEP, '{"partitions":' + DEEP, '{"partitions":[{"partition":' + MANY_DIGITS + "}]}"])
def test_malformed_reassignment_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_plan(text, file="f")
    assert caught.value.id == "invalid-reassignment-plan"


@pytest.mark.parametrize(
    "text",
    [DEEP, "5", '{"files":5}', '{"files":[{"path":["a"],"sha256":{}}]}', '{"files":[5,null]}', '{"files":{"a":1}}'],
)
def test_manifest_of_other_types_says_nothing(tmp_path: Path, text: str) -> None:
    if text.startswith("{"):
        text = '{"kind":"migrate.render",' + text[1:]
    (tmp_path / MANIFEST).write_text(text)
    assert originals([], tmp_path) == ()


def _journal(*entries: tuple[str, dict[str, object]]) -> bytes:
    text, lines = JournalText(entries=()), b""
    for entry, data in entries:
        made = new_entry(text, entry, data, at_ms=1)
        text = JournalText(entries=(*text.entries, made))
        lines += entry_line(made)
    return lines


def test_deeply_nested_journal_line_is_torn() -> None:
    good = _journal(("journal", {"version": 1, "subject": "s", "cluster_id": "c"}))
    read = read_journal(good + DEEP.encode() + b"\n", file="f", subject="s", cluster_id="c")
    assert read.torn.startswith(b"[[[")


@pytest.mark.parametrize("fold", [remembered, remembered_change])
@pytest.mark.parametrize(
    ("entry", "data"),
    [("intent", {}), ("intent", {"action": [], "target": {}}), ("begin", {}), ("end", {}), ("intent", {"way": 5})],
)
def test_journal_entry_that_fits_the_chain_and_lacks_its_fields(fold, entry: str, data: dict[str, object]) -> None:
    entries = read_journal(
        _journal(("journal", {"version": 1, "subject": "s", "cluster_id": "c"}), (entry, data)),
        file="f", subject="s", cluster_id="c",
    ).entries  # fmt: skip
    with pytest.raises(KafkactlError) as caught:
        fold(entries)
    assert caught.value.id == "journal-not-understood"


def _with_other_types(entries):
    """Yield the entries with one value changed: it becomes one of a type that it never has."""
    for at, (entry, data) in enumerate(entries):
        for key, value in data.items():
            if entry != "journal" and key in FOLDED[entry]:
                changed = {**data, key: ["x"] if isinstance(value, dict) else True if value is not False else 7}
                yield entry, key, [*entries[:at], (entry, changed), *entries[at + 1 :]]


FOLDED = {
    "begin": ("goal", "migration"), "state": ("state",), "original": ("node", "sha256"), "file": ("node", "sha256"),
    "rendered": ("folder",), "tree": ("sha256",), "starting": ("target", "phase"), "done": (), "failed": (),
    "withdrawn": (), "end": (), "answer": ("error_code", "message"),
    "intent": ("action", "target", "unread_ms", "number", "leader_leaves", "way", "alive", "voters_before", "voter"),
    "undecided": (),
}  # fmt: skip


@pytest.mark.parametrize(
    ("fold", "entries"), [(remembered, MIGRATION), (remembered_change, CHANGE)], ids=["migration", "quorum"]
)
def test_journal_entry_with_a_value_of_another_type_is_refused(fold, entries) -> None:
    # Found by the fuzz: a goal that is `true` was remembered, and the answer of `migrate status` fitted no schema.
    fold(read_journal(chained(entries), file="f", subject=entries[0][1]["subject"], cluster_id="c").entries)
    seen = 0
    for entry, key, changed in _with_other_types(list(entries)):
        read = read_journal(chained(changed), file="f", subject=entries[0][1]["subject"], cluster_id="c").entries
        with pytest.raises(KafkactlError) as caught:
            fold(read)
        assert caught.value.id == "journal-not-understood", (entry, key)
        seen += 1
    assert seen > 8


@pytest.mark.parametrize("value", ["9" * 20 + "h", "9" * 6_000 + "h", "8761h", "100000000h"])
def test_too_long_time_limit_is_refused(value: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "kafkactl", "explain", "spark-failed", "--timeout", value, "-o", "json"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert run.returncode == 2, run.stderr
    assert "8760h" in run.stderr or "is not a duration" in run.stderr
