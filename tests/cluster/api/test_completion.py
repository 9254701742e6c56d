"""Words that the completion of a shell offers, made from what is known of a cluster."""

from __future__ import annotations

from kafkactl.cluster.api.completion import node_words


def test_node_with_two_roles_is_offered_once():
    facts = {"brokers": [3, 1, -1], "controllers": [1, 4]}
    assert node_words(facts, "brokers", "controllers") == [
        ("1", "broker, controller"),
        ("3", "broker"),
        ("4", "controller"),
    ]
