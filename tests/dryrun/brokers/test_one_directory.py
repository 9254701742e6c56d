"""Predictions of stops on brokers with several directories."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.frozen import changed
from kafkactl.dryrun.brokers.shapes import with_one_directory
from kafkactl.dryrun.scenarios.rolling_restart import rolling_restart
from kafkactl.metadata.image.model import DIRECTORIES_AT, LOST, REPLICAS_AT, UNASSIGNED, Partitions
from tests.dryrun.clusters import clusters
from tests.migration.migration_logs import uuid


@given(clusters(), st.data())
def test_figures_do_not_depend_on_which_online_directory_holds_a_replica(cluster, data):
    image, facts = cluster
    online = {id: (uuid(id + 500), uuid(id + 600)) for id in image.brokers}
    states = {
        id: {at: _placed(state, online, data) for at, state in topic.partitions.states.items()}
        for id, topic in image.topics.items()
    }
    image = changed(
        image,
        brokers={id: changed(broker, directories=online[id]) for id, broker in image.brokers.items()},
        topics={id: changed(topic, partitions=Partitions(states[id])) for id, topic in image.topics.items()},
    )
    merged = with_one_directory(image)
    order = sorted(image.brokers)
    ours, theirs = (rolling_restart(each, facts, order).effects["steps"] for each in (merged, image))
    assert [step["partitions"] for step in ours] == [step["partitions"] for step in theirs]


def _placed(state, online, data):
    """Return a partition whose replicas lie in directories that are online, unassigned, lost or unknown."""
    places = [
        data.draw(st.sampled_from([*online[replica], UNASSIGNED, LOST, uuid(999)])).raw
        for replica in state[REPLICAS_AT]
    ]
    return (*state[:DIRECTORIES_AT], b"".join(places), *state[DIRECTORIES_AT + 1 :])
