"""random-uuid, version-mapping, feature-dependencies: what needs no disk."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid

import pytest

from kafkactl.core.values import Uuid

HOSTILE_LINES = {
    "storage random-uuid": ("",),
    "storage version-mapping": ("--release-version {text}", ""),
    "storage feature-dependencies": ("--feature {text}=1",),
}


def test_random_uuids_are_version_4_unreserved_and_no_options(kafkactl):
    texts = {kafkactl("storage", "random-uuid").stdout for _ in range(200)}
    assert len(texts) == 200
    for text in texts:
        found = Uuid.parse(text.removesuffix("\n"))
        assert str(found) == text.removesuffix("\n")
        assert (uuid.UUID(bytes=found.raw).version, found.is_reserved, text[0] == "-") == (4, False, False)


def test_random_uuid_is_shown_as_json(kafkactl):
    run = kafkactl("storage", "random-uuid", "-o", "json")
    assert (run.json["kind"], len(run.json["uuid"])) == ("storage.random-uuid", 22)


def test_random_uuid_loads_nothing_heavy():
    script = (
        "import sys; from kafkactl.commands.main import main; main(['storage', 'random-uuid'])\n"
        "heavy = {'rich', 'pydantic', 'yaml', 'tomli', 'json.decoder', 'kafkactl.protocol.schema'} & set(sys.modules)\n"
        "sys.exit(repr(sorted(heavy - {'json.decoder'})) if heavy - {'json.decoder'} else 0)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


MAPPINGS = {
    ("4.4", None): [
        "metadata.version=33 (4.4-IV2)",
        "kraft.version=1",
        "transaction.version=2",
        "group.version=1",
        "eligible.leader.replicas.version=1",
        "share.version=2",
        "streams.version=1",
    ],
    ("4.0", "3.9.1"): [
        "metadata.version=21 (3.9.1)",
        "kraft.version=1",
        "transaction.version=0",
        "group.version=0",
        "eligible.leader.replicas.version=0",
    ],
}


@pytest.mark.parametrize(("version", "release"), MAPPINGS)
def test_version_mapping_is_shown_as_by_kafka(kafkactl, version, release):
    words = ["-r", release] if release else []
    run = kafkactl("storage", "version-mapping", "--kafka-version", version, *words)
    assert (run.code, run.stdout.splitlines()) == (0, MAPPINGS[version, release])


def test_version_mapping_is_shown_as_json(kafkactl):
    run = kafkactl("storage", "version-mapping", "-r", "4.1", "-o", "json")
    assert run.json["release_version"] == "4.1"
    assert run.json["features"][0] == {"name": "metadata.version", "level": 27}
    lines = kafkactl("storage", "version-mapping", "-r", "4.1", "-o", "jsonl").stdout.splitlines()
    assert json.loads(lines[0])["name"] == "metadata.version"


def test_feature_dependencies_are_shown_as_by_kafka(kafkactl):
    features = ["-f", "eligible.leader.replicas.version=1", "-f", "metadata.version=29", "-f", "group.version=1"]
    run = kafkactl("storage", "feature-dependencies", *features)
    assert (run.code, run.stdout.splitlines()) == (
        0,
        [
            "eligible.leader.replicas.version=1 requires:",
            "    metadata.version=23 (4.0-IV1)",
            "metadata.version=29 (4.2-IV1) has no dependencies.",
            "group.version=1 has no dependencies.",
        ],
    )


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (["version-mapping", "-r", "9.9"], "unknown-release-version"),
        (["version-mapping", "--kafka-version", "9"], "unknown-kafka-version"),
        (["feature-dependencies", "-f", "x=1"], "unknown-feature"),
        (["feature-dependencies", "-f", "group.version=9"], "unknown-feature-level"),
        (["feature-dependencies", "-f", "group.version"], "invalid-feature-argument"),
        (["feature-dependencies"], "missing-option"),
    ],
)
def test_unknown_release_or_feature_is_an_error(kafkactl, words, id):
    run = kafkactl("storage", *words, "-o", "json")
    assert (run.code, run.error["id"], run.stdout) == (2, id, "")
