"""The language of simulation scripts: one statement a line, read into values before anything runs.

Nodes are ids, or roles that are looked up when the statement runs: `leader`, `follower` (the live voter with the lowest
id that does not lead and has no name), and names given by `name NAME NODE`. docs/simulate.md lists the statements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from kafkactl.core.frozen import changed, frozen
from kafkactl.simulator.words import MAX_ID, NamedNode, Ref, Words, invalid_script

ROLES: Final = ("leader", "follower")
RELEASES: Final = {"3.7": "3.7", "3.9": "3.9", **dict.fromkeys(("4.0", "4.1", "4.2", "4.3", "4.4"), "4.x")}
MAX_VOTERS: Final = 15
MAX_OBSERVERS: Final = 30
MAX_APPENDED: Final = 10_000_000
RAISED: Final = 1_000_000  # by `quorum recover`, offset and epoch, unless it is asked for another number
ANSWERS: Final = (
    "NONE",
    "REQUEST_TIMED_OUT",
    "DUPLICATE_VOTER",
    "VOTER_NOT_FOUND",
    "UNSUPPORTED_VERSION",
    "INVALID_REQUEST",
    "NOT_LEADER_OR_FOLLOWER",
)
NODE_ROLES: Final = (
    "leader",
    "follower",
    "observer",
    "candidate",
    "prospective",
    "unattached",
    "resigned",
    "down",
)
INVARIANTS: Final = (
    "election-safety",
    "leader-append-only",
    "log-matching",
    "leader-completeness",
    "state-machine-safety",
    "monotonic-watermark",
    "majority-has-committed",
    "monotonic-epoch",
    "voter-sets-overlap",
    "one-vote-an-epoch",
    "no-truncation-below-watermark",
    "liveness",
)
CONFIGS: Final = (
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.election.backoff.max.ms",
    "controller.quorum.append.linger.ms",
    "controller.quorum.request.timeout.ms",
    "controller.quorum.retry.backoff.ms",
)


@frozen(kw_only=False)
class Condition:
    """Condition of an `expect` or `wait`: `kind`, whether it is negated, its comparison, and its value."""

    kind: str
    negated: bool = False
    relation: str = "="
    value: Any = None


@frozen
class Step:
    """A statement: its verb, its arguments in the order of the line, and where and how it was written."""

    verb: str
    args: tuple[Any, ...] = ()
    line: int = 0
    text: str = ""


@frozen
class Setup:
    """Initial quorum of a script; None is left to the options of the command."""

    voters: tuple[int, ...] | None = None
    observers: tuple[int, ...] = ()
    release: str | None = None
    is_static: bool | None = None
    configs: Mapping[str, int] | None = None


@frozen
class Script:
    """A script that was read: the quorum, the steps in order, and the nodes that they name by ids."""

    name: str
    setup: Setup
    steps: tuple[Step, ...]
    nodes: tuple[NamedNode, ...] = ()


def parse_script(text: str, name: str) -> Script:
    """Read a script. Raises InputError `invalid-script` with file, line and column of the first error."""
    setup = Setup()
    given: set[str] = set()
    steps: list[Step] = []
    nodes: list[NamedNode] = []
    names = set(ROLES)
    for line, written in enumerate(text.splitlines(), start=1):
        words = Words(written, line, names=names, file=name)
        if words.peek() is None:
            continue
        verb = words.one_of((*_SETUP, *_STEPS), "a statement")
        if verb in _SETUP:
            if steps:
                words.place = 0
                words.fail(f"{verb!r} describes the quorum and is expected before the first action")
            if verb in given:
                words.place = 0
                words.fail(f"{verb!r} is given a second time")
            given |= {verb} - {"config"}
            setup = _SETUP[verb](setup, words)
        else:
            steps.append(
                Step(verb=verb, args=_STEPS[verb](words), line=line, text=" ".join(written.split("#")[0].split()))
            )
            if verb == "name":
                names.add(steps[-1].args[0])
        words.end()
        nodes += words.named
    if not steps:
        Words("", text.count("\n") + 1, names=names, file=name).fail(
            "the script has no action; expected at least `run 10s`"
        )
    return Script(name=name, setup=setup, steps=tuple(steps), nodes=tuple(nodes))


def check_nodes(script: Script, known: Collection[int]) -> None:
    """Raise InputError `invalid-script` for the first node that is named and not simulated."""
    for node in script.nodes:
        if node.id not in known:
            listed = ", ".join(map(str, sorted(known)))
            reason = f"there is no node {node.id}: the nodes are {listed}"
            step = "Correct the line, or add the node with `voters` or `observers` (--voters, --observers)."
            raise invalid_script(script.name, node.line, node.column, reason, step)


def _voters(setup: Setup, words: Words) -> Setup:
    voters = ids_of(words, MAX_VOTERS)
    if both := set(voters) & set(setup.observers):
        words.place -= 1
        words.fail(f"node {min(both)} is an observer already")
    return changed(setup, voters=voters)


def ids_of(words: Words, most: int) -> tuple[int, ...]:
    """Read `3` as 1 to 3, or ids one by one, each once. Raise InputError `invalid-script`."""
    found: list[int] = []
    while words.peek() is not None:
        node = words.number("a node id", MAX_ID)
        if node in found:
            words.place -= 1
            words.fail(f"node {node} is listed twice")
        found.append(node)
    if not found:
        words.take("a number of nodes, or ids")
    if len(found) == 1:
        count = found[0]
        if not 1 <= count <= most:
            words.place -= 1
            words.fail(f"{count} nodes: expected 1 to {most}")
        return tuple(range(1, count + 1))
    if len(found) > most:
        words.fail(f"{len(found)} nodes: expected at most {most}")
    return tuple(found)


def _observers(setup: Setup, words: Words) -> Setup:
    found: list[int] = []
    while not found or words.peek() is not None:
        node = words.number("a node id", MAX_ID)
        if node in found or node in (setup.voters or ()):
            words.place -= 1
            words.fail(f"node {node} is a voter or an observer already")
        found.append(node)
    if len(found) > MAX_OBSERVERS:
        words.fail(f"{len(found)} observers: expected at most {MAX_OBSERVERS}")
    return changed(setup, observers=tuple(found))


def _release(setup: Setup, words: Words) -> Setup:
    return changed(setup, release=words.one_of(tuple(RELEASES), "a release"))


def _quorum(setup: Setup, words: Words) -> Setup:
    return changed(setup, is_static=words.one_of(("dynamic", "static"), "a kind of quorum") == "static")


def _config(setup: Setup, words: Words) -> Setup:
    name = words.one_of(CONFIGS, "a setting of the quorum")
    if name in (setup.configs or ()):
        words.place -= 1
        words.fail(f"{name!r} is given a second time")
    value = words.number("milliseconds", 3_600_000)
    return changed(setup, configs={**(setup.configs or {}), name: value})


_SETUP: Final[Mapping[str, Callable[[Setup, Words], Setup]]] = {
    "voters": _voters,
    "observers": _observers,
    "release": _release,
    "quorum": _quorum,
    "config": _config,
}


def _some_nodes(words: Words) -> tuple[Any, ...]:
    return words.nodes()


def _one_node(words: Words) -> tuple[Any, ...]:
    return (words.node(),)


def _recover(words: Words) -> tuple[Any, ...]:
    """Read `N` with the offset and epoch raised as `quorum recover` does, `N raise 0` without."""
    node = words.node()
    return (node, words.number("by how much offset and epoch are raised", MAX_ID) if words.accept("raise") else RAISED)


def _link(words: Words) -> tuple[Any, ...]:
    """Read `A B` and `A <-> B` as both ways, `A -> B` as one way, `A` as from and to all others."""
    from_node = words.node()
    if words.accept("->"):
        return (from_node, words.node(), False)
    words.accept("<->")
    return (from_node, words.node() if words.peek() is not None else None, True)


def _heal(words: Words) -> tuple[Any, ...]:
    return (None, None, True) if words.peek() is None else _link(words)


def _network(words: Words) -> tuple[Any, ...]:
    what = words.one_of(("delay", "loss", "duplicates"), "a property of the network")
    if what != "delay":
        return (what, words.percent("a share of the messages"))
    low = words.duration("a delay")
    high = words.duration("the longest delay") if words.accept("to") else low
    if high < low:
        words.place -= 1
        words.fail("the longest delay is shorter than the shortest")
    return (what, low, high)


def _disk(words: Words) -> tuple[Any, ...]:
    return (words.node(), words.duration("the time of a sync"))


def _clock(words: Words) -> tuple[Any, ...]:
    node = words.node()
    way = words.one_of(("fast", "slow"), "a drift")
    share = words.percent("a drift")
    if share > 500:
        words.place -= 1
        words.fail("a clock drifts by at most 50%")
    return (node, share if way == "fast" else -share)


def _append(words: Words) -> tuple[Any, ...]:
    return (1 if words.peek() is None else words.number("a number of records", MAX_APPENDED),)


def _name(words: Words) -> tuple[Any, ...]:
    name = words.new_name()
    return (name, words.node())


def _run(words: Words) -> tuple[Any, ...]:
    return (words.duration(),)


def _expect(words: Words) -> tuple[Any, ...]:
    return (_condition(words),)


def _wait(words: Words) -> tuple[Any, ...]:
    condition = _condition(words)
    words.one_of(("within",), "`within`")
    return (condition, words.duration())


def _nothing(_words: Words) -> tuple[Any, ...]:
    return ()


_STEPS: Final[Mapping[str, Callable[[Words], tuple[Any, ...]]]] = {
    "run": _run,
    "wait": _wait,
    "expect": _expect,
    "mark": _nothing,
    "name": _name,
    "settle": _run,
    "kill": _some_nodes,
    "crash": _some_nodes,
    "stop": _some_nodes,
    "start": _some_nodes,
    "pause": _some_nodes,
    "resume": _some_nodes,
    "wipe": _some_nodes,
    "recover": _recover,
    "move": _some_nodes,
    "snapshot": _some_nodes,
    "cut": _link,
    "heal": _heal,
    "network": _network,
    "disk": _disk,
    "clock": _clock,
    "append": _append,
    "add": _one_node,
    "remove": _one_node,
}


def _condition(words: Words) -> Condition:
    negated = words.accept("no") or words.accept("not")
    kind = words.one_of(tuple(_CONDITIONS), "a condition")
    return _CONDITIONS[kind](kind, negated, words)


def _leader(kind: str, negated: bool, words: Words) -> Condition:
    more = words.peek() not in (None, "within")
    return Condition(kind, negated, value=words.node() if more else None)


def _counted(kind: str, negated: bool, words: Words) -> Condition:
    return Condition(kind, negated, words.relation(), words.number("a number", MAX_ID))


def _timed(kind: str, negated: bool, words: Words) -> Condition:
    return Condition(kind, negated, words.relation(), words.duration())


def _set(kind: str, negated: bool, words: Words) -> Condition:
    found: list[Ref] = []
    while not found or words.peek() not in (None, "within"):
        found.append(words.node())
    return Condition(kind, negated, value=tuple(found))


def _bare(kind: str, negated: bool, _words: Words) -> Condition:
    return Condition(kind, negated)


def _answer(kind: str, negated: bool, words: Words) -> Condition:
    if negated and words.peek() in (None, "within"):
        return Condition(kind, negated)
    return Condition(kind, negated, value=words.one_of(ANSWERS, "an answer"))


def _role(kind: str, negated: bool, words: Words) -> Condition:
    node = words.node()
    return Condition(kind, negated, value=(node, words.one_of(NODE_ROLES, "a role")))


def _broken(kind: str, negated: bool, words: Words) -> Condition:
    if words.peek() in (None, "within"):
        return Condition(kind, negated)
    return Condition(kind, negated, value=words.one_of(INVARIANTS, "an invariant"))


_CONDITIONS: Final[Mapping[str, Callable[[str, bool, Words], Condition]]] = {
    "leader": _leader,
    "epoch": _counted,
    "elections": _counted,
    "failover": _timed,
    "voters": _set,
    "committed": _bare,
    "answer": _answer,
    "role": _role,
    "broken": _broken,
}
