"""Lines of Kafka lead to the ids that explain them, and only lines that have the words of a text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli

from kafkactl.core.data_files import read_data
from kafkactl.core.errors import InputError
from kafkactl.core.explanations import explanations
from kafkactl.core.kafka_lines import explain_text, ids_by_line, is_bare_exception, kafka_text
from kafkactl.storage.config import kraft
from tests.repository.tree import ROOT

VERIFY = ROOT / "kafkactl" / "storage" / "verify"
IN_SEVERAL_LINES = {"Unable to register broker", "JAAS config"}  # Parts of lines that have several causes.


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
        ("ExecutionException: org.apache.kafka.common.errors.VoterNotFoundException", "voter-change-refused"),
        ("DuplicateBrokerRegistrationException: Another broker is registered", "broker-id-used-in-turns"),
        ("The Cluster ID a doesn't match stored clusterId Some(b) in meta.properties.", "cluster-id-mismatch"),
        ("requirement failed: There must be at least one broker advertised listener.", "no-broker-listener"),
        ("Fetching snapshot OffsetAndEpoch(offset=0, epoch=0) from Node(3001)", "release-without-zookeeper"),
        ("DuplicateBrokerRegistrationException: Another broker is registered with that broker id.", "new-incarnation"),
        (
            "Still waiting for all controller nodes ready to begin the migration. Not ready due to:No registration"
            " found for controller 3003",
            "quorum-not-ready",
        ),
        (
            "The bootstrap metadata.version 3.3-IV3 does not support ZK migrations. Cannot continue with"
            " ZK migrations enabled.",
            "metadata-version-too-old",
        ),
        ("Shutting down because we were unable to register with the controller quorum.", "start-without-quorum"),
    ],
)
def test_line_of_kafka_leads_to_its_id(line: str, id: str):
    assert id in [explanation.id for explanation in explain_text(line)]
    assert id in dict(ids_by_line(line if "Exception" in line else line.upper()))


def test_shortened_line_leads_to_its_id():
    assert [id for id, _ in ids_by_line("might delete metadata information")] == ["metadata-downgrade-loses-metadata"]
    assert "voters-differ" in dict(ids_by_line("since it is not one of the voters [1]"))


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (
            "ERROR Non-dynamic configs will be ignored: [log.dirs] (kafka.server.DynamicBrokerConfig)",
            "setting-stored-and-ignored",
        ),
        ("Cannot update these configs dynamically: Set(log.dirs)", "setting-stored-and-ignored"),
        (
            "Advertised listeners cannot be altered when using a Raft-based metadata quorum.",
            "dynamic-listeners-not-in-kraft",
        ),
        ("Invalid config(s): num.partitions", "setting-stored-and-ignored"),
        ("Another broker is registered with that broker id.", "new-incarnation"),
        ("Shutdown broker because all log dirs in /a, /b have failed", "log-directory-offline"),
        ("Error while appending records to orders-0 in dir /data", "log-directory-offline"),
        (
            "org.apache.kafka.common.errors.ReassignmentInProgressException: A partition reassignment is in progress.",
            "reassignment-under-way",
        ),
        ("StaleBrokerEpochException", "broker-id-used-in-turns"),
        ("InvalidVoterKeyException: …", "voter-directory-id-changed"),
    ],
)
def test_line_leads_to_the_likeliest_id_first(line: str, id: str):
    assert explain_text(line)[0].id == id


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (
            "IllegalStateException: Unknown metadata version for FeaturesImage: metadataVersion(Optional.empty)",
            "record-of-newer-release",
        ),
        (
            "Invalid update version 20 for feature metadata.version. Can't downgrade the version of this feature"
            " without setting the upgrade type to either safe or unsafe downgrade.",
            "downgrade-not-asked-for",
        ),
        (
            "WARN Invalid update version 25 for feature metadata.version. Can't downgrade to a newer version.",
            "upgrade-not-asked-for",
        ),
        (
            "Tried to apply FeatureLevelRecord FeatureLevelRecord(name='group.version', featureLevel=9), but this"
            " controller only supports versions 0-1",
            "record-of-newer-release",
        ),
        ("Could not find a 'KafkaClient' entry in the JAAS configuration. System property", "login-not-in-file"),
        ("Login module control flag not specified in JAAS config", "login-unreadable"),
        ("Timed out waiting for connection while in state: CONNECTING", "zookeeper-unreachable"),
        ("Unexpected Kafka request of type METADATA during SASL handshake.", "sasl-login-expected"),
        ("CertPathValidatorException: validity check failed", "certificate-expired"),
        ("Log in /d/solo-0 marked stray and renamed to /d/solo-0.d2-stray", "partitions-became-strays"),
        ("Directories [8OJ] in broker 11 marked offline, remaining directories: [Pz]", "log-directory-offline"),
        ("RemoteResourceNotFoundException: Requested remote resource was not found", "missing-object"),
        ("Encountered error while querying or creating __remote_log_metadata topic.", "metadata-topic-missing"),
        (
            "Still waiting for all controller nodes ready to begin the migration. Not ready due to:No registration"
            " found for controller 3001",
            "quorum-not-ready",
        ),
        (
            "[LogLoader partition=__cluster_metadata-0, dir=/d] Corruption found in segment 0, truncating to offset 5",
            "metadata-log-damaged",
        ),
        (
            "UnsupportedVersionException: Direct-to-controller communication is not supported with the current"
            " MetadataVersion.",
            "cluster-not-described",
        ),
        (
            "MismatchedEndpointTypeException: The request was sent to an endpoint of type BROKER, but we wanted an"
            " endpoint of type CONTROLLER",
            "wrong-endpoint-type",
        ),
        (
            "unregisterBroker: event failed with BoundedListTooLongException (treated as PolicyViolationException)",
            "unregistration-too-large",
        ),
        (
            "SaslAuthenticationException: Authentication failed during authentication due to invalid credentials with"
            " SASL mechanism SCRAM-SHA-512",
            "authentication-failed",
        ),
        (
            "Cannot execute because there is an existing partition assignment.  Use --additional",
            "reassignment-under-way",
        ),
        (
            "Unable to register broker 4 because the controller returned error INCONSISTENT_CLUSTER_ID",
            "cluster-id-mismatch",
        ),
        (
            'java.lang.NullPointerException: Cannot invoke "String.indexOf(int)" because "connectString" is null',
            "authorizer-needs-zookeeper",
        ),
    ],
)
def test_line_of_a_real_log_leads_to_its_cause_alone_or_first(line: str, id: str):
    assert explain_text(line)[0].id == id


@pytest.mark.parametrize(
    "line",
    [
        'java.lang.NullPointerException: Cannot invoke "java.nio.channels.ServerSocketChannel.close()" because the'
        ' return value of "kafka.network.Acceptor.serverChannel()" is null',
        "ERROR Retriable error occurred while processing the records. Retrying...",
        "[LogLoader partition=orders-0, dir=/d] Corruption found in segment 0, truncating to offset 5",
        "[UnifiedLog partition=orders-0, dir=/d] Truncating to offset 0",
        "Unable to register broker 4 because of an authentication exception.",
        "Unable to register broker 4 because the controller returned error INVALID_REGISTRATION",
        "Missing value for field 'x' which has no default value.",
        "PolicyViolationException: Topic orders needs at least two replicas.",
        "Serializer class org.example.X could not be found.",
        "ERROR [AssignmentsManager id=11] handleResponse: 2250 assignments failed; global error: Response-level error:"
        " STALE_BROKER_EPOCH. Retrying. (org.apache.kafka.server.AssignmentsManager)",
        "System property 'java.security.auth.login.config' is not set, using default JAAS configuration.",
    ],
)
def test_line_with_another_cause_leads_to_no_id(line: str):
    assert ids_by_line(line) == []


@pytest.mark.parametrize(
    "line", ["NullPointerException", "java.lang.NullPointerException", "Caused by: java.lang.NullPointerException:"]
)
def test_exception_without_words_leads_to_every_candidate(line: str):
    assert is_bare_exception(line)
    assert {"authorizer-needs-zookeeper", "tiered-storage-class-missing"} == {id for id, _ in ids_by_line(line)}


def test_exception_with_words_is_not_bare():
    assert not is_bare_exception('java.lang.NullPointerException: because "connectString" is null')
    assert not is_bare_exception("org.apache.kafka.common.errors.StaleBrokerEpochException")


def test_unknown_exception_without_words_asks_for_the_lines_around():
    with pytest.raises(InputError) as caught:
        explain_text("java.util.ConcurrentModificationException")
    assert "lines before" in (caught.value.next_step or "")


def test_id_in_words_leads_to_the_id():
    assert [found.id for found in explain_text("duplicate voter")] == ["duplicate-voter"]
    assert explain_text("DUPLICATE_VOTER")[0].id == "duplicate-voter"


@pytest.mark.parametrize("line", ["the broker is slow", "error", "started", "a b c d e f g h i j"])
def test_line_without_a_known_text_is_refused(line: str):
    with pytest.raises(InputError) as caught:
        explain_text(line)
    assert caught.value.id == "unknown-id"
    assert "Did you mean" not in (caught.value.next_step or "")


def test_text_that_led_to_an_id_is_returned():
    assert kafka_text("No readable meta.properties files found.", "node-not-formatted") is not None
    assert kafka_text("node-not-formatted", "node-not-formatted") is None


def test_ids_of_lines_are_explained():
    ids = tomli.loads(read_data("kafka_lines.toml").decode("utf-8")).keys() - {"no-id"}
    assert ids and not ids - explanations().keys()


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
    spoken = [(id, text) for id, text in spoken if text not in IN_SEVERAL_LINES]
    missing = [(id, text) for id, text in spoken if id not in dict(ids_by_line(f"ERROR {text} (kafka.Kafka$)"))]
    assert not missing


CONFIG = ROOT / "kafkactl" / "storage" / "config"
OWN_WORDS = {  # What Kafka does not say: it ignores such a key, or takes the value without a word.
    "config-key-of-other-release", "misspelt-config-key", "config-synonym-ignored", "empty-metadata-log-dir",
    "duplicate-log-dir", "relative-log-dir",
}  # fmt: skip


def _refusals(file: Path) -> Iterator[tuple[str, str]]:
    """Yield (id, words) of the refusals of a configuration with the id and the words of each."""
    for function in ast.walk(ast.parse(file.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        names: dict[str, str] = {}
        parts = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.Call)]
        for node in sorted(parts, key=lambda part: (part.lineno, part.col_offset)):
            if isinstance(node, ast.Assign):
                if isinstance(node.targets[0], ast.Name) and (text := _text(node.value, names)):
                    names[node.targets[0].id] = text
                continue
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            values = [given["id"]] if "id" in given else node.args[:1]
            words = given.get("words") or (node.args[1] if len(node.args) > 2 else None)
            ids = [value.value for value in values if isinstance(value, ast.Constant)]
            if ids and words is not None and ids[0] in explanations():
                yield ids[0], _text(words, names) or ""


def _text(node: ast.expr, names: dict[str, str]) -> str | None:
    """Return a text with the names of settings in it; what differs from case to case is left out."""
    if isinstance(node, ast.Name):
        return names.get(node.id) or getattr(kraft, node.id, None)
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    values = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    return "".join(_text(value, names) or "7" for value in values)


def test_each_refused_configuration_is_found_by_its_message():
    refusals = [pair for file in sorted(CONFIG.glob("*.py")) for pair in _refusals(file)]
    spoken = [(id, text) for id, text in refusals if id not in OWN_WORDS and len(text) > 24]
    assert len(spoken) > 25
    missing = [(id, text) for id, text in spoken if id not in dict(ids_by_line(f"requirement failed: {text}"))]
    assert not missing
