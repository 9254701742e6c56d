"""Warnings on standard error about exposed secrets and traffic; errors with `--strict-security`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding

_REPORTED: Final = "kafkactl.exposure"


def tell_exposure(findings: Iterable[Finding]) -> None:
    """Warn of each once, with its id, if a person reads.

    Raises RefusedError, before anything is sent, if the operator is strict.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.commands.rendering import output

    context = click.get_current_context(silent=True)
    reported: set[str] = set() if context is None else context.meta.setdefault(_REPORTED, set())
    found = tuple(finding for finding in findings if finding.message not in reported)
    reported.update(finding.message for finding in found)
    if found and current_settings().strict_security:
        raise _refused(found)
    if current_settings().output != "table" and not sys.stderr.isatty():
        return  # a script reads standard error as one error object; --strict-security is for scripts
    for finding in found:
        output.say(f"warning: {finding.message} ({finding.id})", "warn")


def _refused(found: tuple[Finding, ...]) -> Exception:
    from kafkactl.core.errors import RefusedError
    from kafkactl.kafka.api.exposure import every

    return RefusedError(
        f"refused by --strict-security: {every(found)}",
        id=found[0].id,
        next_step=" ".join(dict.fromkeys(finding.advice for finding in found)),
    )
