"""The invariant of `kafkactl.change.engine`, asserted on a run from the calls that it makes.

What the engine says of itself is not asked: journal, observations, plans and requests are intercepted where they leave
it. `CHECKED` counts the requests that were checked, so that a test can see that the checker was at work.
"""

from __future__ import annotations

from typing import Any

from kafkactl.change.engine import End, Engine, StepResult
from kafkactl.change.journal import DONE, END, FAILED, INTENT, WITHDRAWN, JournalFold
from kafkactl.core.findings import Outcome

CHECKED = {"requests": 0, "ends": 0}


class _SpiedJournal:
    """A journal whose entries the checker sees first written, then known."""

    def __init__(self, journal: Any, checker: EngineChecker) -> None:
        self._journal, self._checker = journal, checker

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append(self, entry: str, data: Any) -> Any:
        written = self._journal.append(entry, data)
        self._checker.written(entry, data, written.seq)
        return written


class EngineChecker:
    """Attached to one engine before it runs; numbers are those of the rules in the engine's docstring."""

    def __init__(self, engine: Engine[Any, Any, Any, Any]) -> None:
        self.journey = engine.journey
        flight = JournalFold().read(engine.journal.entries).in_flight
        self.open: int | None = None if flight is None else flight.seq
        self.at = 0  # moments are counted, one for each call that is seen
        self.observed_at = self.settled_at = self.sent_at = 0
        self.seen: Any = None
        self.planned: tuple[Any, Any] | None = None
        self.is_unknown = self.is_reached = False
        engine.journal = _SpiedJournal(engine.journal, self)
        for owner, name in ((engine, "saw"), (engine, "end"), *((self.journey, item) for item in ("plan", "send"))):
            setattr(owner, name, getattr(self, f"_{name}")(getattr(owner, name)))
        self._spy_on_verification()

    def _spy_on_verification(self) -> None:
        verify = self.journey.verify

        def spied(*given: Any) -> Any:
            found = verify(*given)
            self.is_reached = found.reached and found.result is StepResult.DONE
            return found

        self.journey.verify = spied  # type: ignore[method-assign]

    def _now(self) -> int:
        self.at += 1
        return self.at

    def written(self, entry: str, data: Any, seq: int) -> None:
        if entry == INTENT:
            assert self.open is None, f"3: intent {seq} while intent {self.open} is not settled"
            assert not self.is_unknown, f"5: intent {seq} after a step that is unknown"
            self.open = seq
        elif entry in (DONE, FAILED):
            assert data["of"] == self.open, f"3: {entry} of {data['of']}, in flight is {self.open}"
            if data.get("known") == WITHDRAWN:
                assert self.observed_at and not self.sent_at, "5: only what an earlier run left is withdrawn, once seen"
            else:
                self.settled_at = self._now()
            self.open = None
        elif entry == END and data["outcome"] == Outcome.UNKNOWN:
            self.is_unknown = True

    def _saw(self, saw: Any) -> Any:
        def spied(seen: Any) -> Any:
            self.seen, self.observed_at = seen, self._now()
            return saw(seen)

        return spied

    def _plan(self, plan: Any) -> Any:
        def spied(seen: Any) -> Any:
            made = plan(seen)
            self.planned = (seen, made)
            return made

        return spied

    def _send(self, send: Any) -> Any:
        def spied(ready: Any, seq: int) -> Any:
            assert self.open == seq, f"1: a request of intent {seq}, in the journal is {self.open}"
            assert not self.is_unknown, "5: a request after a step that is unknown"
            assert self.planned is not None, "2: a request without a plan"
            seen, plan = self.planned
            assert ready.seen is self.seen, "2: a request on an old observation"
            assert seen is self.seen, "2: a request whose plan is of an old observation"
            assert self.observed_at > self.settled_at, "2: no observation since the last step was settled"
            assert plan.outcome is Outcome.PLANNED, f"2: a request by a plan that is {plan.outcome}"
            first = self.journey.step_of(plan)
            assert self.journey.key(first) == self.journey.key(ready.step), f"2: {ready.step}, planned is {first}"
            CHECKED["requests"] += 1
            self.sent_at = self._now()
            return send(ready, seq)

        return spied

    def _end(self, end: Any) -> Any:
        def spied(*given: Any, **named: Any) -> End:
            ended: End = end(*given, **named)
            CHECKED["ends"] += 1
            if ended.outcome is Outcome.DONE and not self.is_reached:
                assert self.planned is not None and self.planned[0] is self.seen, "4: done without an observation"
                assert self.observed_at > self.sent_at, "4: done without an observation after the last request"
                assert self.planned[1].outcome is Outcome.NOTHING_TO_DO, "4: done, and the plan has steps left"
            if self.open is not None and self.sent_at:
                assert ended.outcome is Outcome.UNKNOWN, f"5: {ended.outcome} with intent {self.open} in flight"
            return ended

        return spied


def attach_to_every_engine() -> None:
    """Attach the checker to each engine that is made in this process."""
    usual = Engine.__init__

    def checked(self: Engine[Any, Any, Any, Any], *given: Any, **named: Any) -> None:
        usual(self, *given, **named)
        EngineChecker(self)

    Engine.__init__ = checked  # type: ignore[method-assign]
