"""Secret configurations: kafkactl and the jars of each release agree, kind of resource by kind."""

from __future__ import annotations

import os
import subprocess

import pytest

from kafkactl.protocol.redact import is_secret_config
from scripts.import_resource_configs import SOURCE, parsed
from tests.lab.harness import java, maven, releases
from tests.lab.harness.compiler import compiled
from tests.lab.harness.storage_tool import JVM_OPTIONS

KINDS = {"topic": 2, "broker": 4, "client-metrics": 16, "group": 32}


@pytest.mark.parametrize("release", [releases.VERSIONS[0], "3.9.2", releases.NEWEST])
def test_configuration_is_secret_exactly_as_in_the_release(release: str) -> None:
    path = os.pathsep.join((maven.class_path(release), str(compiled("resource-configs", [SOURCE]))))
    command = [str(java.java_binary()), *JVM_OPTIONS, "-cp", path, "ResourceConfigs"]
    run = subprocess.run(command, env=java.environment(), capture_output=True, text=True, timeout=60, check=True)
    found = parsed(run.stdout)
    assert {"topic", "broker"} <= set(found)
    wrong = [
        (kind, name)
        for kind, named in found.items()
        for name, type_ in named.items()
        if is_secret_config(KINDS[kind], name) is not (type_ == "PASSWORD")
    ]
    assert not wrong
