"""The shape of an answer of the dry run, from the scenario that fills it to the page that shows it.

Values that have a class of their own (`Change`, `Counts`, `Loss`, `ServerError`) are in it as they are; JSON is made of
them when it is printed. The published schema is generated from commands/models/dryrun.py; a test compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from kafkactl.dryrun.brokers.worst import Loss
    from kafkactl.dryrun.controller.appended import Appended
    from kafkactl.dryrun.prediction import Change, Counts, ServerError


class BeforeAfter(TypedDict):
    """A number of the quorum before and after."""

    before: int
    after: int


class Members(TypedDict):
    """Node ids before and after."""

    before: list[int]
    after: list[int]


class Result(TypedDict, total=False):
    """The answer about one partition."""

    topic: str
    partition: int | None
    error_code: int
    error_name: str
    message: str | None


Feature = TypedDict(
    "Feature",
    {
        "name": str,
        "from": int,
        "to": int,
        "kind": str,
        "verdict": str,
        "accepted_by_kafka": bool | None,
        "server_error": "ServerError | None",
        "reversible": bool,
        "consequences": list[str],
        "way_back": str | None,
    },
)


class Step(TypedDict, total=False):
    """A step of a rolling restart, of a reassignment, or of a change of levels; what is not about it is null."""

    number: int | None
    broker: int | None
    verdict: str | None
    partitions: Counts | None
    worst: list[Change] | None
    records_appended: int | None
    topic: str | None
    partition: int | None
    completes: bool | None
    replicas_after: list[int] | None
    adding_after: list[int] | None
    removing_after: list[int] | None
    features: dict[str, int] | None
    type: str | None


class TopicPartition(TypedDict):
    """A partition by name."""

    topic: str
    partition: int


class DifferenceDict(TypedDict):
    """What a starting node gets wrong."""

    from_offset: int
    part: str
    key: str
    change: str
    record: str


class LogSize(TypedDict):
    """The log now and after the days that were asked for."""

    bytes: int
    records: int
    span_ms: int
    bytes_per_day: int
    records_per_day: int
    bytes_written_after: int
    bytes_kept_after: int


class SnapshotSize(TypedDict):
    """A snapshot of the state."""

    bytes: int
    records: int
    per_day: int


class Load(TypedDict):
    """How long a controller takes to start with this log."""

    seconds: float
    seconds_after: float


class ElectionDict(TypedDict):
    """How long a quorum is without a leader: as `simulator.study.Electing`."""

    release: str
    cause: str
    runs: int
    elected: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    longest_ms: float | None


class SecondFailureDict(TypedDict):
    """What a second failure did in the middle of a step: as `simulator.study.SecondFailure`."""

    release: str
    step: int
    action: str
    id: int | None
    failed: int | None
    runs: int
    goes_on: int
    recovers: int
    stuck: int
    longest_gap_ms: float | None


class SimulationDict(TypedDict):
    """What the simulator of quorums says: as `simulator.study.Study`."""

    runs: int
    seed: int
    elections: list[ElectionDict]
    second_failures: list[SecondFailureDict]


class Effects(TypedDict, total=False):
    """What would change. A scenario gives the fields that it is about; in an answer all others are null or empty."""

    partitions: Counts | None
    changes: list[Change]
    changes_total: int
    records_appended: Appended | None
    majority: BeforeAfter | None
    tolerates: BeforeAfter | None
    features: list[Feature]
    results: list[Result]
    steps: list[Step]
    server_error: ServerError | None
    order: list[int] | None
    worst: list[Loss] | None
    sets: int | None
    stranded: list[TopicPartition] | None
    completes: bool | None
    records_at_once: int | None
    voters: Members | None
    alive: Members | None
    counts: dict[str, int] | None
    state: dict[str, int] | None
    image_sha256: str | None
    differences: list[DifferenceDict] | None
    starts: list[int] | None
    log: LogSize | None
    snapshot: SnapshotSize | None
    controller_load: Load | None
    batches: int | None
    seconds: float | None
    simulation: SimulationDict | None


class PredictionDict(TypedDict):
    """The part of `dryrun.prediction` that does not depend on where the log came from."""

    scenario: str
    input: dict[str, Any]
    verdict: str
    findings: list[dict[str, Any]]
    effects: Effects
    assumptions: list[str]


class ReplicaDict(TypedDict):
    """One of several logs of a cluster."""

    path: str
    end_offset: int
    last_epoch: int
    is_replayed: bool


class ClusterDict(TypedDict):
    """Which cluster it is, and where it was read from."""

    paths: list[str]
    cluster: str | None
    cluster_id: str | None


class Source(ClusterDict):
    """What was read. Offsets are -1 where there are no records."""

    first_offset: int
    last_offset: int
    committed_offset: int | None
    snapshot_offset: int | None
    records: int
    replicas: list[ReplicaDict]


class Earlier(TypedDict):
    """A scenario that was simulated before."""

    scenario: str
    input: dict[str, Any]
    verdict: str


class Frame(TypedDict):
    """What each answer says of the log: what read it, where it is from, and what was simulated before."""

    engine: str
    source: Source
    after: list[Earlier]


class Answer(Frame, PredictionDict):
    """`dryrun.prediction` as it is printed."""

    details: str | None


class ReportDict(Frame):
    """`dryrun.report`."""

    verdict: str
    html: str | None
    details: str | None
    predictions: list[PredictionDict]
