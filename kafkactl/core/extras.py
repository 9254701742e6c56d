"""Advice for installing an extra of kafkactl: from the wheel of the release, never by a name on an index.

The owner of a name on an index decides what `pip install NAME` runs, and this advice is followed by root.
"""

from __future__ import annotations

from kafkactl._version import __version__


def install_advice(extra: str) -> str:
    """Return the command that installs an extra.

    >>> install_advice("pkcs12").endswith("-py3-none-any.whl[pkcs12]'")
    True
    """
    return f"pip install './kafkactl-{__version__}-py3-none-any.whl[{extra}]'"
