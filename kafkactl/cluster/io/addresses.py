"""The addresses of the start, compared before a command shows what one of them returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.errors import InputError, RefusedError

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client


def check_addresses(client: Client) -> None:
    """Make sure that the bootstrap nodes belong to one cluster, for a command that only reads.

    Raises InputError `bootstrap-of-several-clusters` as `Client.check_one_cluster` raises RefusedError for a change.
    """
    try:
        client.check_one_cluster()
    except RefusedError as error:
        raise InputError(error.message, id=error.id, cause=error.cause, next_step=error.next_step) from error
