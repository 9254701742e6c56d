"""Kafka's own config providers, answered from files and environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.files.config_providers import resolve
from kafkactl.protocol.text.config_values import ConfigProvider

PACKAGE = "org.apache.kafka.common.config.provider."


def provider(kind: str, **settings: str) -> ConfigProvider:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return ConfigProvider(name="p", class_name=f"{PACKAGE}{kind}ConfigProvider", settings=named)


def test_key_of_a_file_is_resolved(tmp_path: Path):
    file = tmp_path / "secrets.properties"
    file.write_bytes(b"a=1\nb=\\u0041 \n")
    assert resolve(provider("File"), str(file), "b") == "A "
    assert resolve(provider("File", allowed_paths=f"/etc, {tmp_path}"), str(file), "a") == "1"


def test_file_of_a_directory_is_resolved(tmp_path: Path):
    (tmp_path / "password").write_text("hunter2\n")
    assert resolve(provider("Directory"), str(tmp_path), "password") == "hunter2\n"


def test_variable_of_the_environment_is_resolved(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KAFKA_NODE", "7")
    assert resolve(provider("EnvVar"), "", "KAFKA_NODE") == "7"
    assert resolve(provider("EnvVar", allowlist_pattern="KAFKA_.*"), "", "KAFKA_NODE") == "7"


@pytest.mark.parametrize(
    ("asked", "path", "key", "reason"),
    [
        (provider("File"), "/nowhere/x", "a", "/nowhere/x: No such file"),
        (provider("File"), "{tmp}", "a", "Is a directory"),
        (provider("File"), "{tmp}/f", "z", "has no z"),
        (provider("File"), "{tmp}/broken", "z", "Malformed"),
        (provider("File", allowed_paths="/etc"), "{tmp}/f", "a", "is not in allowed.paths"),
        (provider("File"), "{tmp}/../{tmp}/f", "a", "is not in allowed.paths"),
        (provider("Directory"), "{tmp}", "../f", "not the name of a file"),
        (provider("Directory"), "{tmp}", "nope", "No such file"),
        (provider("EnvVar"), "", "KAFKACTL_NOPE", "KAFKACTL_NOPE is not set"),
        (provider("EnvVar", allowlist_pattern="KAFKA_.*"), "", "HOME", "does not let HOME through"),
        (provider("EnvVar", allowlist_pattern="("), "", "HOME", "is not understood"),
        (provider("Vault"), "", "x", "VaultConfigProvider is not a provider that kafkactl knows"),
    ],
)
def test_missing_value_is_refused_with_a_reason(
    tmp_path: Path, asked: ConfigProvider, path: str, key: str, reason: str
):
    (tmp_path / "f").write_text("a=1\n")
    (tmp_path / "broken").write_text("a=\\u1\n")
    with pytest.raises(LookupError) as caught:
        resolve(asked, path.replace("{tmp}", str(tmp_path)), key)
    assert reason in caught.value.args[0]
