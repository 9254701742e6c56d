"""Effects of a start of a KRaft broker on partition folders whose `partition.metadata` does not fit the metadata log.

Sources: core `LogManager.isStrayKraftReplica`, KAFKA-16814; measured on 3.9.2: all messages of the folder were gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.core.wording import counted, some
from kafkactl.storage.partition_folders import PartitionIds, live_partition, partition_metadata
from kafkactl.storage.verify.model import Loss, Phase, RuleResult, StartContext, loses, stops

_LISTED = 1000
_NO_ID = "does not have a topic ID, which is not allowed when running in KRaft mode"


def partition_rules(context: StartContext) -> Iterator[RuleResult]:
    """Report folders of topics that the metadata log knows and that have no topic id, or another one."""
    found = context.partition_ids
    if found is None or not context.is_broker:
        return
    known = {name: str(id) for id, name in context.topics.items()}
    without = [path for path in found.without_id if _topic(path) in known]
    if without:
        yield _without_id(context, without, known)
    others = {path: id for path, id in found.other_ids.items() if id != known.get(_topic(path), id)}
    topics = {topic: id for topic, id in found.topic_ids.items() if id != known.get(topic, id)}
    if others or topics:
        yield _other_ids(found, known, topics, others)


def _without_id(context: StartContext, paths: list[str], known: Mapping[str, str]) -> RuleResult:
    content = partition_metadata(known[_topic(paths[0])])
    step = f"Before the start write the file in each folder: printf '{content}' > {paths[0]}/partition.metadata"
    count = counted(len(paths), "partition folder")
    text = f"{count} of topics of the metadata log have no topic id in partition.metadata"
    subject = f"broker {context.config.node_id}"
    if not context.rules.sets_folders_without_id_aside:
        return stops(
            "partition-folder-without-topic-id",
            Phase.BROKER_LOGS,
            subject,
            f"{text}, and this release refuses them: {some(paths)}.",
            says=_NO_ID,
            next_step=step,
            folders=paths[:_LISTED],
        )
    return loses(
        "partition-folder-without-topic-id",
        subject,
        f"{text}: the broker renames them to *-stray and makes empty ones ({some(paths)}).",
        Loss(what="replicas", subject=subject, message=f"The replicas in {some(paths)} start empty."),
        next_step=step,
        folders=paths[:_LISTED],
    )


def _other_ids(
    found: PartitionIds, known: Mapping[str, str], topics: Mapping[str, str], folders: Mapping[str, str]
) -> RuleResult:
    named = [f"topic {topic} ({id})" for topic, id in topics.items()]
    named += [f"{path} ({id})" for path, id in folders.items()]
    return loses(
        "partition-folder-of-another-topic-id",
        some(named),
        f"The folders of {some(named)} have another topic id than the metadata log: the broker renames them to *-stray"
        " and makes empty ones.",
        Loss(what="replicas", subject=some(named), message=f"The replicas of {some(named)} start empty."),
        next_step="If the folders hold the messages of the topic that the metadata log has, write its id into"
        " partition.metadata of each before the start; a topic that was deleted and created again has new folders.",
        topics={topic: {"disk": id, "metadata": known[topic]} for topic, id in list(topics.items())[:_LISTED]},
        is_complete=found.is_complete,
    )


def _topic(path: str) -> str:
    live = live_partition(path.rpartition("/")[2])
    return "" if live is None else live.topic
