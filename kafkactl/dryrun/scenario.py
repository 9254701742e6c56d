"""Base of a scenario: a typed input, a function that simulates it on a state, and its description for the command.

Each module of `kafkactl.dryrun.scenarios` is one scenario: a class `Input`, a function `simulate` and a `SCENARIO`.
That file, a row of the table in `commands/dryrun/__init__.py` and a paragraph of docs/dryrun.md is all that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum, auto
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkactl.core.frozen import frozen
from kafkactl.core.wording import first_few, plural

if TYPE_CHECKING:  # a description is read for `--help`, too
    from kafkactl.core.findings import Finding
    from kafkactl.dryrun.brokers.worst_loss import Loss
    from kafkactl.dryrun.controller.facts import Facts
    from kafkactl.dryrun.engine.loader import Started
    from kafkactl.dryrun.engine.local import Loaded
    from kafkactl.dryrun.prediction import Prediction
    from kafkactl.metadata.image.model import Image

TITLE_NAMES: Final = 4
"""The number of names that a title has at most; the others are counted."""


def few_numbered(noun: str, ids: Iterable[Any]) -> str:
    """Return the noun with the first ids, as a title has them.

    >>> few_numbered("broker", [3, 1])
    'brokers 3, 1'
    """
    listed = [str(number) for number in ids]
    return f"{plural(noun, len(listed))} {first_few(listed, TITLE_NAMES)}"


@frozen
class Observed:
    """Observation of a live quorum when the scenario was asked.

    `not_alive` has every voter, and every node that is to be added, that was not seen to follow the leader, each with
    what was seen of it instead, as a clause about the node. `cluster_id` is None if no node reported it.
    """

    leader_id: int
    leader_epoch: int | None
    cluster_id: str | None
    not_alive: Mapping[int, str]


@frozen
class ScenarioContext:
    """The state that a scenario is simulated on: a log read to its end, and facts that are not in the log.

    `observed` is the live quorum of that cluster, if it was asked. `started` are the states of nodes that start from
    this log, read for the scenario `restart` only. `notes` are findings about the sources, whatever the scenario.
    `losses` are the worst sets of brokers that were asked for, and the number of all sets, if they were searched by
    tasks.
    """

    loaded: Loaded
    facts: Facts
    cluster_id: str | None = None
    started: tuple[Started, ...] = ()
    notes: tuple[Finding, ...] = ()
    observed: Observed | None = None
    losses: tuple[list[Loss], int] | None = None

    @property
    def image(self) -> Image:
        """Return the state at the end of the log."""
        return self.loaded.image

    @property
    def voters(self) -> tuple[int, ...]:
        """Return the ids of the voters, as far as the log contains them."""
        known = self.image.voters
        return self.loaded.voters if known is None else tuple(voter.node_id for voter in known)


class OptionsError(ValueError):
    """Options of a command line that do not go together; the message reports which, as a sentence."""


class Document(NamedTuple):
    """A file that an option names: its path as it was given, and its text."""

    path: str
    text: str


@frozen(kw_only=False)
class Option:
    """An option of `kafkactl dryrun NAME`, the parameter `name` of `from_options`.

    Form and default are those of the field of `Input` that it gives (`field`, default: of that name), if there is
    one. `least` is the smallest number allowed, `document` what the file is that the option names.
    """

    name: str
    help: str
    flag: str | None = None  # default: the name with dashes
    field: str | None = None
    metavar: str | None = None
    document: str | None = None
    default: Any = None
    least: int = 0
    is_required: bool = False
    is_repeatable: bool = False


class Needs(StrEnum):
    """Input that a scenario needs: the state, the log itself (size, records), or the state of starting nodes."""

    STATE = auto()
    LOG = auto()
    STARTS = auto()


@frozen
class ReportPart:
    """The part of a scenario in `dryrun report`: its place, and the inputs with which it is simulated on a state."""

    place: int
    inputs: Callable[[Image], Sequence[Any]]


@frozen
class Scenario:
    """A scenario and what is shown of it. `input` is its class `Input`, a frozen value with the fields of `input` in an
    answer. `title` makes a sentence about what happens from the `input` of an answer. `about` is what a report says it
    shows, `help` the text of `--help`.

    `effects` are the fields of `effects` that it fills in addition to partitions, changes and records. `from_options`
    makes the `Input` from the parameters of its options (default: the class itself) and raises OptionsError. `at` gives
    the last offset to be read, if the input names one. `watches` gives the nodes to be watched in addition to the
    voters, for a scenario that depends on which nodes are alive now.
    """

    name: str
    title: Callable[[Mapping[str, Any]], str]
    help: str
    about: str
    input: Any
    simulate: Callable[[ScenarioContext, Any], Prediction]
    examples: tuple[str, ...]
    options: tuple[Option, ...] = ()
    effects: tuple[str, ...] = ()
    from_options: Callable[..., Any] | None = None
    report: ReportPart | None = None
    needs: Needs = Needs.STATE
    at: Callable[[Any], int | None] = lambda _: None
    watches: Callable[[Any], frozenset[int]] | None = None

    def input_of(self, asked: Mapping[str, Any]) -> Any:
        """Return the `Input` of the `input` fields in an answer. Raise InputError `invalid-scenario-input`."""
        from kafkactl.dryrun.fields import input_from

        return input_from(self.input, self.name, asked)
