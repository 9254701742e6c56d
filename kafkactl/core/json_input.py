"""JSON that others write: read in one way, and what is wrong with it said in one way.

The words name line and column and what was expected there, and repeat nothing of the text: a file that was given by
mistake may hold secrets. What Python's parser takes beyond JSON (RFC 8259) is refused: NaN, Infinity, and numbers that
no double holds. A key that stands twice in one object is refused where `unique_keys` asks for it; else the last counts.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

_WORDS: Final = {
    "Expecting value": "expected a value",
    "Expecting property name enclosed in double quotes": "expected a key in double quotes",
    "Expecting ':' delimiter": "expected a colon behind the key",
    "Expecting ',' delimiter": "expected a comma or the end of the list or object",
    "Extra data": "expected the end of the text",
    "Unterminated string starting at": "the text in quotes that begins here has no end",
    "Invalid control character at": "expected an escape such as \\n in the place of a control character",
    "Invalid \\escape": "expected an escape that JSON has",
    "Illegal trailing comma before end of object": "expected a key in double quotes behind the comma",
    "Illegal trailing comma before end of array": "expected a value behind the comma",
}

_BLANKS: Final = " \t\r\n"  # of JSON; Python strips others, too
_DIGITS: Final = "expected four hexadecimal digits behind \\u"


class JsonInputError(ValueError):
    """A text is not JSON; the text states where and what was expected."""


def parse_json(
    data: bytes | str, *, unique_keys: bool = False, any_number: bool = False, is_first_of_several: bool = False
) -> Any:
    """Return the value of a JSON text in UTF-8. Raises JsonInputError with words such as `line 3, column 7: expected a
    value`.

    Numbers with a fraction or an exponent become float, others int. `any_number` takes NaN and infinite numbers, too:
    for a text of which one value may be wrong without the others. `is_first_of_several` reads the first value and
    leaves out what follows it.
    """
    text = _text(data)
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique if unique_keys else None,
        parse_constant=None if any_number else _no_constant,
        parse_float=None if any_number else _finite,
    )
    try:
        if is_first_of_several:
            return decoder.raw_decode(text, len(text) - len(text.lstrip(_BLANKS)))[0]
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise _explained(error, text) from None
    except JsonInputError:
        raise
    except ValueError:  # of int(), which bounds the digits because of their time (CVE-2020-10735)
        raise JsonInputError("a number has more digits than can be read") from None
    except RecursionError:
        raise JsonInputError("lists and objects stand in each other too deeply") from None


def _text(data: bytes | str) -> str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JsonInputError(f"byte {error.start} is not UTF-8") from None


def _explained(error: json.JSONDecodeError, text: str) -> JsonInputError:
    reason = error.msg.removesuffix(": ")
    expected = _WORDS.get(reason, _DIGITS if reason.startswith("Invalid \\u") else "expected JSON")
    where = f"line {error.lineno}, column {error.colno}"
    return JsonInputError(f"{'the text ends at ' if error.pos >= len(text.rstrip()) else ''}{where}: {expected}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        met: set[str] = set()
        twice = next(name for name, _ in pairs if name in met or met.add(name))  # type: ignore[func-returns-value]
        raise JsonInputError(f"the key {twice!r} stands twice in one object")
    return table


def _no_constant(word: str) -> NoReturn:
    raise JsonInputError(f"{word} is not a number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise JsonInputError("a number is larger than any that can be read")
    return number
