"""jsonschema without the grammar of IRIs, until one is checked: building it takes 1.5 s of the processor.

No schema of ours has an IRI; that of a bill of materials has.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_GRAMMAR = "rfc3987_syntax"


def _is_valid_syntax(rule: str, text: str) -> bool:
    from rfc3987_syntax import is_valid_syntax

    return bool(is_valid_syntax(rule, text))


def _without_grammar() -> ModuleType:
    if _GRAMMAR in sys.modules or find_spec(_GRAMMAR) is None:
        return import_module("jsonschema")
    stand_in = ModuleType(_GRAMMAR)
    stand_in.__dict__["is_valid_syntax"] = _is_valid_syntax
    sys.modules[_GRAMMAR] = stand_in
    try:
        return import_module("jsonschema")
    finally:
        del sys.modules[_GRAMMAR]


_without_grammar()
import jsonschema  # noqa: E402 # which is loaded

__all__ = ["jsonschema"]
