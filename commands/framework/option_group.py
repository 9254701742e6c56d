"""Options that several commands share and that reach their functions as one value.

class DriveArguments(NamedTuple):
    gate_interval_ms: int
    accept_observed: bool

drive_options = option_group("arguments", DriveArguments, click.option("--gate-interval", ...), ...)

@leaf_command("run", ...)
@drive_options
def command(*, arguments: DriveArguments) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def option_group(
    name: str, kind: Any, *options: Callable[[Any], Any], make: Callable[..., Any] | None = None
) -> Callable[[Function], Function]:
    """Give a function the parameter `name`, a value of the NamedTuple `kind`.

    Each of `options` gives a parameter that is a field of `kind`; a field with a default need not be given. `make` is
    called in place of `kind` if a value takes more than its fields. A function that has no parameter `name` (a
    group's, in front of whose verb the options may stand) gets none.
    """

    def decorate(function: Function) -> Function:
        takes_value = name in function.__annotations__

        @wraps(function)
        def call(**parameters: Any) -> Any:
            given = {field: parameters.pop(field) for field in kind._fields if field in parameters}
            if takes_value:
                parameters[name] = (make or kind)(**given)
            return function(**parameters)

        # The fields may come from another group, which looks here whether they are requested.
        others = {other: value for other, value in function.__annotations__.items() if other != name}
        call.__annotations__ = {**others, **kind.__annotations__}
        decorated: Any = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate
