"""`kafkactl dryrun zk-migration`: what Kafka's copy of a ZooKeeper would write, and whether it would come to an end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.dryrun.answers import keep_session, written_details
from kafkactl.commands.dryrun.options import CODES, Common, saved_options
from kafkactl.commands.dryrun.page import show_prediction
from kafkactl.commands.framework.bundles import until_the_end
from kafkactl.commands.framework.engine_options import check_master
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.output import detail, emit, say
from kafkactl.core.answers import plain_values

if TYPE_CHECKING:
    from kafkactl.dryrun.answer import Answer
    from kafkactl.dryrun.api.copy import PredictedCopy
    from kafkactl.dryrun.api.engines import Engine


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
    """Predict the copy from ZooKeeper to KRaft: its records, its duration, and its failures.

    SOURCE is a ZooKeeper as in zookeeper.connect (host:port,host:port/chroot), a saved zk.jsonl.gz, or
    the folder of an observation. With --config (a controller's file) its zookeeper.* settings are used,
    and its password.encoder.secret is tried on the encrypted passwords; without it, that of the
    controllers' files in the observation. Nothing is written.
    """
    from kafkactl.bundle.api.reading import unpacked_observation
    from kafkactl.dryrun.api import predict_copy
    from kafkactl.dryrun.api.outputs import answer_of, check_details, check_html

    if len(common.sources) + (common.bundle is not None) > 1:
        raise click.UsageError("Give one SOURCE: a ZooKeeper, a saved tree, or --bundle.")
    if common.after:
        raise click.UsageError("--after simulates scenarios on a metadata log; there is none before the migration.")
    engine = _engine(common)
    check_html(common.html)
    check_details(common.details, [""])
    keep_session(common, engine)
    copy = predict_copy(
        common.sources[0] if common.bundle is None else until_the_end(unpacked_observation(common.bundle)),
        chroot=chroot,
        release=common.kafka_version,
        config=common.config,
        static=_static(common),
        timeout_ms=_limit_ms(),
        engine=engine.name,
        master=engine.master,
    )
    payload: Answer = {
        "engine": engine.name,
        "source": copy.source,
        "after": [],
        **answer_of(copy.found, with_records=common.records),
        "details": _write_details(common, copy, engine),
    }
    if common.html:
        _write_page(common.html, payload, copy)
    emit(
        "dryrun.prediction",
        payload,
        render=lambda page, _: show_prediction(page, payload),
        exit_code=copy.found.verdict.exit_code,
    )


def _engine(common: Common) -> Engine:
    from kafkactl.dryrun.api.engines import Weighed, engine_for

    check_master(common.engine, common.master)
    one_task = Weighed(False, "the copy of one tree is one task")
    engine = engine_for(common.engine, common.master, None, lambda: one_task)
    detail(engine.why)
    return engine


def _limit_ms() -> float:
    """Return a timeout in ms for ZooKeeper below the command's own, so that silent nodes are reported."""
    return 0.7 * (current_settings().timeout_ms or 3_600_000)


def _static(common: Common) -> Mapping[str, str] | None:
    """Return the properties of `--config`; what its file gives away is said as of any other."""
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.dryrun.api.logs import read_static
    from kafkactl.kafka.api.exposure import zookeeper_exposure

    static = read_static(common.config)
    if static is not None and common.config is not None:
        tell_exposure(zookeeper_exposure(static, str(common.config)))
    return static


def _write_details(common: Common, copy: PredictedCopy, engine: Engine) -> str | None:
    """Write the table of all records; the folder that it is in."""
    from kafkactl.dryrun.api.outputs import records_table

    if common.details is None:
        return None
    return written_details(common.details, [records_table(copy.found)], copy.source, as_of_ms=None, engine=engine)


def _write_page(path: str, payload: Mapping[str, Any], copy: PredictedCopy) -> None:
    """Write the page of `--html`."""
    from kafkactl.dryrun.api.copy import ABOUT
    from kafkactl.dryrun.api.outputs import report_page, write_page
    from kafkactl.dryrun.page.build import SimulatedScenario

    write_page(path, report_page([SimulatedScenario(answer=plain_values(payload), about=ABOUT)], copy.image))
    say(f"The report is in {path}.")
