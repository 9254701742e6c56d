"""Single values of settings, of files and of topics in the log: refused by kafkactl exactly if Kafka's classes refuse.

One JVM a release reads thousands of values: bounds of all releases, their neighbours, and odd texts.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

import pytest

from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.config.keys import ServerKey, server_keys, topic_keys, value_problem
from kafkactl.storage.config.node_config import ConfigError, read_node_config
from kafkactl.storage.config.release_rules import reading_rules
from scripts.import_server_config import SOURCE, parsed
from tests.lab.harness import java, maven, releases
from tests.lab.harness.compiler import compiled
from tests.lab.harness.storage_tool import JVM_OPTIONS
from tests.lab.oracles.settings import kafka_says
from tests.lab.storage.config_variants import Variant

ALWAYS = {"3.9.2", "4.2.1"}  # between them are most of the bounds that changed
RELEASES = [
    pytest.param(version, marks=() if version in ALWAYS else pytest.mark.campaign) for version in releases.VERSIONS
]
# A combined node reads the settings of both roles; what one role alone reads is tested on one release.
OFTEN = {("3.9.2", "combined"), ("4.2.1", "controller"), ("4.2.1", "broker")}
BASES = [
    pytest.param(version, base, marks=() if (version, base) in OFTEN else pytest.mark.campaign)
    for version in releases.VERSIONS
    for base in ("combined", "controller", "broker")
]
NUMBERS = (
    *(-131073, -131072, -3, -2, -1, 0, 1, 2, 4, 5, 9, 10, 13, 14, 17, 18, 22, 23, 60, 99, 100, 101, 255, 499, 500, 501),
    *(1000, 1999, 2000, 3600, 10000, 10001, 15000, 45000, 60001, 65536, 1048575, 1048576, 8388607, 8388608, 2**31 - 1),
    *(2**31, 2**63 - 1, 2**63),
)
SECURED = "org.apache.kafka.common.security.oauthbearer.secured."  # gone in 4.0
SECRET_TYPE = "PASS" + "WORD"
TEXTS: Mapping[str, Sequence[str]] = {
    "STRING": ("", "x", "true", "-1", "SASL_PLAINTEXT", "TLSv1.3", "1:1", "3.0", "9.9", "gzip", "LogAppendTime"),
    "LIST": ("", "x", "a,", "a,a", "none", "*", "compact", "compact,delete", "delete,delete", "1:1", "1:1,", "a:b"),
    "CLASS": ("", f"{SECURED}OAuthBearerLoginCallbackHandler"),
    "BOOLEAN": ("x", "true", "False", ""),
    SECRET_TYPE: ("x", ""),
    "DOUBLE": ("0", "-1", "0.5", "1", "1.5", "x", "1e-1"),
}
# Kafka would take the directory it is started in; kafkactl refuses.
REFUSED_ON_PURPOSE = ("metadata.log.dir", "")
EARLY_TIERED = {"local.retention.ms", "local.retention.bytes"}
"""Compared with the retention of the topic by 3.3, before there was tiered storage (3.6); not by kafkactl."""


def values_of(key: ServerKey) -> Sequence[str]:
    """Return texts to try."""
    return [str(number) for number in NUMBERS] if key.type in ("INT", "LONG", "SHORT") else TEXTS[key.type]


@pytest.mark.parametrize("release", RELEASES)
def test_topic_values_that_kafka_refuses_are_refused(release: str) -> None:
    row = find_release(release)
    keys = topic_keys(row.name)
    tried = [(name, value) for name, key in keys.items() for value in (*values_of(key), "1 ", "+5", "1_0")]
    said = kafka_says(release, [f"topic\t{name}={value}" for name, value in tried])
    wrong = []
    for (name, value), error in zip(tried, said, strict=True):
        mine = value_problem(keys[name], value, reading_rules(row))
        is_early = release < "3.6" and name in EARLY_TIERED
        if (mine is None) != (not error) and not is_early:
            wrong.append(f"{name}={value!r}: Kafka says {error!r}, kafkactl {mine}")
    assert len(tried) > 800 and wrong == []


@pytest.mark.parametrize(("release", "base"), BASES)
def test_file_values_that_kafka_refuses_are_refused(release: str, base: str) -> None:
    row, text = find_release(release), Variant(base).render(release, "/tmp/kafkactl-none/x")
    tried = [(name, value) for name, key in server_keys(row.name).items() for value in values_of(key)]
    tried = [(name, value) for name, value in tried if name != "principal.builder.class"]  # which also asks what it is
    files = [text + f"{name}={value}\n" for name, value in tried if (name, value) != REFUSED_ON_PURPOSE]
    said = kafka_says(release, ["server\t" + file.replace("\n", "\\n") for file in files])
    wrong = []
    for file, error in zip(files, said, strict=True):
        try:
            read_node_config(file.encode(), file="server.properties", release=row)
            mine = None
        except ConfigError as problem:
            mine = problem.message
        if (mine is None) != (not error):
            wrong.append(f"{file.splitlines()[-1]}: Kafka says {error!r}, kafkactl {mine}")
    assert len(files) > 5000 and wrong == []


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_table_of_topic_keys_is_that_of_the_jars(release: str) -> None:
    path = os.pathsep.join((maven.class_path(release), str(compiled("server-config", [SOURCE]))))
    command = [str(java.java_binary()), *JVM_OPTIONS, "-cp", path, "ServerConfig", "topic"]
    run = subprocess.run(command, env=java.environment(), capture_output=True, text=True, timeout=120, check=True)
    found = parsed(run.stdout)
    assert {name: ServerKey(name=name, **row) for name, row in found.items()} == dict(
        topic_keys(find_release(release).name)
    )
