"""Shell completion of values that need no cluster: contexts, releases, ids; the `shell_complete` of parameters.

Here are words that no cluster is asked for; those of a cluster are in `completing_live`.

The functions stand in modules of commands, so nothing here is imported before a word is completed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Items = list[CompletionItem[str]]


def contexts(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the contexts of `kafkactl config`."""
    from kafkactl.cluster.api.completion import context_words

    return items_of(((word, "") for word in context_words()), incomplete)


def releases(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the releases of Kafka."""
    from kafkactl.cluster.api.completion import release_words

    return items_of(((word, "") for word in release_words()), incomplete)


def findings(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the ids of findings and questions that `--accept` of a migration accepts."""
    from kafkactl.migration.api.accepting import accept_words

    return items_of(((word, "") for word in accept_words()), incomplete)


def refusals(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Return the ids of refusals that `--accept` of a rollback accepts."""
    from kafkactl.migration.api.accepting import rollback_words

    return items_of(((word, "") for word in rollback_words()), incomplete)


def register() -> None:
    """Install completion: our own scripts (`shell_scripts`) for bash and fish, click's for zsh."""
    from click.shell_completion import add_completion_class

    from kafkactl.commands.framework.shell_scripts import BashCompletion, FishCompletion

    add_completion_class(BashCompletion)
    add_completion_class(FishCompletion)


def items_of(words: Iterable[tuple[str, str]], incomplete: str) -> Items:
    """Return the words that begin like the incomplete one, each with its description."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(word, help=description or None) for word, description in words if word.startswith(incomplete)
    ]
