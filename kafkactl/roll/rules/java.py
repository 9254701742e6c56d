"""The Java release in the output of `java -version`."""

from __future__ import annotations

import re
from typing import Final

_QUOTED: Final = re.compile(r'version "([^"\n]{1,64})"')
_PLAIN: Final = re.compile(r"\d{1,3}(?:\.\d{1,4}){0,3}")
_NUMBERS: Final = re.compile(r"\d{1,4}")


def java_release(text: str | None) -> int | None:
    """Return the Java release that a text names: 8 for `1.8.0_402`, 17 for `17.0.9`; None if it names none.

    >>> java_release('openjdk version "17.0.9" 2023-10-17'), java_release("openjdk 1.8.0_402")
    (17, 8)
    """
    if text is None:
        return None
    quoted = _QUOTED.search(text)
    found = quoted[1] if quoted is not None else next(iter(_PLAIN.findall(text[:400])), "")
    numbers = [int(digits) for digits in _NUMBERS.findall(found)]
    if not numbers:
        return None
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
