"""The copy of a ZooKeeper into KRaft as a prediction: what it would write, and whether it would come to an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import changed
from kafkactl.dryrun.answer import Source
from kafkactl.dryrun.controller.appended_records import Operation
from kafkactl.dryrun.controller.facts import facts_of
from kafkactl.dryrun.engine.local import Loaded, load
from kafkactl.dryrun.prediction import Prediction, Verdict, findings_for
from kafkactl.metadata.image.model import Image
from kafkactl.migration.api.copy import CopySource, predicted_log, read_copy_source
from kafkactl.migration.copy.forecast import CopyForecast, CopyOutcome, forecast_copy
from kafkactl.migration.copy.rules import copy_rules, rules_seen
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.protocol.catalog.releases import Release, find_release, newest_with_zookeeper
from kafkactl.protocol.log.frame import MetadataRecord

ABOUT: Final = "What the copy from ZooKeeper to KRaft writes; the cluster below is the one after it."
_SECRETS: Final = ("password.encoder.secret", "password.encoder.old.secret")
_MIN_BATCH: Final = "zookeeper.metadata.migration.min.batch.size"


class PredictedCopy(NamedTuple):
    """The prediction, what was read for it as in `source` of the answer, and the cluster after the copy."""

    found: Prediction
    source: Source
    image: Image


def predict_copy(
    source: str,
    *,
    chroot: str | None = None,
    release: str | None = None,
    config: str | None = None,
    static: Mapping[str, str] | None = None,
    timeout_ms: float = 3_600_000,
    engine: str = "local",
    master: str | None = None,
) -> PredictedCopy:
    """Predict the copy of the tree in `source`: a ZooKeeper (`host:port/chroot`), a saved tree, or the folder of an
    observation.

    `release` is that of the controllers (default: the observed one, else the last with ZooKeeper), `config` the file of
    a node with the settings of a ZooKeeper client, `static` the settings of a controller's file. `engine` is `local` or
    `spark`. Raises InputError, and UnreachableError for a ZooKeeper that does not answer within `timeout_ms`.
    """
    named = None if release is None else find_release(release)
    read = read_copy_source(source, chroot=chroot, config=config, timeout_ms=timeout_ms)
    chosen = named or _seen_release(read)
    forecast = _forecast_of(read, chosen, static, is_named=named is not None)
    loaded = _replayed(forecast, engine, master)
    found = _prediction_of(read, forecast, chosen, loaded, chroot or read.tree.chroot or None)
    assumptions = _assumptions_of(
        forecast,
        chosen,
        knows_secrets=static is not None or read.secrets is not None,
        is_observed=named is None and read.release == chosen.version_text,
    )
    return PredictedCopy(changed(found, assumptions=tuple(assumptions)), _source_of(read, forecast), loaded.image)


def _seen_release(source: CopySource) -> Release:
    """Return the observed release; the last one with ZooKeeper if the observation has none, or an unknown one."""
    try:
        return find_release(source.release) if source.release else newest_with_zookeeper()
    except InputError:
        return newest_with_zookeeper()


def _forecast_of(
    source: CopySource, release: Release, static: Mapping[str, str] | None, *, is_named: bool
) -> CopyForecast:
    """Return the copy of a release, simulated on the tree; one whose copy is not known is an error only where it
    `is_named` by the operator.
    """
    rules, of_release = (copy_rules(release.version), ()) if is_named else rules_seen(release.version)
    secrets = source.secrets
    if static is not None:
        secrets = tuple(static[name] for name in _SECRETS if static.get(name))
        size = static.get(_MIN_BATCH, "").strip()
        rules = changed(rules, min_batch_size=int(size)) if size.isascii() and size.isdigit() else rules
    return forecast_copy(parse_tree(source.tree), rules, secrets=secrets, findings=(*source.findings, *of_release))


def _prediction_of(
    source: CopySource, forecast: CopyForecast, release: Release, loaded: Loaded, chroot: str | None
) -> Prediction:
    """Return the forecast in the form of every scenario; `loaded` is a quorum's state after its records."""
    verdict = _verdict(forecast.outcome)
    return Prediction(
        scenario="zk-migration",
        input={"chroot": chroot, "kafka_version": str(release.version)},
        verdict=verdict,
        facts=changed(facts_of(Image(), release=release), assumptions=(), next_offset=1),
        findings=tuple(findings_for(verdict, forecast.findings)),
        operations=tuple(Operation("copy", batch) for batch in forecast.contents),
        effects={
            "batches": forecast.batches,
            "seconds": forecast.seconds,
            "state": {"znodes": len(source.tree.znodes), **forecast.sizes},
            "counts": dict(loaded.counts),
        },
    )


def _verdict(outcome: CopyOutcome) -> Verdict:
    """Return the finding of an accepted copy at which every controller exits and which can never commit."""
    return {
        CopyOutcome.COMPLETES: Verdict.OK,
        CopyOutcome.LOSES: Verdict.DEGRADED,
        CopyOutcome.NEVER_STARTS: Verdict.REFUSED,
        CopyOutcome.NOT_KNOWN: Verdict.UNKNOWN,
        CopyOutcome.EXITS: Verdict.WEDGED,
    }[outcome]


def _assumptions_of(forecast: CopyForecast, release: Release, *, knows_secrets: bool, is_observed: bool) -> list[str]:
    """Return the assumptions of the forecast; `is_observed`: the observation contains the release of the nodes."""
    runs = "the nodes run, as the observation says," if is_observed else "the controllers run"
    texts = [
        f"{runs} Kafka {release.version_text}; its copy is that of {release.version}"
        if str(release.version) != release.version_text
        else f"{runs} Kafka {release.version_text}",
        "the tree stays as it is until the last broker has entered the migration: restarts change leaders, ISRs and"
        " their epochs, never the number of records",
        "the order within topics, users and ACLs is that of Kafka's hash sets, which moves the borders of batches",
        "the seconds are those of a small machine; most of them are reads of ZooKeeper, one a partition",
    ]
    if not knows_secrets:
        texts.append("the controllers have the brokers' password.encoder.secret (--config was not given)")
    if not forecast.is_exact:
        texts.append("values that are not shown, and passwords that were not opened, make the bytes a rough figure")
    return texts


def _source_of(source: CopySource, forecast: CopyForecast) -> Source:
    """Return the source of a prediction; a tree has no offsets, and `records` is the number of znodes."""
    return {
        "paths": [source.name],
        "cluster": None,
        "cluster_id": forecast.cluster_id,
        "first_offset": -1,
        "last_offset": -1,
        "committed_offset": None,
        "snapshot_offset": None,
        "records": len(source.tree.znodes),
        "replicas": [],
    }


def _replayed(forecast: CopyForecast, engine: str, master: str | None) -> Loaded:
    """Return the state of a quorum with these records, folded in process or in a task of Spark."""
    if engine != "spark":
        return _folded(forecast.contents)
    from kafkactl.jobs.session import spark_session
    from kafkactl.jobs.tasks import done_in_tasks

    with spark_session(master, "kafkactl dryrun zk-migration") as session:
        (loaded,) = done_in_tasks(session, _folded, [forecast.contents])
    return loaded


def _folded(contents: Sequence[Sequence[MetadataRecord]]) -> Loaded:
    with predicted_log(contents) as log:
        return load(log.segments, log.checkpoints)
