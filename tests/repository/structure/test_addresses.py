"""Host and port become text in one place, which knows of the brackets around addresses of IPv6."""

from __future__ import annotations

import re

from tests.repository.tree import ROOT, product_files, text_of

BY_HAND = re.compile(r"""host\w*(?: or [^}]+)?\}:\{[\w.\[\]]*port""")
ITSELF = "kafkactl/core/values.py"
AS_KAFKA_WRITES = {
    "kafkactl/simulator/raft/changes.py",
    "kafkactl/cluster/quorum/voters.py",
}  # its messages, and its mistake


def test_host_and_port_are_joined_by_host_port() -> None:
    found = {str(path.relative_to(ROOT)) for path in product_files() if BY_HAND.search(text_of(path))}
    assert found - AS_KAFKA_WRITES == {ITSELF}, "use host_port of kafkactl/core/values.py, or str() of an Endpoint"
