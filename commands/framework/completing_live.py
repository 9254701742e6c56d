"""Shell completion of values of the cluster that the line names: feature levels, node ids, topics.

The functions stand in modules of commands, so nothing here is imported before a word is completed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework.completing import items_of

if TYPE_CHECKING:
    from kafkactl.commands.framework.completing import Items

MODE = "KAFKACTL_COMPLETION"
"""`offline`: no cluster is asked for words."""


def feature_levels(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Complete NAME=LEVEL."""
    from kafkactl.cluster.api.completion import feature_words

    return items_of(feature_words(_facts(ctx)), incomplete)


def features(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Complete NAME of a feature that is on."""
    from kafkactl.cluster.api.completion import feature_names

    return items_of(feature_names(_facts(ctx)), incomplete)


def nodes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the id of any node."""
    return _of_roles(ctx, incomplete, "brokers", "controllers")


def brokers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the id of a broker."""
    return _of_roles(ctx, incomplete, "brokers")


def controllers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the id of a controller."""
    return _of_roles(ctx, incomplete, "controllers")


def controller_list(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Complete the last of several ids of controllers with commas between."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",")
    found = _of_roles(ctx, last, "controllers", "brokers")
    for item in found:
        item.value = f"{before}{comma}{item.value}"
    return [item for item in found if item.value.rpartition(",")[2] not in named]


def topics(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Complete the name of a topic."""
    from kafkactl.cluster.api.completion import topic_words

    return items_of(topic_words(_facts(ctx)), incomplete)


def _of_roles(ctx: click.Context, incomplete: str, *roles: str) -> Items:
    from kafkactl.cluster.api.completion import node_words

    return items_of(node_words(_facts(ctx), *roles), incomplete)


def _facts(ctx: click.Context) -> dict[str, Any]:
    from kafkactl.cluster.api.completion import cluster_facts
    from kafkactl.commands.framework.connection import connection_in

    return cluster_facts(**connection_in(ctx).target(), mode=os.environ.get(MODE, ""))
