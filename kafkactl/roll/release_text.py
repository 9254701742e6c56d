"""The release in the output of a hook: a version, or the name of an image or jar with one."""

from __future__ import annotations

import re
from typing import Final

_VERSION: Final = re.compile(r"(?<![\w.])v?(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)(?![\w.])")


def named_release(text: str | None) -> str | None:
    """Return the one release that a text names: `4.3.1` of `apache/kafka:4.3.1`; None for none, or several."""
    found = set() if text is None else set(_VERSION.findall(text.replace("_2.13-", " ").replace(".jar", " ")))
    return found.pop() if len(found) == 1 else None
