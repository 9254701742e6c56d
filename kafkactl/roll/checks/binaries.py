"""Checks of what stops or changes a new binary: its file, its Java, the finalized levels, the metadata log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION, MIGRATING_STATES, ZkMigrationState
from kafkactl.core.wording import first_few, numbered
from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG
from kafkactl.protocol.catalog.consequences import level_name
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.roll.access import node_step
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.checks.row import CheckRow, RollFinding, about
from kafkactl.roll.checks.stored_topics import ignored_on_topics
from kafkactl.roll.files_before import command_with_old_file
from kafkactl.roll.levels import LevelFit, can_be_lowered, level_fits
from kafkactl.roll.observation import RollNode
from kafkactl.roll.partitions import SHOWN
from kafkactl.roll.releases import is_before_kraft, is_older, is_same, registered_ranges, rules_of
from kafkactl.roll.rules.binaries import java_needed, ranges
from kafkactl.roll.rules.changes import changed_defaults, ignored_settings
from kafkactl.roll.rules.java import java_release
from kafkactl.roll.rules.refusals import (
    missing_classes,
    refused_broker_settings,
    refused_settings,
    refused_topic_settings,
)
from kafkactl.roll.start import unfit_levels, unreadable_records, unreadable_voters

_ROLES = "process.roles"


def _targets(case: RollCase) -> Iterator[tuple[RollNode, Release]]:
    """Yield the nodes of the roll with the rules of the release of their next start, if it is known."""
    for node in case.nodes:
        release = case.target_rules(node)
        if release is not None:
            yield node, release


def check_levels(case: RollCase) -> Iterator[RollFinding]:
    """Find the finalized levels outside the range of the release: its controllers exit, its brokers hang or exit."""
    found: dict[tuple[str, str], tuple[LevelFit, Release, list[int]]] = {}
    for node, release in _targets(case):
        for fit in unfit_levels(case, node, release) if case.has_log else ():
            found.setdefault((fit.name, release.name), (fit, release, []))[2].append(node.id)
    for fit, release, nodes in found.values():
        is_above = fit.finalized > fit.target_max
        yield about(
            blocker(
                "level-above-supported" if is_above else "level-below-supported",
                f"feature {fit.name}",
                f"{fit.name} is finalized at {level_name(fit.name, fit.finalized)}; Kafka {release.version_text} "
                f"supports {fit.target_min} to {fit.target_max}: its controllers exit, its brokers exit or run "
                "without being registered",
                _next_of_level(case, fit, release, is_above=is_above),
                feature=fit.name,
                finalized=fit.finalized,
                min=fit.target_min,
                max=fit.target_max,
            ),
            nodes,
        )


def _next_of_level(case: RollCase, fit: LevelFit, release: Release, *, is_above: bool) -> str:
    if not is_above:
        return (
            f"Raise the level first, with the present binaries: kafkactl features upgrade --feature "
            f"{fit.name}={fit.target_min} --dry-run"
        )
    controller = rules_of(case.versions.get(-1 if case.leader_id is None else case.leader_id)) or case.facts.release
    for stuck in (fit, *level_fits(release, case.levels)):
        if stuck.finalized > stuck.target_max and not can_be_lowered(controller, stuck):
            return (
                f"There is no way to Kafka {release.version_text}: {stuck.name} cannot be lowered from "
                f"{stuck.finalized} to {stuck.target_max}."
            )
    if fit.target_max:
        return f"Lower the level first: kafkactl features downgrade --feature {fit.name}={fit.target_max} --dry-run"
    return f"Disable the feature first: kafkactl features disable --feature {fit.name} --dry-run"


def check_refused_settings(case: RollCase) -> Iterator[RollFinding]:
    """Find values in a node's file with which the release does not start."""
    for node, release in _targets(case):
        properties, error = case.properties_of(node), case.file_error(node)
        if error is not None:
            text = f"Kafka does not read the file of {node.name}: {error}"
            step = "Write \\\\ for a backslash before u."
            found = blocker("setting-refused", node.name, text, step, node=node.id, key=None, value=None, error=error)
            yield about(found, [node.id])
        for refused in () if properties is None else refused_settings(release, properties):
            yield about(
                blocker(
                    "setting-refused",
                    node.name,
                    f"Kafka {release.version_text} refuses {refused.key} in the file of {node.name}: {refused.error}",
                    command_with_old_file(case, node),
                    node=node.id,
                    key=refused.key,
                    value=refused.value,
                    error=refused.error,
                ),
                [node.id],
            )


def check_missing_classes(case: RollCase) -> Iterator[RollFinding]:
    """Find classes in a node's file that the release does not have."""
    for node, release in _targets(case):
        properties = case.properties_of(node)
        for missing in () if properties is None else missing_classes(release, properties):
            yield about(
                blocker(
                    "missing-class",
                    node.name,
                    f"{missing.key} of {node.name} names the class {missing.class_name}, which Kafka "
                    f"{release.version_text} does not have (known in {missing.known_from} to {missing.known_to})",
                    command_with_old_file(case, node),
                    node=node.id,
                    key=missing.key,
                    value=missing.class_name,
                ),
                [node.id],
            )


def check_java(case: RollCase) -> Iterator[RollFinding]:
    """Find a Java of the next start that is older than the release needs."""
    for node, release in _targets(case):
        found, needs = java_release(node.java), java_needed(release)
        if found is not None and found < needs:
            yield about(
                blocker(
                    "java-too-old",
                    node.name,
                    f"Kafka {release.version_text} needs Java {needs}; {node.name} would start with Java {found}",
                    node=node.id,
                    needs=needs,
                    found=found,
                ),
                [node.id],
            )


def check_stored_settings(case: RollCase) -> Iterator[RollFinding]:
    """Find stored topic settings that end every broker at its start, with or without a replica of the topic."""
    for release, nodes in _by_release(case):
        brokers = [node.id for node in nodes if node.is_broker]
        for (kind, name), values in sorted(case.image.configs.items()) if brokers else ():
            for refused in refused_topic_settings(release, values) if kind == TOPIC_CONFIG else ():
                yield about(
                    blocker(
                        "stored-setting-refused",
                        f"topic {name}",
                        f"{refused.key}={refused.value} of topic {name} ends every broker of Kafka "
                        f"{release.version_text} at its start, with or without a replica of the topic: {refused.error}",
                        "Before the roll, with the present binaries: kafka-configs.sh --bootstrap-server HOST:PORT "
                        f"--alter --entity-type topics --entity-name {name} --delete-config {refused.key}",
                        entity=f"topic:{name}",
                        key=refused.key,
                        value=refused.value,
                        error=refused.error,
                    ),
                    brokers,
                )


def _by_release(case: RollCase) -> list[tuple[Release, list[RollNode]]]:
    found: dict[str, tuple[Release, list[RollNode]]] = {}
    for node, release in _targets(case):
        found.setdefault(release.version_text, (release, []))[1].append(node)
    return list(found.values())


def check_log(case: RollCase) -> Iterator[RollFinding]:
    """Find records of the metadata log, and control records of its quorum, that the release cannot read."""
    for release, nodes in _by_release(case) if case.has_log else ():
        ids = [node.id for node in nodes]
        if unreadable_voters(case, release):
            yield about(
                blocker(
                    "log-not-readable",
                    "metadata log",
                    f"the quorum is dynamic (kraft.version {case.kraft_version}): Kafka {release.version_text} does "
                    "not know the records of its voters, and a dynamic quorum never becomes static again",
                    feature=KRAFT_VERSION,
                    finalized=case.kraft_version,
                ),
                ids,
            )
        records = unreadable_records(case, release)
        # Above the range of the release the finding about levels reports the same, with the next step.
        if records and not any(unfit_levels(case, node, release) for node in nodes):
            words = first_few([f"type {api_key} version {version}" for api_key, version in records])
            yield about(
                blocker(
                    "log-not-readable",
                    "metadata log",
                    f"the metadata log holds records that Kafka {release.version_text} cannot read: {words}",
                    records=[{"type": api_key, "version": version} for api_key, version in records],
                ),
                ids,
            )


def check_path(case: RollCase) -> Iterator[RollFinding]:
    """Find releases without KRaft in production, nodes in ZooKeeper mode, and a migration that is not finished."""
    if case.goal is not None and is_before_kraft(case.goal):
        text = f"Kafka {case.goal} has no KRaft in production; 3.3 is the first release that can be rolled to"
        yield about(blocker("unsupported-path", f"release {case.goal}", text), [node.id for node in case.nodes])
    for node in case.nodes:
        running, properties = case.versions.get(node.id), case.properties_of(node)
        if running is not None and is_before_kraft(running):
            text = f"{node.name} runs Kafka {running}, which has no KRaft in production"
            yield about(blocker("unsupported-path", node.name, text, release=str(running)), [node.id])
        elif properties is not None and not properties.get(_ROLES, "").strip():
            text = f"{node.name} has no process.roles: it is a broker in ZooKeeper mode, which a roll does not know"
            yield about(
                blocker(
                    "unsupported-path",
                    node.name,
                    text,
                    "Migrate to KRaft first: kafkactl migrate check --help",
                    node=node.id,
                ),
                [node.id],
            )

    without = [node.id for node, release in _targets(case) if not release.zookeeper_mode]
    if without and case.image.zk_migration_state in MIGRATING_STATES:
        state = ZkMigrationState(case.image.zk_migration_state).name
        text = (
            f"the migration from ZooKeeper is not finished (state {state}): Kafka {case.goal} does not write to"
            " ZooKeeper, and the migration can no longer be rolled back"
        )
        step = "Finish the migration or roll it back first: kafkactl migrate status --help"
        yield about(blocker("unsupported-path", "metadata log", text, step, state=state), without)


def check_ignored_settings(case: RollCase) -> Iterator[RollFinding]:
    """Find keys of a file, and stored settings of brokers, that the release ignores."""
    for node, release in _targets(case):
        properties, running = case.properties_of(node), rules_of(case.last.get(node.id))
        known = (
            set()
            if running is None or properties is None
            else {ignored.key for ignored in ignored_settings(running, properties)}
        )
        for ignored in () if properties is None else ignored_settings(release, properties):
            if ignored.key in known or (running is None and case.way is Way.RESTART):
                continue  # the running release ignores it as well: the roll changes nothing
            text = f"Kafka {release.version_text} does not have {ignored.key}, which the file of {node.name} sets"
            yield about(
                warning(
                    "setting-ignored",
                    node.name,
                    f"{text}: {ignored.effect}" if ignored.effect else text,
                    command_with_old_file(case, node)
                    or (f"Set {', '.join(ignored.replaced_by)} instead." if ignored.replaced_by else ""),
                    node=node.id,
                    key=ignored.key,
                    value=ignored.value,
                    effect=ignored.effect,
                    replaced_by=list(ignored.replaced_by),
                ),
                [node.id],
            )
    yield from _ignored_stored(case)


def _ignored_stored(case: RollCase) -> Iterator[RollFinding]:
    for release, nodes in _by_release(case):
        brokers = {node.id for node in nodes if node.is_broker}
        for (kind, name), values in sorted(case.image.configs.items()) if brokers else ():
            concerned = brokers if not name else brokers & ({int(name)} if name.isdigit() else set())
            for refused in refused_broker_settings(release, values) if kind == BROKER_CONFIG and concerned else ():
                entity = f"broker {name}" if name else "all brokers"
                yield about(
                    warning(
                        "setting-ignored",
                        f"dynamic configuration of {entity}",
                        f"{refused.key}={refused.value} is stored for {entity}; Kafka {release.version_text} refuses "
                        f"the value, logs an error, starts and ignores it: {refused.error}",
                        entity=f"broker:{name}" if name else "brokers",
                        key=refused.key,
                        value=refused.value,
                        error=refused.error,
                    ),
                    sorted(concerned),
                )
        if brokers:
            yield from ignored_on_topics(case, release, sorted(brokers))


def check_defaults(case: RollCase) -> Iterator[RollFinding]:
    """Find defaults that change for a key that a node's file does not set, if something follows from that."""
    found: dict[tuple[str, str | None, str | None, str], list[int]] = defaultdict(list)
    for node, release in _targets(case):
        properties, running = case.properties_of(node), rules_of(case.last.get(node.id))
        for change in () if properties is None or running is None else changed_defaults(running, release, properties):
            found[change.key, change.before, change.after, change.effect].append(node.id)
    for (key, before, after, effect), nodes in found.items():
        yield about(
            warning(
                "default-changed",
                numbered("node", nodes[:SHOWN]),
                f"the default of {key} changes from {before or 'none'} to {after or 'none'}, and the file does not set "
                f"it. {effect}",
                f"Set {key} in the file if the new value is not wanted." if after is not None else "",
                nodes=nodes[:SHOWN],
                key=key,
                before=before,
                after=after,
                effect=effect,
            ),
            nodes,
        )


def check_releases(case: RollCase) -> Iterator[RollFinding]:
    """Find nodes whose release is unknown: no hook names it, and the ranges do not tell it from the goal."""
    for node in case.nodes:
        running = case.versions.get(node.id)
        if case.goal is not None and running is not None and case.is_done(node) is None:
            text = (
                f"it is unknown if {node.name} runs Kafka {case.goal} already: its ranges show only Kafka {running}, "
                "and no `running` hook names the patch release; the roll restarts it"
            )
            yield about(warning("release-unknown", node.name, text, node=node.id), [node.id])
        if case.versions.get(node.id) is None and node.alive is not False:
            why = "its ranges do not tell" if node.alive else "it could not be asked for its ranges"
            text = f"the release that {node.name} runs is unknown: no `running` hook names it, and {why}"
            yield about(
                warning("release-unknown", node.name, text, node_step(case.observation, node), node=node.id), [node.id]
            )


def check_registered_features(case: RollCase) -> Iterator[RollFinding]:
    """Find registrations that lack features of the binary: the broker registered through older controllers."""
    for node in case.observation.nodes:
        registered = registered_ranges(case.observation, node)
        release = rules_of(case.versions.get(node.id))
        if registered is None or not node.is_broker or node.alive is False:
            continue
        own = dict(node.features) if node.features is not None else {} if release is None else ranges(release)
        # Ranges of another release are those of the process before: the broker has not registered since.
        if METADATA_VERSION not in own or own[METADATA_VERSION] != registered.get(METADATA_VERSION):
            continue
        lacking = sorted(name for name, span in own.items() if name not in registered and span.highest > 0)
        if lacking and release_of(own[METADATA_VERSION]) is not None:
            yield about(
                warning(
                    "features-not-registered",
                    node.name,
                    f"the registration of {node.name} lacks {first_few(lacking)}, which its binary supports: it "
                    "registered through controllers of an older release, and their levels will be refused",
                    node=node.id,
                    features=lacking,
                ),
                [node.id],
            )


def check_brokers_ahead(case: RollCase) -> Iterator[RollFinding]:
    """Find brokers of a newer release than a controller: the order of an upgrade is the other one."""
    controllers = [version for node in case.observation.controllers if (version := case.versions.get(node.id))]
    for node in case.observation.brokers:
        own = case.versions.get(node.id)
        if own is None or node.is_controller or case.way is Way.DOWNGRADE:
            continue
        older = [version for version in controllers if is_older(version, own)]
        if older:
            text = f"{node.name} runs Kafka {own}, while a controller runs Kafka {older[0]}: controllers come first"
            yield about(note("brokers-ahead-of-controllers", node.name, text, node=node.id), [node.id])


def check_clients(case: RollCase) -> Iterator[RollFinding]:
    """Report that 4.x takes no clients before 2.1, which the metadata does not show (KIP-896)."""
    goal = rules_of(case.goal)
    crosses = (
        goal is not None
        and not goal.zookeeper_mode
        and any(
            version is not None
            and not is_same(version, goal.version)
            and (known := rules_of(version)) is not None
            and known.zookeeper_mode
            for version in case.last.values()
        )
    )
    if crosses:
        yield about(_clients())


def _clients() -> Finding:
    return note(
        "client-too-old",
        "clients",
        "Kafka 4.0 and later refuse clients before 2.1 (KIP-896); metadata does not show which clients there are",
        "Look for old protocol versions in the request logs, or in the metric DeprecatedRequestsPerSec "
        "(kafka.network:type=RequestMetrics), before the first broker is upgraded.",
    )


ROWS = (
    CheckRow(ids=("level-below-supported", "level-above-supported"), find=check_levels),
    CheckRow(ids=("unsupported-path",), find=check_path),
    CheckRow(ids=("log-not-readable",), find=check_log),
    CheckRow(ids=("setting-refused",), find=check_refused_settings),
    CheckRow(ids=("stored-setting-refused",), find=check_stored_settings),
    CheckRow(ids=("java-too-old",), find=check_java),
    CheckRow(ids=("missing-class",), find=check_missing_classes),
    CheckRow(ids=("setting-ignored",), find=check_ignored_settings),
    CheckRow(ids=("default-changed",), find=check_defaults),
    CheckRow(ids=("features-not-registered",), find=check_registered_features),
    CheckRow(ids=("brokers-ahead-of-controllers",), find=check_brokers_ahead),
    CheckRow(ids=("release-unknown",), find=check_releases),
    CheckRow(ids=("client-too-old",), find=check_clients),
)
