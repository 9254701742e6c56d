"""`migrate status`, `plan` and `rollback` for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkactl.commands.page import Page, Word

_TONES = {"planned": "strong", "refused": "bad", "nothing-to-do": "good"}
_SEEN = {True: "yes", False: "no", None: "?"}
_LAST = "M11"


def status_page(page: Page, answer: Mapping[str, Any]) -> None:
    """The state, its evidence, what is next."""
    is_broken = not answer["state"].startswith("M")
    page.heading(f"{answer['state']}: {answer['state_words']}", "bad" if is_broken else "good")
    page.line(answer["why"])
    _both_sides(page, answer)
    _brokers(page, answer["observed"]["brokers"])
    page.table(
        ("controller", "alive", "leads", "ready", "state"),
        [
            (one["id"], _seen(one["alive"]), _seen(one["leader"]), _seen(one["ready"]), one["zk_migration_state"])
            for one in answer["observed"]["controllers"]
        ],
    )
    gates = [one for one in answer["gates"] if _severity(one) != "info"]
    page.heading(_gate_words(answer["state"], is_open=not gates))
    page.findings(gates)
    told = {_key(one) for one in gates}
    page.findings([one for one in answer["findings"] if _key(one) not in told])
    step = answer["next_action"]
    if step is not None:
        page.line(Word(f"Next: {step['action']} {step['target']}", "strong"))
        page.line(f"because {step['why']}; done when {step['gate']}")


def _gate_words(state: str, *, is_open: bool) -> str:
    if state == _LAST:
        return "The migration is over; what is left to do"
    return "The gate to the next state is open" if is_open else "What stands before the next state"


def _key(finding: Any) -> tuple[str, str]:
    """Two findings with the same are told once."""
    if isinstance(finding, Mapping):
        return str(finding["id"]), str(finding["subject"])
    return finding.id, finding.subject


def _severity(finding: Any) -> str:
    """Of a `Finding` or of its dict."""
    return str(finding["severity"] if isinstance(finding, Mapping) else finding.severity)


def _both_sides(page: Page, answer: Mapping[str, Any]) -> None:
    seen, journal = answer["observed"], answer["journal"]
    holder, memory, lag = seen["controller"], seen["migration_znode"], seen["dual_write"]
    held = f"{holder['held_by']} {holder['id']}" if holder["id"] is not None else holder["held_by"]
    if journal is not None:
        page.table(
            ("", "observed", "journal"),
            [
                ("state", seen["state"], Word(journal["state"] or "-", "plain" if answer["agrees"] else "bad")),
                ("under way", None, journal["pending"]),
            ],
        )
    page.fields(
        [
            ("migration state", seen["zk_migration_state"]),
            ("/controller", f"{held}{' (ephemeral)' if holder['ephemeral'] else ''}"),
            ("/controller_epoch", seen["controller_epoch"]),
            (
                "/migration",
                memory["says"] if memory["metadata_offset"] is None else f"offset {memory['metadata_offset']}",
            ),
            ("log end", None if seen["log"] is None else f"{seen['log']['end_offset']}, epoch {seen['log']['epoch']}"),
            ("ZooKeeper behind", None if lag["lag"] is None or answer["state"] == _LAST else f"{lag['lag']} records"),
            ("controllers", seen["quorum"]),
        ]
    )


def _brokers(page: Page, brokers: list[Mapping[str, Any]]) -> None:
    page.table(
        ("broker", "runs as", "file", "znode", "registered", "tag 3", "observer"),
        [
            (
                one["id"],
                one["mode"] or (Word("down", "bad") if one["alive"] is False else None),
                one["file"],
                _seen(one["znode"]),
                _registered(one),
                _seen(one["tag"]),
                _seen(one["observer"]),
            )
            for one in brokers
        ],
    )


def _registered(one: Mapping[str, Any]) -> Word:
    if not one["registered"]:
        return _seen(one["registered"])
    words = "migrating" if one["migrating"] else "kraft"
    return Word(f"{words}, fenced" if one["fenced"] else words, "bad" if one["fenced"] else "plain")


def _seen(value: bool | None) -> Word:
    return Word(_SEEN[value], "dim" if value is None else "plain")


def plan_page(page: Page, answer: Mapping[str, Any]) -> None:
    """The steps forward or back."""
    outcome = str(answer["outcome"])
    page.heading(f"{outcome}: from {answer['state']}, {answer['state_words']}", _TONES.get(outcome, "strong"))
    page.table(
        ("", "step", "state", "done when"),
        [
            (
                one["number"],
                Word(f"{one['action']} {one['target']}{_file(one)}", "warn" if one["barrier"] else "plain"),
                Word(one["state"], "good" if one["state"] == "done" else "plain"),
                one["gate"],
            )
            for one in answer["steps"]
        ],
    )
    prediction = answer.get("prediction")
    if prediction is not None:
        page.heading("The copy")
        page.fields(
            [
                ("outcome", prediction["outcome"]),
                ("records", prediction["records"]),
                ("batches", prediction["batches"]),
                ("bytes", prediction["bytes"]),
                ("seconds, about", prediction["seconds"]),
            ]
        )
        page.table(("record", "count"), list(prediction["by_type"].items()))
    for sentence in answer["consequences"]:
        page.line(sentence)
    page.findings(answer["findings"])


def _file(step: Mapping[str, Any]) -> str:
    return "" if step["file"] is None else f" ({step['file']})"
