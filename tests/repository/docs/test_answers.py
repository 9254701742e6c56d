"""schemas/answers/ is what the classes of the answers publish."""

from __future__ import annotations

import difflib
import itertools

from scripts import make_answers

SHOWN_LINES = 20


def test_published_schemas_are_those_of_the_classes() -> None:
    published = {path.name: path.read_text(encoding="utf-8") for path in make_answers.FOLDER.glob("*.json")}
    made = make_answers.documents()
    changes = itertools.chain.from_iterable(
        difflib.unified_diff(
            published.get(name, "").splitlines(), made.get(name, "").splitlines(), name, name, lineterm="", n=0
        )
        for name in sorted({*published, *made})
    )
    shown = "\n".join(itertools.islice(changes, SHOWN_LINES))
    assert not shown, f"an answer has changed; `{make_answers.COMMAND}` writes schemas/answers/ again:\n{shown}"
