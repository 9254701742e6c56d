"""A node as its hooks need it, and a request to one of its hooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final, Protocol

from kafkactl.change.hooks.templates import LOCAL, MANUAL
from kafkactl.change.hooks.words import Value, Verb
from kafkactl.core.frozen import frozen

DEFAULT_TIMEOUT_S: Final = 300


@frozen
class Hooks:
    """Hooks of a node. `commands` are those of the template, replaced by those of the inventory, by verb; a verb that
    is missing is asked of the operator. `variables` are what commands may use in addition to the contract.
    """

    template: str = MANUAL
    commands: Mapping[Verb, tuple[str, ...]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    timeout_s: int = DEFAULT_TIMEOUT_S

    @property
    def is_local(self) -> bool:
        """Return True if the node's files are files of this machine."""
        return self.template == LOCAL


class HookNode(Protocol):
    """The part of an inventory's node that hooks use."""

    @property
    def id(self) -> int:
        """Return the node id."""
        ...

    @property
    def role_word(self) -> str:
        """Return the value of `{role}`."""
        ...

    @property
    def name(self) -> str:
        """Return the node as findings name it: `broker 2`."""
        ...

    @property
    def host(self) -> str:
        """Return the host."""
        ...

    @property
    def config(self) -> str:
        """Return the path of the node's configuration file on its host; a path here with the template `local`."""
        ...

    @property
    def hooks(self) -> Hooks:
        """Return the hooks."""
        ...


@frozen
class Request:
    """A request to a node's hook. `text` goes by stdin; `instruction` is for an operator, without a hook."""

    verb: Verb
    node: int
    phase: str
    seq: int
    instruction: str
    text: bytes = field(default=b"", repr=False)
    extra: Mapping[str, Value] = field(default_factory=dict)
