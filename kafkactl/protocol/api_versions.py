"""Content of a node's ApiVersions answer: known requests, supported features, finalized levels.

Asked in version 4 first: a server that is asked in an older one hides every feature whose lowest level is 0
(KAFKA-17492); version 5 adds only what a client says of its target (KIP-1242). A server that does not know the
version answers in version 0 with the range that it does know (KIP-511). Finalized epochs of different nodes
mean nothing: only levels can be compared (a broker's epoch grows with every metadata batch).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kafkactl.core.errors import UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.headers import API_VERSIONS, UNSUPPORTED_VERSION
from kafkactl.protocol.schema.spec import MessageSpec, Versions

FIRST_VERSION = 4
SOFTWARE_NAME = "kafkactl"
_UPDATE_METADATA = 6


@frozen
class NodeVersions:
    """An ApiVersions answer as a value.

    `version` is the one in which it was asked: below 4, features whose lowest level is 0 are missing from `supported`
    and `hides_features` says so. `finalized` has no feature at level 0. `finalized_epoch` is -1 if there is none.
    """

    version: int
    requests: Mapping[int, Versions] = field(repr=False)
    supported: Mapping[str, Versions]
    finalized: Mapping[str, int]
    finalized_epoch: int
    zookeeper_migration_ready: bool

    @property
    def hides_features(self) -> bool:
        """Return True if supported features whose lowest level is 0 were left out of the answer."""
        return self.version < FIRST_VERSION

    @property
    def is_zookeeper_mode(self) -> bool:
        """Return True for a broker in ZooKeeper mode, also in a migration: no other node takes UpdateMetadata."""
        return self.knows(_UPDATE_METADATA)

    def knows(self, api_key: int) -> bool:
        """Return True if the node takes this request at all."""
        return api_key in self.requests


def request_body(software_version: str) -> dict[str, Any]:
    """Return the body of an ApiVersions request in any version."""
    return {"ClientSoftwareName": SOFTWARE_NAME, "ClientSoftwareVersion": software_version}


def next_version(asked: int, body: Mapping[str, Any], *, peer: str) -> int | None:
    """Return the version of the next attempt, or None if `body` is the answer.

    Kafka's client takes 0 if an UNSUPPORTED_VERSION answer names no range. Raises UnreachableError
    `no-common-version` if that leads nowhere.
    """
    if body["ErrorCode"] != UNSUPPORTED_VERSION:
        return None
    ranges = _requests(body)
    offered = ranges.get(API_VERSIONS, Versions(0, 0))
    highest = min(FIRST_VERSION, offered.highest)
    if highest >= asked or highest < offered.lowest:
        raise UnreachableError(
            f"{peer} refuses ApiVersions in version {asked} and offers the versions {offered}", id="no-common-version"
        )
    return highest


def node_versions(version: int, body: Mapping[str, Any]) -> NodeVersions:
    """Return the value of an error-free answer to a request of `version`."""
    return NodeVersions(
        version=version,
        requests=_requests(body),
        supported={
            feature["Name"]: Versions(feature["MinVersion"], feature["MaxVersion"])
            for feature in body["SupportedFeatures"]
        },
        finalized={feature["Name"]: feature["MaxVersionLevel"] for feature in body["FinalizedFeatures"]},
        finalized_epoch=body["FinalizedFeaturesEpoch"],
        zookeeper_migration_ready=body["ZkMigrationReady"],
    )


def usable_version(spec: MessageSpec, node: NodeVersions, *, peer: str) -> int:
    """Return the highest version of a request that both sides know.

    Raises UnreachableError `request-not-supported` (the node does not take it: an older release, or a broker's
    request sent to a controller) or `no-common-version`.
    """
    name = spec.name.removesuffix("Request")
    offered = node.requests.get(spec.api_key if spec.api_key is not None else -1)
    if offered is None:
        raise UnreachableError(f"{peer} does not take the request {name}", id="request-not-supported")
    common = spec.valid_versions.intersect(offered)
    if not common:
        raise UnreachableError(
            f"{peer} takes {name} in the versions {offered}, kafkactl knows {spec.valid_versions}",
            id="no-common-version",
        )
    return common.highest


def _requests(body: Mapping[str, Any]) -> dict[int, Versions]:
    return {api["ApiKey"]: Versions(api["MinVersion"], api["MaxVersion"]) for api in body["ApiKeys"]}
