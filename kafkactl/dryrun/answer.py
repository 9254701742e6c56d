"""The shape of an answer of the dry run, from the scenario that fills it to the page that shows it.

Values that have a class of their own (`Change`, `Counts`, `Loss`, `ServerError`) are in it as they are; JSON is made of
them when it is printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

if TYPE_CHECKING:
    from kafkactl.core.errors import ErrorAnswer
    from kafkactl.dryrun.brokers.worst_loss import Loss
    from kafkactl.dryrun.controller.appended_records import Appended
    from kafkactl.dryrun.prediction import Change, Counts, ServerError, Verdict

# JSON of a class that is made before the answer is printed, because the page and a report read it.
FindingJson = Annotated[dict[str, Any], "kafkactl.core.findings:Finding"]
SimulationJson = Annotated[dict[str, Any], "kafkactl.simulator.study:Study"]


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
        "kind": Literal["upgrade", "safe-downgrade", "unsafe-downgrade", "no-op"],
        "verdict": "Verdict",
        "accepted_by_kafka": bool | None,
        "server_error": "ServerError | None",
        "reversible": bool,
        "consequences": list[str],
        "way_back": str | None,
    },
)
Feature.__doc__ = "One feature of the change."


class Step(TypedDict, total=False):
    """A step of a rolling restart, of a reassignment, or of a change of levels."""

    number: int | None
    broker: int | None
    """The broker that is down in this step."""
    verdict: Verdict | None
    """While it is down."""
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
    """Difference of a starting node's state."""

    from_offset: int
    """Offset at which the replay begins: 0, or the end of a checkpoint."""
    part: str
    key: str
    change: Literal["added", "removed", "changed"]
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
    """Time of a controller's start with this log."""

    seconds: float
    seconds_after: float


class Effects(TypedDict, total=False):
    """Effects of a prediction; fields that a scenario does not use are None or empty."""

    partitions: Counts | None
    changes: list[Change]
    """The partitions that change, the worst first; the first 1,000."""
    changes_total: int
    records_appended: Appended | None
    majority: BeforeAfter | None
    tolerates: BeforeAfter | None
    features: list[Feature]
    results: list[Result]
    steps: list[Step]
    server_error: ServerError | None
    order: list[int] | None
    """Brokers of a rolling restart, in their order."""
    worst: list[Loss] | None
    """The worst sets of brokers, the worst first."""
    sets: int | None
    """Number of searched sets."""
    stranded: list[TopicPartition] | None
    """Partitions that stay without a leader."""
    completes: bool | None
    """True if every move of a reassignment ends."""
    records_at_once: int | None
    voters: Members | None
    alive: Members | None
    counts: dict[str, int] | None
    """Records by type."""
    state: dict[str, int] | None
    image_sha256: str | None
    differences: list[DifferenceDict] | None
    """The first 1,000 of each start."""
    starts: list[int] | None
    log: LogSize | None
    snapshot: SnapshotSize | None
    controller_load: Load | None
    batches: int | None
    """Number of batches in which a copy from ZooKeeper hands its records over, as Kafka counts."""
    seconds: float | None
    """Estimated time of the copy in s."""
    simulation: SimulationJson | None
    """Result of `controllers --simulate`."""


class PredictionDict(TypedDict):
    """A scenario of a report; fields as in `dryrun.prediction`."""

    scenario: str
    input: dict[str, Any]
    verdict: Verdict
    findings: list[FindingJson]
    effects: Effects
    assumptions: list[str]


class ReplicaDict(TypedDict):
    """An of several logs of a cluster."""

    path: str
    end_offset: int
    """The first offset that a starting node would not have from it."""
    last_epoch: int
    is_replayed: bool
    """True if the answer is based on this log; the others were compared with it."""


class ClusterDict(TypedDict):
    """Cluster of an answer, and the source of its log."""

    paths: list[str]
    cluster: str | None
    """The name by --cluster-of."""
    cluster_id: str | None


class Source(ClusterDict):
    """Source of a prediction. Offsets are -1 if there are no records."""

    first_offset: int
    """Offset of the first record of the log, before the snapshot if it is earlier."""
    last_offset: int
    committed_offset: int | None
    """The last offset that is known to be committed."""
    snapshot_offset: int | None
    """The end offset of the snapshot that the replay began with."""
    records: int
    """Number of records in the whole log, those before the snapshot included."""
    replicas: list[ReplicaDict]
    """The logs that were compared; none if there is but one."""


class Earlier(TypedDict):
    """A scenario that was simulated before."""

    scenario: str
    input: dict[str, Any]
    verdict: Verdict


class Frame(TypedDict):
    """Facts about the log in each answer: its reader, its source, and the events simulated before."""

    engine: Literal["local", "spark"]
    source: Source
    after: list[Earlier]
    """Events simulated before, in order."""


class Answer(Frame, PredictionDict):
    """`dryrun.prediction` as it is printed."""

    details: str | None
    """The folder with the tables of --details."""


class ReportDict(Frame):
    """`dryrun.report`."""

    verdict: Verdict
    """The heaviest."""
    html: str | None
    """The page that was written."""
    details: str | None
    """The folder with the tables of --details, one below it for each scenario."""
    predictions: list[PredictionDict]


class PrintedPrediction(Answer):
    """Predictions of every scenario of `dryrun`."""

    kind: Literal["dryrun.prediction"]
    schema_version: Literal[1]
    """Rises when a field goes or changes its meaning."""


class PrintedReport(ReportDict):
    """`dryrun report`: every scenario that needs no argument, simulated on one log."""

    kind: Literal["dryrun.report"]
    schema_version: Literal[1]
    """Rises when a field goes or changes its meaning."""


class NoAnswer(ClusterDict):
    """A cluster that could not be answered."""

    error: ErrorAnswer


class PredictionsDict(TypedDict):
    """The answer `dryrun.predictions`."""

    engine: Literal["local", "spark"]
    verdict: Verdict
    """The heaviest."""
    predictions: list[PrintedPrediction]
    failed: list[NoAnswer]


class ReportsDict(TypedDict):
    """The answer `dryrun.reports`."""

    engine: Literal["local", "spark"]
    verdict: Verdict
    """The heaviest."""
    reports: list[PrintedReport]
    failed: list[NoAnswer]
