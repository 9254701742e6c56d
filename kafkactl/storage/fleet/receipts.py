"""The memory of an apply: which nodes of a plan were formatted, so that a blank disk is not taken for a new one.

What this file guards: a disk that was formatted and is blank again has lost data or was not mounted. The disk itself
cannot show, so `apply` writes a receipt next to the plan (`plan.json.receipts/node-3.json`) for every node it
formatted. A node with a receipt is formatted again only if the operator names the directory and the reason
(`--reformat 3:/disk1 --reason "disk replaced"`), and the receipt keeps that reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kafkactl.change.plan_document import number_in, table_in, tables_in, text_in
from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import parse_json
from kafkactl.core.safe_text import escaped

KIND = "storage.receipt"


@frozen
class Reformat:
    """A directory that was formatted again, when, and why."""

    directory: str
    time_ms: int
    reason: str


@frozen
class Receipt:
    """A node that was formatted by a plan. `directories` maps each path to its directory id (None: it has none)."""

    node_id: int
    cluster_id: str
    plan_sha256: str
    applied_ms: int
    directories: Mapping[str, str | None]
    reformats: tuple[Reformat, ...] = ()


def receipt_name(node_id: int) -> str:
    """Return the file name of the node's receipt in the plan's receipts folder."""
    return f"node-{node_id}.json"


def render_receipt(receipt: Receipt) -> bytes:
    """Return the receipt as JSON."""
    document = {
        "kind": KIND,
        "schema_version": 1,
        "node_id": receipt.node_id,
        "cluster_id": receipt.cluster_id,
        "plan_sha256": receipt.plan_sha256,
        "applied_ms": receipt.applied_ms,
        "directories": dict(receipt.directories),
        "reformats": [
            {"directory": again.directory, "time_ms": again.time_ms, "reason": again.reason}
            for again in receipt.reformats
        ],
    }
    return (escaped(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False)) + "\n").encode("utf-8")


def parse_receipt(data: bytes, *, file: str) -> Receipt:
    """Read a receipt. Raises InputError `receipt-damaged`: a guard that cannot be read must not be passed over."""
    try:
        document = parse_json(data)
        if not isinstance(document, dict) or (document.get("kind"), document.get("schema_version")) != (KIND, 1):
            raise ValueError(f"expected kind {KIND}, schema_version 1")
        return _receipt_from(document)
    except KeyError as error:
        raise InputError(f"{file} is not a receipt of kafkactl: it has no {error}", id="receipt-damaged") from None
    except ValueError as error:
        raise InputError(f"{file} is not a receipt of kafkactl: {error}", id="receipt-damaged") from None


def _receipt_from(document: Mapping[str, Any]) -> Receipt:
    directories = table_in(document, "directories")
    return Receipt(
        node_id=number_in(document, "node_id"),
        cluster_id=text_in(document, "cluster_id"),
        plan_sha256=text_in(document, "plan_sha256"),
        applied_ms=number_in(document, "applied_ms"),
        directories={path: None if id is None else text_in(directories, path) for path, id in directories.items()},
        reformats=tuple(
            Reformat(
                directory=text_in(again, "directory"),
                time_ms=number_in(again, "time_ms"),
                reason=text_in(again, "reason"),
            )
            for again in tables_in(document, "reformats")
        ),
    )
