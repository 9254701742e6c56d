"""A name of Kafka is written once: in kafkactl/core/kafka_names.py."""

from __future__ import annotations

import ast

from kafkactl.core import kafka_names
from tests.repository.tree import ROOT, nodes, product_files, shown

NAMES = {value for name, value in vars(kafka_names).items() if name.isupper() and isinstance(value, str)}


def test_names_are_those_of_kafka():
    assert {"metadata.version", "zookeeper.metadata.migration.enable", "__cluster_metadata-0"} <= NAMES


def test_no_module_of_the_library_writes_such_a_name_again():
    found = [
        f"{shown(path)}:{node.lineno}: {node.value}"
        for path in product_files()
        if path.relative_to(ROOT).parts[0] == "kafkactl" and path.name != "kafka_names.py"
        for node in nodes(path, ast.Constant)
        if node.value in NAMES
    ]
    assert not found
