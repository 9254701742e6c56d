"""Page of a command for people, as blocks: headings, fields, tables, findings, lines.

A page knows nothing of terminals. `plain_text.py` writes it for pipes and files, `terminal.py` for a screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kafkactl.commands.rendering.glyphs import in_locale
from kafkactl.core.frozen import frozen
from kafkactl.core.safe_text import visible
from kafkactl.core.wording import first_few


@frozen(kw_only=False)
class Word:
    """A piece of text with a tone: good, bad, warn, dim, strong or plain. Tone never carries meaning alone."""

    text: str
    tone: str = "plain"


Cell = str | int | Word | None


@frozen(kw_only=False)
class Heading:
    """A title over what follows."""

    text: Word


@frozen(kw_only=False)
class Lines:
    """Lines as they are."""

    lines: tuple[Word, ...]


@frozen(kw_only=False)
class Fields:
    """Names and values under each other."""

    rows: tuple[tuple[str, Word], ...]


@frozen(kw_only=False)
class Table:
    """Columns with a title each."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Word, ...], ...]


@frozen(kw_only=False)
class Groups:
    """Rows under titles: what belongs to one node, say. Columns line up over all groups."""

    groups: tuple[tuple[Word, tuple[tuple[Word, ...], ...]], ...]


@frozen(kw_only=False)
class Findings:
    """Findings in the shape of every answer (docs/reference/kinds.md)."""

    findings: tuple[Mapping[str, Any], ...]


Block = Heading | Lines | Fields | Table | Groups | Findings


class Page:
    """Page of blocks, in the order in which they are shown."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def heading(self, text: str, tone: str = "strong") -> None:
        """Add a title; `tone` is the rating of the result (good, bad, warn)."""
        self.blocks.append(Heading(_word(Word(text, tone))))

    def line(self, text: str | Word = "") -> None:
        """Add one line unchanged. Neighbouring lines stay together."""
        self._append(_word(text))

    def tabbed(self, text: str) -> None:
        """Add a line in the form of Kafka's tools with tabs, at which scripts split it."""
        self._append(Word("\t".join(map(_shown, text.split("\t")))))

    def _append(self, word: Word) -> None:
        if self.blocks and isinstance(self.blocks[-1], Lines):
            self.blocks[-1] = Lines((*self.blocks[-1].lines, word))
        else:
            self.blocks.append(Lines((word,)))

    def fields(self, rows: Iterable[tuple[str, Cell]]) -> None:
        """Print names and values; a value of None is left out."""
        kept = tuple((_shown(name), _word(value)) for name, value in rows if value is not None)
        if kept:
            self.blocks.append(Fields(kept))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
        """Add a table; nothing is shown without rows. None is shown as `-`."""
        kept = tuple(tuple(_word(cell) for cell in row) for row in rows)
        if kept:
            self.blocks.append(Table(tuple(map(_shown, columns)), kept))

    def groups(self, groups: Iterable[tuple[str | Word, Iterable[Sequence[Cell]]]]) -> None:
        """Print rows under titles, for tables with the same words on every row that would grow too wide."""
        kept = tuple(
            (_word(title), tuple(tuple(_word(cell) for cell in row) for row in rows)) for title, rows in groups
        )
        if kept:
            self.blocks.append(Groups(kept))

    def findings(self, findings: Iterable[Any]) -> None:
        """Print findings, the heaviest first; each a `Finding` or its `to_dict()`.

        One finding is printed for all subjects of which the same is said.
        """
        every = [_readable(finding if isinstance(finding, Mapping) else finding.to_dict()) for finding in findings]
        dicts = grouped(every)
        if dicts:
            weight = {"blocker": 0, "warning": 1, "info": 2}
            self.blocks.append(Findings(tuple(sorted(dicts, key=lambda finding: weight[finding["severity"]]))))


_SUBJECTS_SHOWN = 12
_DIRECTORY = "directory "
_PARTITION = "partition"
_ADDRESS = r"(?<![\w.\-])[\w.\-]+:\d{2,5}\b"  # compiled when it is first used
_HERE = "\0"  # the place of the subject in a text; no control character is left in one that is shown


def grouped(findings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return findings that are the same of several subjects as one of all of them, in the place of the first.

    The same is the same id, severity and text, but for the name of the subject and an address. Of findings that are
    alone by that, the number of the subject is left out as well: a number may be part of a level's name, and is then
    in the texts of all subjects.
    """
    together = _by_text(findings, _without_name)
    alone = [every[0] for every in together if len(every) == 1]
    places = {id(finding): at for at, finding in enumerate(every[0] for every in together)}
    several = [every for every in together if len(every) > 1]
    several += _by_text(alone, _alike)
    return [_as_one(every) for every in sorted(several, key=lambda every: places[id(every[0])])]


def _by_text(findings: Iterable[Mapping[str, Any]], plain: Callable[[str, str], str]) -> list[list[Mapping[str, Any]]]:
    """Return findings of one id, severity and text together; `plain` gets a text and the subject."""
    together: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for finding in findings:
        words = (plain(str(finding[name]), str(finding["subject"])) for name in ("message", "next_step"))
        together.setdefault((finding["id"], finding["severity"], *words), []).append(finding)
    return list(together.values())


def _as_one(findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = dict(findings[0])
    subjects = list(dict.fromkeys(str(finding["subject"]) for finding in findings))
    if len(subjects) == 1:
        return first
    return {**first, "message": first["message"] + _about_others(findings, subjects), "subject": _named(subjects)}


def _about_others(findings: Sequence[Mapping[str, Any]], subjects: Sequence[str]) -> str:
    """Return the end of a merged message; the first finding's message is unchanged, so that each verb agrees."""
    messages = [str(finding["message"]) for finding in findings]
    if len(set(messages)) == 1:
        return ""
    subjects = [_own_name(subject) for subject in subjects]
    others = subjects[1] if len(subjects) == 2 else f"the {len(subjects) - 1} others"
    own = {
        _with(message, _own_name(str(finding["subject"])), _HERE)
        for message, finding in zip(messages, findings, strict=True)
    }
    if len(own) == 1:
        return f" (the same for {others})"
    return f" (similar for {others})" if subjects[0] in messages[0] else f" ({subjects[0]}; similar for {others})"


def _own_name(subject: str) -> str:
    """Return the name of a subject that a page shows after the number of a check: `broker 1` of `C-14  broker 1`."""
    return subject.rpartition("  ")[2]


def _without_name(text: str, subject: str) -> str:
    """Return a text without the subject's name and without addresses."""
    return re.sub(_ADDRESS, _HERE, _with(text, _own_name(subject), _HERE))


def _alike(text: str, subject: str) -> str:
    """Return a text without what differs from node to node: its name, its number, its address."""
    number = subject.rpartition(" ")[2]
    text = _without_name(text, subject)
    return re.sub(rf"\b{number}\b", _HERE, text) if number.isdecimal() else text


def _with(text: str, subject: str, other: str) -> str:
    """Return a text with another word for its subject: `broker 1` is not the beginning of `broker 12`."""
    parts = re.split(rf"{re.escape(subject)}(?!\d)", text) if subject else [text]
    return other.join(parts)


def _named(subjects: Sequence[str]) -> str:
    """Return `brokers 1, 2, 3` for subjects of one kind, else one after the other."""
    shown = subjects[:_SUBJECTS_SHOWN]
    kinds = {subject.rpartition(" ")[0] for subject in shown}
    if all(subject.startswith(_DIRECTORY) for subject in shown):
        directories = [subject.removeprefix(_DIRECTORY) for subject in shown]
        return f"directories {first_few(directories, _SUBJECTS_SHOWN, count=len(subjects))}"
    if len(kinds) == 1 and all(subject.rpartition(" ")[2].isdecimal() for subject in shown) and kinds != {""}:
        numbers = [subject.rpartition(" ")[2] for subject in shown]
        return f"{kinds.pop()}s {first_few(numbers, _SUBJECTS_SHOWN, count=len(subjects))}"
    if kinds == {_PARTITION}:
        partitions = [item.removeprefix(f"{_PARTITION} ") for item in shown]
        return f"{_PARTITION}s {first_few(partitions, _SUBJECTS_SHOWN, count=len(subjects))}"
    return first_few(subjects, _SUBJECTS_SHOWN)


def _shown(text: str) -> str:
    """Return a text in one line for people, with signs that the operator's locale has."""
    return in_locale(visible(text))


def natural_widths(rows: Iterable[Sequence[Word]]) -> list[int]:
    """Return the width of each column at which nothing is wrapped."""
    return [max(len(cell.text) for cell in column) for column in zip(*rows, strict=True)]


def _word(cell: Cell) -> Word:
    if isinstance(cell, Word):
        return Word(_shown(cell.text), cell.tone)
    return Word("-", "dim") if cell is None else Word(_shown(str(cell)))


def _readable(finding: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: _shown(finding[name]) for name in ("id", "subject", "message", "next_step")}
    return {**finding, **texts}
