"""The right to change a cluster, asked for before anything is sent: Kafka checks it only when the request arrives."""

from __future__ import annotations

from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import NOT_AUTHORISED, Finding, blocker
from kafkactl.kafka.client import Client
from kafkactl.protocol.schema.rights import grant_step, right_of


def change_denied(client: Client, request: str) -> Finding | None:
    """Return a blocker if this user may not send a request that changes the cluster; None if it may, or if no node
    says whether it may."""
    try:
        is_allowed = client.cluster().may_alter
    except UnreachableError as error:
        is_allowed = False if error.id == NOT_AUTHORISED else None
    if is_allowed is not False:
        return None
    login = client.login
    return blocker(
        NOT_AUTHORISED,
        "cluster",
        f"{login.name} may not change the cluster: {right_of(request)} is missing",
        grant_step(request, login),
        request=request,
        operation=right_of(request).operation,
    )
