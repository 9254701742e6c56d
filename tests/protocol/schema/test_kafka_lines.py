"""Lines of Kafka lead to the ids that explain them, and only lines that have the words of a text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.protocol.schema.explanations import explanations
from kafkactl.protocol.schema.kafka_lines import ids_by_line, kafka_lines
from kafkactl.tool.api.explain import explain, kafka_text
from tests.repository.tree import ROOT

VERIFY = ROOT / "kafkactl" / "storage" / "verify"


@pytest.mark.parametrize(
    ("line", "id"),
    [
        ("[2026-01-01] ERROR No readable meta.properties files found. (kafka.Kafka$)", "node-not-formatted"),
        (
            "java.lang.IllegalStateException: Cannot transition to Follower with leaderId=4 and epoch=48 since it is"
            " not one of the voters [0, 1, 2]",
            "voters-differ",
        ),
        ("ERROR Error loading metadata log record from offset 72", "metadata-log-undecodable"),
        (
            "rejecting the vote: voter key ReplicaKey(id=0) doesn't match the local key ReplicaKey(id=0)",
            "voter-directory-id-changed",
        ),
        ("Invalid update version 21 for feature x. Broker 2 only supports versions 20", "stale-broker-registration"),
        ("Record size 0 is less than the minimum record overhead (14)", "metadata-log-zero-tail"),
        ("PolicyViolationException: Unable to perform excessively large batch operation.", "unregistration-too-large"),
        ("Existing topic partition count 50 is not same as the expected", "metadata-partition-count-differs"),
        (
            "Found unexpected metadata location in data directory `/data/1/__cluster_metadata-0`",
            "unexpected-metadata-location",
        ),
        ("channel manager timed out before sending the request", "stale-controller-registration"),
    ],
)
def test_line_of_kafka_leads_to_its_id(line: str, id: str):
    assert id in [explanation.id for explanation in explain(line)]
    assert id in dict(ids_by_line(line.upper()))


def test_shortened_line_leads_to_its_id():
    assert [id for id, _ in ids_by_line("might delete metadata information")] == ["metadata-downgrade-loses-metadata"]
    assert "voters-differ" in dict(ids_by_line("since it is not one of the voters [1]"))


def test_id_in_words_leads_to_the_id():
    assert [found.id for found in explain("duplicate voter")] == ["duplicate-voter"]
    assert explain("DUPLICATE_VOTER")[0].id == "duplicate-voter"


@pytest.mark.parametrize("line", ["the broker is slow", "error", "started", "a b c d e f g h i j"])
def test_line_without_a_known_text_is_refused(line: str):
    with pytest.raises(InputError) as caught:
        explain(line)
    assert caught.value.id == "unknown-id"
    assert "Did you mean" not in (caught.value.next_step or "")


def test_text_that_led_to_an_id_is_returned():
    assert kafka_text("No readable meta.properties files found.", "node-not-formatted") is not None
    assert kafka_text("node-not-formatted", "node-not-formatted") is None


def test_ids_of_lines_are_explained():
    assert not set(kafka_lines()) - set(explanations())


def _failures(file: Path) -> list[tuple[str, str]]:
    """Return (id, message of Kafka) of the start failures that a module names as constants."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            words = next((keyword.value for keyword in node.keywords if keyword.arg == "says"), None)
            ids = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and arg.value in explanations()]
            if isinstance(words, ast.Constant) and ids:
                found.append((ids[0], words.value))
            elif isinstance(words, ast.JoinedStr) and ids:
                parts = [part.value if isinstance(part, ast.Constant) else "node.id" for part in words.values]
                found.append((ids[0], "".join(map(str, parts))))
    return found


def test_each_start_failure_is_found_by_its_message():
    failures = [pair for file in sorted(VERIFY.glob("*.py")) for pair in _failures(file)]
    assert len(failures) > 25
    spoken = [(id, text) for id, text in failures if len(text.replace("node.id", "").strip(" :/.")) > 8]
    missing = [(id, text) for id, text in spoken if id not in dict(ids_by_line(f"ERROR {text} (kafka.Kafka$)"))]
    assert not missing
