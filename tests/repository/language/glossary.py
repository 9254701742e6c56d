"""Words that texts for readers avoid, each with the plain term that replaces it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final

# What is banned is a sense and not a word: `behind` of a follower that lags and `counts` as a plural stay usable.
BANNED: Final = {
    r"\b(told|tells)\b": "reported, shows, says",
    r"\banew\b": "again, from scratch",
    r"\b(nobody|somebody|anybody|whoever)\b": "no node, another operator or process, any client that",
    r"\bin office\b": "active",
    r"\b(go|goes|gone|going|went) on (with|from|at|as|until|without)\b": "resumes, continues",
    r"\b(hold|holds|held|holding)( [\w`/-]+){0,3} against\b": "compares with",
    r"\b(stands|stood|standing) (still|in|at|on|there|here|beside|before|for|besides)\b": "is in, does not advance",
    r"\bas (it|they|he) (stands?|stood)\b": "unchanged",
    r"\b(way|ways) (back|forward)\b": "rollback, forward plan",
    r"\bby (itself|themselves)\b": "automatically",
    r"\b(beside|besides)\b": "next to, in addition to",
    r"\bseen twice\b|\bin two looks\b|\b(second|last|next|each|every) look\b": "observation",
    r"\b(comes?|came) of (it|this|that|them)\b": "the result",
    r"\b(take|takes|taken|took) away\b|\btake[ns]? back\b": "remove, undo",
    r"\b(put|puts) in(to)? (its|their) place\b": "install",
    r"\b(play|plays|played|playing)\b": "simulate",
    r"\bbegun and left\b": "interrupted",
    r"(?<!there )(?<!There )(?<!where )\b(is|are|was|were) no (?!(longer|later|older|more than|op)\b)": "is not a",
    r"\bcounts? for nothing\b|\bcounts (as|until|here|silently)\b": "takes effect, is ignored",
    r"\bwants\b": "requires",
    r"\b(speaks?|spoke|spoken) (with|to|otherwise)\b": "connects to",
    r"\bends? (itself|themselves)\b|\b(dies|died|to die)\b": "exits, fails",
    r"\bfor good\b": "permanently",
    r"\bfor ever\b": "indefinitely",
    r", for (it|they|that|this|there|what|who|nothing|only|then|all|these|their) ": "because",
    r"\b(house|harbour|doorman|moon)\b": "code base, adapters, limit",
    r"\bthe law\b": "invariant, rule",
    r"\b(himself|herself|him)\b": "the operator",
    r"\b(vouch|vouches|heed|heeds|ails)\b": "signs, uses",
    r"\botherwise than\b": "differently from",
}
_ANY: Final = re.compile("|".join(f"(?:{pattern})" for pattern in BANNED), re.IGNORECASE)
_WORDS: Final = {re.compile(pattern, re.IGNORECASE): use for pattern, use in BANNED.items()}

# Names of code only: they say less than the term of the field would.
_IN_NAMES: Final = {
    re.compile(rf"\b({words})\b", re.IGNORECASE): use
    for words, use in {
        "sights?|glances?": "observation, sample",
        "situations?": "what it holds: a state, a context",
        "troubles?": "finding, problem, damage",
        "wish|wishes": "request, change, goal",
    }.items()
}

# A message is read in a log collector, apart from its subject: its first word names what it is about.
PRONOUN: Final = re.compile(
    r"(its?|they|their|he|she)\b"
    r"|(this|that|these|those) (is|are|was|were|has|have|had|does|do|did|can|cannot|may|would|will)\b",
    re.IGNORECASE,
)


@functools.cache  # the same names are given in hundreds of files
def banned_words(text: str) -> tuple[tuple[str, str], ...]:
    """Return each banned phrase in a text, with what to say instead."""
    if _ANY.search(text) is None:
        return ()
    return tuple((found[0], use) for pattern, use in _WORDS.items() for found in pattern.finditer(text))


def banned_in_names(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word that names of code avoid in addition, with what to say instead."""
    for pattern, use in _IN_NAMES.items():
        for found in pattern.finditer(text):
            yield found[0], use
