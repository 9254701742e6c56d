"""Configurations and logs without their secrets: nothing of them is left, everything else is."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError
from kafkactl.metadata.dump.records import log_records
from kafkactl.metadata.log.redact import REDACTED_BYTES, redact_batch, redact_runs
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.protocol.text.redact_config import redact_config
from tests.migration.migration_logs import LogWriter, bootstrap, broker, record
from tests.secrets_scan import leaks

SECRET = "hunter2"


def properties(text: str) -> dict[str, str]:
    return dict(parse_properties(text.encode("utf-8", "surrogatepass")).mapping)


CONFIG = f"""# the old one was {SECRET}
broker.id=1
ssl.keystore.password={SECRET}
listener.name.sasl.scram-sha-512.sasl.jaas.config=org.apache.Login required \\
   username="admin" \\
   password="{SECRET}";
password.encoder.secret : {SECRET}
  username="x" password="{SECRET}";
metrics.url=http://bob:{SECRET}@host/path
advertised.listeners=PLAINTEXT://b1:9092
delegation.token.secret.key={SECRET}
ssl.key.password=
! {SECRET}
log.dirs=/a,\\
  /b
"""


def test_secrets_of_a_configuration_are_redacted():
    text = redact_config(CONFIG)
    assert not leaks(text)
    found, before = properties(text), properties(CONFIG)
    assert set(found) == set(before)
    assert found["ssl.keystore.password"] == "<redacted>"
    assert found["password.encoder.secret"] == "<redacted>"
    kept = {"broker.id", "advertised.listeners", "ssl.key.password", "log.dirs"}
    assert {key: found[key] for key in kept} == {key: before[key] for key in kept}
    assert text.count("\n") == CONFIG.count("\n")
    assert redact_config(text) == text


def test_value_behind_a_comment_that_ends_in_a_backslash_is_hidden():
    text = f"#x.sasl.jaas.config=Login required \\\n  {SECRET} \\\n  {SECRET};\nbroker.id=1\n# C:\\\nlog.dirs=/a\n"
    assert redact_config(text) == "#\n#\n#\nbroker.id=1\n#\nlog.dirs=/a\n"


def test_redacted_file_that_java_refuses_is_still_refused():
    text = redact_config(f"a=\\u12\nssl.key.password={SECRET}\n")
    assert not leaks(text)
    with pytest.raises(DecodeError):
        properties(text)


_LINES = st.lists(
    st.tuples(
        st.sampled_from(
            ["ssl.key.password", "a.b", "x.sasl.jaas.config", "my.secret", "log.dirs", "#ssl.key.password"]
        ),
        st.sampled_from(["=", ":", " ", " = ", "=\\\n  ", "\\\n="]),
        st.text(alphabet="ab \\\t#!=:é", max_size=6),
        st.sampled_from(["\n", "\r\n", "\r", "\\\n", ""]),
    ),
    max_size=6,
)


@given(_LINES)
@example([("#ssl.key.password", "=\\\n  ", "", "\n")])
@example([("#ssl.key.password", "=\\\n  ", "", "\\\n"), ("my.secret", "=", "", "\n")])
def test_secrets_of_any_configuration_are_redacted(lines):
    secret = ("password", "secret", "jaas")
    text = "".join(
        key + between + (value + SECRET + value if any(word in key for word in secret) else value)
        + (end or "\n" * (number < len(lines)))
        for number, (key, between, value, end) in enumerate(lines, 1)
    )  # fmt: skip
    hidden = redact_config(text)
    before, after = properties(text), properties(hidden)
    if not any("\\" in value for _, _, value, _ in lines) and "\\\n=" not in text:
        assert not leaks(hidden)
        for key, value in before.items():
            if key in after and not leaks(f"{key} {value}"):
                others = {other.lstrip() for name, _, other, _ in lines if name == key}
                assert after[key] in {value, "<redacted>", *others}  # the last of two may be hidden
    assert redact_config(hidden) == hidden


def redacted(data: bytes) -> bytes:
    return b"".join(redact_runs(walk_runs([data])))


def _log() -> LogWriter:
    log = LogWriter()
    bootstrap(log)
    broker(log, 1)
    secret = SECRET.encode()
    log.batch(
        record("UserScramCredentialRecord", Name="alice", Mechanism=1, Salt=secret, StoredKey=secret,
               ServerKey=secret, Iterations=4096),
        record("ConfigRecord", ResourceType=4, ResourceName="1", Name="ssl.key.password", Value=SECRET),
        record("ConfigRecord", ResourceType=2, ResourceName="t", Name="retention.ms", Value="5"),
    )  # fmt: skip
    log.batch(record("NoOpRecord"))
    return log


def test_batches_of_a_piece_are_redacted_as_one_piece():
    data = _log().data
    pieces = list(redact_runs(walk_runs([data, data])))
    assert len(pieces) == 2 and b"".join(pieces) == redacted(data) * 2


def test_secrets_of_a_log_are_redacted():
    log = _log()
    data = redacted(log.data)
    assert not leaks(data)
    before, after = (list(log_records([content], file="x")) for content in (log.data, data))
    assert [entry[:3] for entry in before] == [entry[:3] for entry in after]
    scram, password, plain = [entry.record.data for entry in after][-4:-1]
    assert scram["Salt"] == scram["StoredKey"] == scram["ServerKey"] == REDACTED_BYTES
    assert (scram["Name"], scram["Iterations"]) == ("alice", 4096)
    assert password["Value"] == "<redacted>"
    assert plain["Value"] == "5"
    same = [pair for pair in zip(before, after, strict=True) if pair[0].record == pair[1].record]
    assert len(same) == len(before) - 2
    assert redacted(data) == data


def test_log_without_secrets_keeps_its_bytes():
    log = LogWriter()
    bootstrap(log)
    broker(log, 1)
    assert redacted(log.data) == log.data


def test_damage_is_blanked_and_stays_damage():
    log = _log()
    at = log.data.index(SECRET.encode())
    data = log.data[:at] + b"X" + log.data[at:]
    hidden = redacted(data)
    assert not leaks(hidden)
    assert len(hidden) == len(data)
    ids = [
        [entry.record.id for entry in log_records([part], file="x") if isinstance(entry.record, DecodeError)]
        for part in (data, hidden)
    ]
    assert ids[0]
    assert ids[1] == ids[0]


@given(st.integers(0, 900))
@example(239)  # in the middle of a batch's length
@example(236)  # in the middle of its offset
def test_log_that_is_cut_stays_cut(size: int):
    data = _log().data[:size]
    hidden = redacted(data)
    assert not leaks(hidden)
    texts = [
        [(entry.offset, getattr(entry.record, "id", "")) for entry in log_records([part], file="x")]
        for part in (data, hidden)
    ]
    assert texts[0] == texts[1]


@given(st.binary(max_size=60))
def test_record_that_cannot_be_read_is_not_kept(rest: bytes):
    log = LogWriter()
    raw = b"\x01\x0b\x00" + rest + SECRET.encode()
    log._append([(None, raw), (b"key", SECRET.encode()), (None, None)], is_control=False)
    hidden = redact_batch(log.data)
    assert not leaks(hidden)
    records = [entry.record for entry in log_records([hidden], file="x")]
    assert len(records) == 3
    assert not any(isinstance(entry, MetadataRecord) and entry.data.get("Salt") == SECRET.encode() for entry in records)
