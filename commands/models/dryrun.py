"""The answer of `kafkactl dryrun`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Error, Finding, Shape, Simulation

Verdict = Literal["ok", "degraded", "refused", "unavailable", "wedged", "unknown"]


class Replica(Shape):
    """One of several logs of a cluster."""

    path: str
    end_offset: int = Field(description="The first offset that a starting node would not have from it.")
    last_epoch: int
    is_replayed: bool = Field(description="Whether the answer is based on this one; the others were compared with it.")


class Source(Shape):
    """What was read. Offsets are -1 where there are no records."""

    paths: list[str]
    cluster: str | None = Field(description="The name by --cluster-of.")
    cluster_id: str | None
    first_offset: int = Field(description="Of the first record of the log, before the snapshot if it is earlier.")
    last_offset: int
    committed_offset: int | None = Field(description="The last offset that is known to be committed.")
    snapshot_offset: int | None = Field(description="The end offset of the snapshot that the replay began with.")
    records: int = Field(description="In the whole log, those before the snapshot included.")
    replicas: list[Replica] = Field(description="The logs that were compared; none where there is but one.")


class Earlier(Shape):
    """A scenario that was simulated before."""

    scenario: str
    input: dict[str, Any]
    verdict: Verdict


class Counts(Shape):
    """Partitions of the cluster after the event."""

    total: int
    leader_changes: int = Field(description="Whose leader is another one than before, none included.")
    offline: int = Field(description="Without a leader.")
    under_min_isr: int = Field(description="Fewer in sync than min.insync.replicas asks for, leaderless ones included.")
    at_min_isr: int


class Alternative(Shape):
    """One way in which a partition may end."""

    leader: int
    isr: list[int]
    elr: list[int]
    last_known_elr: list[int]


class Change(Shape):
    """A partition that changes. -1 means no leader."""

    topic: str
    partition: int
    leader_before: int
    leader_after: int
    isr_before: list[int]
    isr_after: list[int]
    elr_after: list[int]
    last_known_elr_after: list[int]
    leader_epoch_after: int
    recovering_after: bool = Field(description="Whether the leader is not known to have been in sync.")
    replicas_after: list[int]
    certain: bool = Field(description="Whether there is but one outcome.")
    alternatives: list[Alternative] = Field(description="Every outcome, where the order of events decides.")


class AppendedRecord(Shape):
    """A record as `log dump` writes it."""

    offset: int
    epoch: int
    timestamp_ms: int
    kind: Literal["record"]
    type: str
    version: int
    data: dict[str, Any]


class Appended(Shape):
    """What the controller would append to the log."""

    count: int
    bytes: int = Field(description="With their batches, one for each operation.")
    by_type: dict[str, int]
    records: list[AppendedRecord] | None = Field(description="Only with --records.")


class BeforeAfter(Shape):
    """A number of the quorum before and after."""

    before: int
    after: int


class ServerError(Shape):
    """What the controller would answer instead of doing it."""

    code: int
    name: str
    message: str | None


class Result(Shape):
    """The answer about one partition."""

    topic: str
    partition: int | None
    error_code: int
    error_name: str
    message: str | None


class Feature(Shape):
    """One feature of the change."""

    name: str
    from_: int = Field(alias="from")
    to: int
    kind: Literal["upgrade", "safe-downgrade", "unsafe-downgrade", "no-op"]
    verdict: Verdict
    accepted_by_kafka: bool | None
    server_error: ServerError | None
    reversible: bool
    consequences: list[str]
    way_back: str | None


class Step(Shape):
    """A step of a rolling restart, of a reassignment, or of a change of levels."""

    number: int | None
    broker: int | None = Field(description="The broker that is down in this step.")
    verdict: Verdict | None = Field(description="While it is down.")
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


class Loss(Shape):
    """A set of brokers and what its loss does, in the worst order."""

    brokers: list[int]
    loses_majority: bool = Field(description="Whether the quorum has no majority without them.")
    offline: int = Field(description="Partitions that lose their leader.")
    under_min_isr: int = Field(description="Partitions that keep a leader and fall under min.insync.replicas.")
    leader_changes: int


class TopicPartition(Shape):
    """A partition by name."""

    topic: str
    partition: int


class Members(Shape):
    """Node ids before and after."""

    before: list[int]
    after: list[int]


class Difference(Shape):
    """What a starting node gets wrong."""

    from_offset: int = Field(description="Where its replay begins: 0, or behind a checkpoint.")
    part: str
    key: str
    change: Literal["added", "removed", "changed"]
    record: str


class LogSize(Shape):
    """The log now and after the days that were asked for."""

    bytes: int
    records: int
    span_ms: int
    bytes_per_day: int
    records_per_day: int
    bytes_written_after: int
    bytes_kept_after: int


class SnapshotSize(Shape):
    """A snapshot of the state."""

    bytes: int
    records: int
    per_day: int


class Load(Shape):
    """How long a controller takes to start with this log."""

    seconds: float
    seconds_after: float


class Effects(Shape):
    """What would change; fields that a scenario is not about are null or empty."""

    partitions: Counts | None
    changes: list[Change] = Field(description="The partitions that change, the worst first; the first 1,000.")
    changes_total: int
    records_appended: Appended | None
    majority: BeforeAfter | None
    tolerates: BeforeAfter | None
    features: list[Feature]
    results: list[Result]
    steps: list[Step]
    server_error: ServerError | None
    order: list[int] | None = Field(description="Brokers of a rolling restart, in their order.")
    worst: list[Loss] | None = Field(description="The worst sets of brokers, the worst first.")
    sets: int | None = Field(description="How many sets were searched.")
    stranded: list[TopicPartition] | None = Field(description="Partitions that stay without a leader.")
    completes: bool | None = Field(description="Whether every move of a reassignment ends.")
    records_at_once: int | None
    voters: Members | None
    alive: Members | None
    counts: dict[str, int] | None = Field(description="Records by type.")
    state: dict[str, int] | None
    image_sha256: str | None
    differences: list[Difference] | None = Field(description="The first 1,000 of each start.")
    starts: list[int] | None
    log: LogSize | None
    snapshot: SnapshotSize | None
    controller_load: Load | None
    batches: int | None = Field(description="In which a copy from ZooKeeper hands its records over, as Kafka counts.")
    seconds: float | None = Field(description="How long the copy would take, roughly.")
    simulation: Simulation | None = Field(description="Of `controllers --simulate`.")


class DryrunPrediction(Answer):
    """Every scenario of `dryrun`."""

    kind: Literal["dryrun.prediction"]
    scenario: str
    engine: Literal["local", "spark"]
    source: Source
    after: list[Earlier] = Field(description="What was simulated before, in order.")
    input: dict[str, Any]
    verdict: Verdict
    findings: list[Finding]
    effects: Effects
    assumptions: list[str]
    details: str | None = Field(description="The folder with the tables of --details.")


class ReportedPrediction(Shape):
    """One scenario of a report; fields as in `dryrun.prediction`."""

    scenario: str
    input: dict[str, Any]
    verdict: Verdict
    findings: list[Finding]
    effects: Effects
    assumptions: list[str]


class DryrunReport(Answer):
    """`dryrun report`: every scenario that needs no argument, simulated on one log."""

    kind: Literal["dryrun.report"]
    engine: Literal["local", "spark"]
    source: Source
    after: list[Earlier] = Field(description="What was simulated before, in order.")
    verdict: Verdict = Field(description="The heaviest.")
    html: str | None = Field(description="The page that was written.")
    details: str | None = Field(description="The folder with the tables of --details, one below it for each scenario.")
    predictions: list[ReportedPrediction]


class NoAnswer(Shape):
    """A cluster that could not be answered."""

    paths: list[str]
    cluster: str | None
    cluster_id: str | None
    error: Error


class DryrunPredictions(Answer):
    """A scenario on the logs of several clusters: one answer each (with -o jsonl one a line, and nothing else)."""

    kind: Literal["dryrun.predictions"]
    engine: Literal["local", "spark"]
    verdict: Verdict = Field(description="The heaviest.")
    predictions: list[DryrunPrediction]
    failed: list[NoAnswer]


class DryrunReports(Answer):
    """`dryrun report` on the logs of several clusters."""

    kind: Literal["dryrun.reports"]
    engine: Literal["local", "spark"]
    verdict: Verdict = Field(description="The heaviest.")
    reports: list[DryrunReport]
    failed: list[NoAnswer]
