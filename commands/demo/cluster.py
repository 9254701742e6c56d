"""The cluster that the scenes of the demo are shown on: three controllers that vote, three brokers, three topics."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final, Literal, Protocol, Self

from kafkactl.commands.demo.quorum import RANGES, FakeQuorum, directory_of
from kafkactl.commands.demo.topics import cluster_records

CONTROLLERS: Final[tuple[int, int, int]] = (1, 2, 3)
_METADATA_VERSION: Final = 30  # Kafka 4.3


class Cluster(Protocol):
    """Cluster of a scene. `kind` is `fake` or `kafka`; `release` the release of Kafka, if it is one."""

    @property
    def kind(self) -> Literal["fake", "kafka"]:
        """Return `fake` or `kafka`."""
        ...

    @property
    def release(self) -> str | None:
        """Return the release of Kafka that runs; None for the fake cluster."""
        ...

    @property
    def controllers(self) -> tuple[int, int, int]:
        """Return the three voters: the leader first; the last may be stopped."""
        ...

    @property
    def address(self) -> str:
        """Return `host:port` of the leader."""
        ...

    def directory_id(self, controller: int) -> str:
        """Return the directory id of a voter."""
        ...

    def stop_controller(self, controller: int) -> None:
        """End a controller as a crash does; nothing if it has ended before."""
        ...


class FakeCluster:
    """A `Cluster` of fake controllers; the brokers are only in their log. It answers while the block lasts."""

    kind: Literal["fake", "kafka"] = "fake"
    release = None
    controllers = CONTROLLERS

    def __init__(self) -> None:
        self._quorum = FakeQuorum(
            controllers=len(CONTROLLERS),
            voters=CONTROLLERS,
            metadata_version=_METADATA_VERSION,
            records=cluster_records(_METADATA_VERSION, RANGES),
        )
        self._stopped: set[int] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._quorum)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def address(self) -> str:
        """Return the address of controller 1, which leads."""
        return str(self._quorum.address(CONTROLLERS[0]))

    def directory_id(self, controller: int) -> str:
        """Return the directory id; see `Cluster`."""
        return str(directory_of(controller))

    def stop_controller(self, controller: int) -> None:
        """Stop a controller; see `Cluster`."""
        if controller not in self._stopped:
            self._stopped.add(controller)
            self._quorum.kill(controller)
