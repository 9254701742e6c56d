"""Choice of a campaign's inputs for the tree: few and small ones that reach all code that any input reaches."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from tests.campaigns.fuzz.target import CORPUS, Errors, Feed, Target, execute

MOST_FILES, MOST_BYTES, MOST_BYTES_OF_ALL = 40, 4096, 32 * 1024
_OURS = ("/kafkactl/", "/commands/", "<kafkactl")


def keep_corpus(target: Target, grown: Path) -> int:
    """Write the choice to the tree; how many files it has. What lies there with an end (`plan.json`) stays."""
    feed, seeds = target.make()
    covered = set().union(*(steps(feed, target.declared, seed) for seed in (*seeds, *_sound(target))))
    files = [path.read_bytes() for path in (*target.corpus, *grown.glob("*")) if not path.suffix]
    folder = CORPUS / target.name
    chosen = choose(feed, target.declared, files, covered)
    for path in target.corpus:
        if not path.suffix:
            path.unlink()
    for content in chosen:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)
    return len(target.corpus)


def _sound(target: Target) -> Iterable[bytes]:
    return (path.read_bytes() for path in target.corpus if path.suffix)


def choose(feed: Feed, declared: Errors, files: Iterable[bytes], covered: set[Any]) -> list[bytes]:
    """Return inputs that each take a step which no smaller one takes, and which are not `covered`; the small ones
    first."""
    chosen: list[bytes] = []
    left = MOST_BYTES_OF_ALL
    for content in sorted(set(files), key=lambda each: (len(each), each)):
        if len(content) > min(MOST_BYTES, left) or len(chosen) == MOST_FILES:
            break
        try:
            taken = steps(feed, declared, content)
        except Exception:  # what fails is kept as a failure, and not here
            continue
        if taken - covered:
            covered |= taken
            chosen.append(content)
            left -= len(content)
    return chosen


def steps(feed: Feed, declared: Errors, data: bytes) -> set[Any]:
    """Return the steps from line to line in our code that reading an input takes, and the id of its error."""
    found: set[Any] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        name = frame.f_code.co_filename
        if not any(part in name for part in _OURS):
            return None
        before = 0

        def line(frame: FrameType, event: str, _: object) -> Any:
            nonlocal before
            if event == "line":
                found.add((name, before, frame.f_lineno))
                before = frame.f_lineno
            return line

        return line

    sys.settrace(trace)
    try:
        id = execute(feed, declared, data)
    finally:
        sys.settrace(None)
    return found | {id}
