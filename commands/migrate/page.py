"""`migrate status`, `plan` and `rollback` for people."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.glyphs import TONE_OF_SEVERITY, glyph
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.wording import counted

_TONES = {"planned": "strong", "refused": "bad", "nothing-to-do": "good"}
_SEEN = {True: "yes", False: "no", None: "?"}
_LAST = "M11"
_LONG = 140
_ON_BOARD = 6  # findings; behind them come nodes, which are to be seen, too


def status_page(page: Page, answer: Mapping[str, Any]) -> None:
    """The state, its evidence, what is next."""
    page.heading(f"{answer['state']}: {answer['state_words']}", _tone(answer))
    page.line(answer["why"])
    _both_sides(page, answer)
    _brokers(page, answer["observed"]["brokers"])
    _controllers(page, answer["observed"]["controllers"])
    gates = [gate for gate in answer["gates"] if _severity(gate) != "info"]
    page.heading(_gate_words(answer["state"], is_open=not gates))
    page.findings(gates)
    told = {_key(gate) for gate in gates}
    page.findings([finding for finding in answer["findings"] if _key(finding) not in told])
    step = answer["next_action"]
    if step is not None:
        page.line(Word(f"Next: {step['action']} {step['target']}", "strong"))
        page.line(f"because {step['why']}; done when {step['gate']}")


def board_page(page: Page, answer: Mapping[str, Any]) -> None:
    """The same on one screen, for a view that is drawn again and again: what calls for somebody comes first."""
    page.line(Word(f"{answer['state']}: {answer['state_words']}", _tone(answer)))
    page.line(f"{time.strftime('%H:%M:%S', time.localtime(answer['time_ms'] / 1000))}  {answer['why']}")
    journal, step = answer["journal"], answer["next_action"]
    if journal is not None:
        words = f"the journal says {journal['state'] or 'nothing'}"
        words += f"; under way: {journal['pending']}" if journal["pending"] else ""
        page.line(Word(words, "bad" if answer["agrees"] is False and not journal["pending"] else "plain"))
    if step is not None and not (journal and journal["pending"]):  # else somebody is at it
        page.line(Word(f"Next: {step['action']} {step['target']}", "strong"))
    _troubles(page, answer)
    page.fields(_facts(answer))
    _controllers(page, answer["observed"]["controllers"])
    _brokers(page, answer["observed"]["brokers"])


def _troubles(page: Page, answer: Mapping[str, Any]) -> None:
    """What stands in the way or went wrong, a line each, the heaviest first."""
    found = {
        _key(finding): finding for finding in (*answer["gates"], *answer["findings"]) if _severity(finding) != "info"
    }
    heavy = sorted(found.values(), key=lambda finding: _severity(finding) != "blocker")
    if heavy:
        page.line()
    for finding in heavy[:_ON_BOARD]:
        severity = _severity(finding)
        text = f"{glyph(severity)} {finding['subject']}: {finding['message']}"
        short = text if len(text) <= _LONG else f"{text[:_LONG].rpartition(' ')[0]} {glyph('more')}"
        page.line(Word(short, TONE_OF_SEVERITY[severity]))
    if len(heavy) > _ON_BOARD:
        page.line(Word(f"{glyph('more')} and {len(heavy) - _ON_BOARD} more", "dim"))


def _tone(answer: Mapping[str, Any]) -> str:
    return "good" if answer["state"].startswith("M") else "bad"


def _gate_words(state: str, *, is_open: bool) -> str:
    if state == _LAST:
        return "The migration is over; what is left to do"
    return "The gate to the next state is open" if is_open else "Conditions not yet met for the next state"


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
    if journal is not None:
        page.table(
            ("", "observed", "journal"),
            [
                ("state", seen["state"], Word(journal["state"] or "-", "plain" if answer["agrees"] else "bad")),
                ("under way", None, journal["pending"]),
            ],
        )
    page.fields(_facts(answer))


def _facts(answer: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What is one for the whole cluster."""
    seen = answer["observed"]
    holder, memory, lag = seen["controller"], seen["migration_znode"], seen["dual_write"]
    held = f"{holder['held_by']} {holder['id']}" if holder["id"] is not None else holder["held_by"]
    return [
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
        ("driver's lock", None if answer["driver_lock"] is None else answer["driver_lock"]["words"]),
        ("all on KRaft for", None if seen["soak"] is None else seen["soak"]["words"]),
    ]


def _brokers(page: Page, brokers: list[Mapping[str, Any]]) -> None:
    page.table(
        ("broker", "runs as", "file", "znode", "registered", "tag 3", "observer"),
        [
            (
                broker["id"],
                broker["mode"] or (Word("down", "bad") if broker["alive"] is False else None),
                broker["file"],
                _seen(broker["znode"]),
                _registered(broker),
                _seen(broker["tag"]),
                _seen(broker["observer"]),
            )
            for broker in brokers
        ],
    )


def _controllers(page: Page, controllers: list[Mapping[str, Any]]) -> None:
    page.table(
        ("controller", "alive", "leads", "ready", "state"),
        [
            (
                controller["id"],
                _seen(controller["alive"]),
                _seen(controller["leader"]),
                _seen(controller["ready"]),
                controller["zk_migration_state"],
            )
            for controller in controllers
        ],
    )


def _registered(node: Mapping[str, Any]) -> Word:
    if not node["registered"]:
        return _seen(node["registered"])
    words = "migrating" if node["migrating"] else "kraft"
    return Word(f"{words}, fenced" if node["fenced"] else words, "bad" if node["fenced"] else "plain")


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
                step["number"],
                Word(
                    f"{step['action']} {step['target']}{_file(step)}{', asks first' if step['barrier'] else ''}",
                    "warn" if step["barrier"] else "plain",
                ),
                Word(step["state"], "good" if step["state"] == "done" else "plain"),
                step["gate"],
            )
            for step in answer["steps"]
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


# --- questions that an observation does not answer ---------------------------------------------------------------


def unknowns(page: Page, findings: list[Mapping[str, Any]]) -> None:
    """A line for each question, and the words that accept them."""
    if not findings:
        return
    page.heading("Unknown: the observation does not tell")
    page.table(("check", "about", "why"), [
        (finding["evidence"]["check"], finding["subject"].partition(" ")[2], finding["evidence"]["unknown"])
        for finding in findings
    ])  # fmt: skip
    names = " ".join(
        f"--accept {number}" for number in dict.fromkeys(finding["evidence"]["number"] for finding in findings)
    )
    page.line(Word(f"Look yourself, then: {names}", "dim"))


def is_unknown(finding: Mapping[str, Any]) -> bool:
    """Whether a finding is a question that the observation does not answer."""
    return "unknown" in finding["evidence"] and "number" in finding["evidence"]


# --- a run -------------------------------------------------------------------------------------------------------

_ROWS = 12
_STEP_TONES = {"done": "good", "failed": "bad", "unknown": "warn", "asked": "warn"}


def drive_page(page: Page, answer: Mapping[str, Any]) -> None:
    """How a run ended: what stops it before what is left, and every step only where it is short or asked for (-v)."""
    outcome, state = str(answer["outcome"]), answer["state"]
    words = f", {answer['state_words']}" if state else ""
    page.heading(f"{outcome}: {state or 'no state'}{words}", _OUTCOMES.get(outcome, "warn"))
    shows_all = current_settings().verbose or outcome == "planned"
    steps = answer["steps"]
    taken = [step for step in steps if step["state"] != "pending"]
    _steps(page, steps if shows_all else taken if len(taken) <= _ROWS else [act for act in taken if _is_odd(act)])
    if not shows_all:
        _counted(page, steps, taken)
    findings = answer["findings"]
    page.findings([finding for finding in findings if not is_unknown(finding)])
    unknowns(page, [finding for finding in findings if is_unknown(finding)])
    if answer["next_action"]:
        page.line(answer["next_action"])
    if answer["journal"]:
        page.fields([("journal", answer["journal"])])


def _steps(page: Page, steps: list[Mapping[str, Any]]) -> None:
    page.table(
        ("", "step", "state", "done when"),
        [
            (
                step["number"],
                f"{step['action']} {step['target']}{_file(step)}",
                Word(step["state"], _STEP_TONES.get(step["state"], "plain")),
                step["gate"],
            )
            for step in steps
        ],
    )


def _is_odd(step: Mapping[str, Any]) -> bool:
    return str(step["state"]) != "done"


def _counted(page: Page, steps: list[Mapping[str, Any]], taken: list[Mapping[str, Any]]) -> None:
    """Steps of which no row is shown, as numbers."""
    done = [str(act["action"]) for act in taken if not _is_odd(act)]
    if len(taken) > _ROWS:
        kinds = ", ".join(f"{action} {done.count(action)}" for action in dict.fromkeys(done))
        page.line(f"{len(done)} steps done: {kinds}")
    left = [step for step in steps if step["state"] == "pending"]
    if left:
        first = f"{left[0]['action']} {left[0]['target']}{_file(left[0])}"
        page.line(f"{counted(len(left), 'step')} left, the next: {first}")
    if left or len(taken) > _ROWS:
        page.line(Word("-v shows every step", "dim"))


_OUTCOMES = {"done": "good", "nothing-to-do": "good", "refused": "bad", "failed": "bad"}
