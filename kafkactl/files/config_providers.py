"""Answers for config providers on the machine that the node runs on: Kafka's own three, from files and environment.

Sources: clients `FileConfigProvider`, `DirectoryConfigProvider`, `EnvVarConfigProvider` (3.5 and later). Any other
provider is a class of the operator's, which only a JVM can run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from kafkactl.core.errors import DecodeError
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.protocol.text.config_values import ConfigProvider
from kafkactl.protocol.text.properties import parse_properties

_PACKAGE = "org.apache.kafka.common.config.provider."


def resolve(provider: ConfigProvider, path: str, key: str) -> str:
    """Return the value behind `${provider:path:key}`. Raises LookupError with the reason; never shows a value."""
    ask = _PROVIDERS.get(provider.class_name)
    if ask is None:
        raise LookupError(f"{provider.class_name} is not a provider that kafkactl knows")
    return ask(provider.settings, path, key)


def _from_file(settings: Mapping[str, str], path: str, key: str) -> str:
    data = _read(settings, Path(path))
    try:
        values = parse_properties(data, file=path).mapping
    except DecodeError as error:
        raise LookupError(error.message) from None
    if key not in values:
        raise LookupError(f"{path} has no {key}")
    return values[key]


def _from_directory(settings: Mapping[str, str], path: str, key: str) -> str:
    if Path(key).name != key:
        raise LookupError(f"{key} is not the name of a file in {path}")
    return _read(settings, Path(path, key)).decode("utf-8", "replace")


def _from_environment(settings: Mapping[str, str], _: str, key: str) -> str:
    allowed = settings.get("allowlist.pattern")
    try:
        if allowed and not re.fullmatch(allowed, key):
            raise LookupError(f"allowlist.pattern does not let {key} through")
    except re.error:
        raise LookupError(f"allowlist.pattern {allowed} is not understood") from None
    if key not in os.environ:
        raise LookupError(f"the environment variable {key} is not set")
    return os.environ[key]


def _read(settings: Mapping[str, str], path: Path) -> bytes:
    allowed = settings.get("allowed.paths")  # 3.8 and later; earlier releases ignore it
    if (
        allowed and not any(path.is_relative_to(folder.strip()) for folder in allowed.split(","))
    ) or ".." in path.parts:
        raise LookupError(f"{path} is not in allowed.paths")
    try:
        return read_whole(path, InputKind.NODE_CONFIG)
    except OSError as error:
        raise LookupError(f"{path}: {error.strerror}") from None


_PROVIDERS: Mapping[str, Callable[[Mapping[str, str], str, str], str]] = {
    f"{_PACKAGE}FileConfigProvider": _from_file,
    f"{_PACKAGE}DirectoryConfigProvider": _from_directory,
    f"{_PACKAGE}EnvVarConfigProvider": _from_environment,
}
