"""The few symbols we draw with, and what replaces them if the locale is not UTF-8."""

from __future__ import annotations

from typing import Final

from kafkactl.commands.framework.settings import utf8_glyphs

_UTF8 = {"blocker": "✖", "warning": "!", "info": "·", "good": "✔", "bad": "✖", "next": "→", "more": "…"}
_ASCII = {"blocker": "x", "warning": "!", "info": "-", "good": "+", "bad": "x", "next": "->", "more": "..."}

TONE_OF_SEVERITY = {"blocker": "bad", "warning": "warn", "info": "dim"}

# ANSI codes and rich styles of the tones of kafkactl.commands.rendering.page.Word.
ANSI = {"good": "32", "bad": "1;31", "warn": "33", "dim": "2", "strong": "1"}
RICH = {"good": "green", "bad": "bold red", "warn": "yellow", "dim": "dim", "strong": "bold"}


_SIGNS: Final = str.maketrans(
    {"→": "->", "…": "...", "–": "-", "—": "-", "·": "-", "×": "x", "≤": "<=", "≥": ">=", "«": '"', "»": '"'}
)


def in_locale(text: str) -> str:
    """Return a text with the signs of our own sentences in ASCII, if the locale is not UTF-8."""
    return text if text.isascii() or utf8_glyphs() else text.translate(_SIGNS)


def glyph(name: str) -> str:
    """Return the symbol of this name for the operator's locale."""
    return (_UTF8 if utf8_glyphs() else _ASCII)[name]
