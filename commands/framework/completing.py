"""What shells complete in addition to commands and options: the `shell_complete` of parameters.

The functions stand in modules of commands, so nothing here is imported before a word is completed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Items = list[CompletionItem[str]]
MODE = "KAFKACTL_COMPLETION"
"""`offline`: no cluster is asked for words."""


def contexts(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The contexts of `kafkactl config`."""
    from kafkactl.operations.completion import context_words

    return _items(((word, "") for word in context_words()), incomplete)


def releases(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Releases of Kafka."""
    from kafkactl.operations.completion import release_words

    return _items(((word, "") for word in release_words()), incomplete)


def feature_levels(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """NAME=LEVEL."""
    from kafkactl.operations.completion import feature_words

    return _items(feature_words(_facts(ctx)), incomplete)


def features(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """NAME of a feature that is on."""
    from kafkactl.operations.completion import feature_names

    return _items(feature_names(_facts(ctx)), incomplete)


def nodes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The id of any node."""
    return _of_roles(ctx, incomplete, "brokers", "controllers")


def brokers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The id of a broker."""
    return _of_roles(ctx, incomplete, "brokers")


def controllers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The id of a controller."""
    return _of_roles(ctx, incomplete, "controllers")


def controller_list(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Ids of controllers with commas between: the last of them is completed."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",")
    found = _of_roles(ctx, last, "controllers", "brokers")
    for item in found:
        item.value = f"{before}{comma}{item.value}"
    return [item for item in found if item.value.rpartition(",")[2] not in named]


def topics(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The name of a topic."""
    from kafkactl.operations.completion import topic_words

    return _items(topic_words(_facts(ctx)), incomplete)


def register() -> None:
    """Have bash and fish complete by scripts of our own (`shell_scripts`), zsh by click's."""
    from click.shell_completion import add_completion_class

    from kafkactl.commands.framework.shell_scripts import BashCompletion, FishCompletion

    add_completion_class(BashCompletion)
    add_completion_class(FishCompletion)


def _of_roles(ctx: click.Context, incomplete: str, *roles: str) -> Items:
    from kafkactl.operations.completion import node_words

    return _items(node_words(_facts(ctx), *roles), incomplete)


def _facts(ctx: click.Context) -> dict[str, Any]:
    from kafkactl.commands.framework.connection import connection_in
    from kafkactl.operations.completion import cluster_facts

    return cluster_facts(**connection_in(ctx)._asdict(), mode=os.environ.get(MODE, ""))


def _items(words: Iterable[tuple[str, str]], incomplete: str) -> Items:
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(word, help=description or None) for word, description in words if word.startswith(incomplete)
    ]
