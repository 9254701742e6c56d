"""`kafkactl dryrun zk-migration`: what Kafka's copy of a ZooKeeper would write, and whether it would come to an end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.dryrun.page import show_prediction
from kafkactl.commands.dryrun.run import CODES, Common, engine_of, saved_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.output import emit

if TYPE_CHECKING:
    from kafkactl.dryrun.engine.local import Loaded
    from kafkactl.dryrun.prediction import Prediction, Verdict
    from kafkactl.features.catalog.releases import Release
    from kafkactl.migration.copy.forecast import CopyForecast, CopyOutcome
    from kafkactl.operations.migrate.copy import CopySource

_NEWEST = "3.9"
_SECRETS = ("password.encoder.secret", "password.encoder.old.secret")
_MIN_BATCH = "zookeeper.metadata.migration.min.batch.size"


@leaf_command(
    "zk-migration",
    examples=(
        "kafkactl dryrun zk-migration zk1:2181,zk2:2181/kafka",
        "kafkactl dryrun zk-migration observation/zk.jsonl.gz --config controller.properties -o json",
    ),
    codes=CODES,
    timeout="1h",
)
@saved_options
@click.option("--chroot", metavar="PATH", help="Where Kafka's tree begins. [default: it is found]")
def zk_migration(*, common: Common, chroot: str | None) -> None:
    """What the copy from ZooKeeper to KRaft would write, how long it takes, and what of it goes wrong.

    SOURCE is a ZooKeeper as in zookeeper.connect (host:port,host:port/chroot), a saved zk.jsonl.gz, or
    the folder of an observation. With --config (a controller's file) its zookeeper.* settings are used,
    and its password.encoder.secret is tried on the encrypted passwords; without it, that of the
    controllers' files in the observation. Nothing is written.
    """
    from kafkactl.features.catalog.releases import find_release
    from kafkactl.frozen import changed
    from kafkactl.operations.migrate.copy import read_copy_source

    if len(common.sources) > 1:
        raise click.UsageError("Give one SOURCE: a ZooKeeper, or a saved tree.")
    if common.after:
        raise click.UsageError("--after plays scenarios on a metadata log; there is none before the migration.")
    engine = engine_of(common)
    check_targets(common)
    static = read_config(common)
    named = None if common.kafka_version is None else find_release(common.kafka_version)
    source = read_copy_source(common.sources[0], chroot=chroot, config=common.config, timeout_ms=_limit_ms())
    release = named or seen_release(source)
    forecast = forecast_of(source, release, static, is_named=named is not None)
    loaded = replayed(forecast, engine, common.master)
    found = prediction_of(source, forecast, release, loaded, chroot or source.tree.chroot or None)
    found = changed(
        found,
        assumptions=tuple(
            assumptions_of(
                forecast,
                release,
                knows_secrets=static is not None or source.secrets is not None,
                told=named is None and source.release == release.version_text,
            )
        ),
    )
    payload = {
        "engine": engine,
        "source": source_of(source, forecast),
        "after": [],
        **found.to_dict(),
        "details": write_details(common, found),
    }
    if common.records:
        payload["effects"]["records_appended"]["records"] = list(listed(found))
    if common.html:
        write_page(common.html, payload, loaded)
    emit("dryrun.prediction", payload, render=show_prediction, exit_code=found.verdict.exit_code)


def _limit_ms() -> float:
    """For ZooKeeper: less than the command has, so that it is told who did not answer."""
    return 0.7 * (current_settings().timeout_ms or 3_600_000)


def check_targets(common: Common) -> None:
    """Refuse what could not be written in the end, before anything is read."""
    from kafkactl.commands.dryrun.details import check_details
    from kafkactl.commands.dryrun.html import check_html

    check_html(common.html)
    check_details(common.details, [""])


def read_config(common: Common) -> Mapping[str, str] | None:
    """The properties of `--config`; what its file gives away is said as of any other."""
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.operations.dryrun_logs import read_static
    from kafkactl.operations.exposure import zookeeper_exposure

    static = read_static(common.config)
    if static is not None and common.config is not None:
        tell_exposure(zookeeper_exposure(static, str(common.config)))
    return static


def seen_release(source: CopySource) -> Release:
    """What the observation says; the last one with ZooKeeper where it says nothing, or a release that nobody knows."""
    from kafkactl.errors import InputError
    from kafkactl.features.catalog.releases import find_release

    try:
        return find_release(source.release or _NEWEST)
    except InputError:
        return find_release(_NEWEST)


def forecast_of(
    source: CopySource, release: Release, static: Mapping[str, str] | None, *, is_named: bool
) -> CopyForecast:
    """The copy of a release, played on the tree; one whose copy is not known is a wrong word only where it `is_named`
    by the operator.
    """
    from kafkactl.frozen import changed
    from kafkactl.migration.copy.forecast import forecast_copy
    from kafkactl.migration.copy.rules import copy_rules, rules_seen
    from kafkactl.migration.zktree.parse import parse_tree

    rules, told = (copy_rules(release.version), ()) if is_named else rules_seen(release.version)
    secrets = source.secrets
    if static is not None:
        secrets = tuple(static[name] for name in _SECRETS if static.get(name))
        size = static.get(_MIN_BATCH, "").strip()
        rules = changed(rules, min_batch_size=int(size)) if size.isascii() and size.isdigit() else rules
    return forecast_copy(parse_tree(source.tree), rules, secrets=secrets, findings=(*source.findings, *told))


def prediction_of(
    source: CopySource, forecast: CopyForecast, release: Release, loaded: Loaded, chroot: str | None
) -> Prediction:
    """The forecast in the words of every scenario; `loaded` is what a quorum makes of its records."""
    from kafkactl.dryrun.controller.appended import Operation
    from kafkactl.dryrun.controller.facts import facts_of
    from kafkactl.dryrun.prediction import Prediction
    from kafkactl.frozen import changed
    from kafkactl.metadata.image.model import Image

    return Prediction(
        scenario="zk-migration",
        input={"chroot": chroot, "kafka_version": str(release.version)},
        verdict=_verdict(forecast.outcome),
        facts=changed(facts_of(Image(), release=release), assumptions=(), next_offset=1),
        findings=forecast.findings,
        operations=tuple(Operation("copy", batch) for batch in forecast.contents),
        effects={
            "batches": forecast.batches,
            "seconds": forecast.seconds,
            "state": {"znodes": len(source.tree.znodes), **forecast.sizes},
            "counts": dict(loaded.counts),
        },
    )


def _verdict(outcome: CopyOutcome) -> Verdict:
    """A copy at which every controller dies was accepted, and can never commit."""
    from kafkactl.dryrun.prediction import Verdict
    from kafkactl.migration.copy.forecast import CopyOutcome

    return {
        CopyOutcome.COMPLETES: Verdict.OK,
        CopyOutcome.LOSES: Verdict.DEGRADED,
        CopyOutcome.NEVER_STARTS: Verdict.REFUSED,
        CopyOutcome.NOT_KNOWN: Verdict.UNKNOWN,
        CopyOutcome.DIES: Verdict.WEDGED,
    }[outcome]


def assumptions_of(forecast: CopyForecast, release: Release, *, knows_secrets: bool, told: bool) -> list[str]:
    """What the forecast takes for granted; `told`: the observation says what the nodes run."""
    runs = "the nodes run, as the observation says," if told else "the controllers run"
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


def source_of(source: CopySource, forecast: CopyForecast) -> dict[str, Any]:
    """A tree has no offsets; `records` is how many znodes were read."""
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


def replayed(forecast: CopyForecast, engine: str, master: str | None) -> Loaded:
    """What a quorum with these records holds, folded by the engine that was asked for."""
    from kafkactl.errors import KafkactlError
    from kafkactl.operations.dryrun_logs import in_process, on_spark
    from kafkactl.operations.migrate.copy import predicted_log

    fold = on_spark(master) if engine == "spark" else in_process
    with predicted_log(forecast.contents) as log:
        (loaded,) = fold([log], None, False)
    if isinstance(loaded, KafkactlError):
        raise loaded
    return loaded


def listed(found: Prediction) -> Any:
    """The records as `log dump` writes them, their offsets counted from the Begin record."""
    from kafkactl.commands.dryrun.details import records_listed

    return records_listed(found)


def write_details(common: Common, found: Prediction) -> str | None:
    """The table of all records, and the folder that it is in."""
    if common.details is None:
        return None
    from pathlib import Path

    from kafkactl.adapters.files import detail_files
    from kafkactl.commands.rendering.output import say
    from kafkactl.dryrun.detail_tables import records_table

    detail_files.write_details(Path(common.details), [records_table(listed(found))])
    say(f"The tables are in {common.details}.")
    return common.details


def write_page(path: str, payload: Mapping[str, Any], loaded: Loaded) -> None:
    """The page of `--html`."""
    from pathlib import Path

    from kafkactl._version import __version__
    from kafkactl.adapters.files.report_files import write_report
    from kafkactl.commands.rendering.output import plain_values, say
    from kafkactl.report.build import Played, report_of
    from kafkactl.report.cluster import cluster_of
    from kafkactl.report.html import MARK, render_html

    about = "What the copy from ZooKeeper to KRaft writes; the cluster below is the one after it."
    played = [Played(answer=plain_values(payload), about=about)]
    report = report_of(played, cluster_of(loaded.image), written_by=f"kafkactl {__version__}")
    write_report(Path(path), render_html(report), MARK)
    say(f"The report is in {path}.")
