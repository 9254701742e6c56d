"""The cluster id that a release stores for a given text.

3.3 to 3.6 accept only UUIDs and store them in canonical form; 3.7 and later store any text unchanged. Texts that Kafka
stores but cannot read back, or silently alters, are reported here. Sources: core `StorageTool`
(buildMetadataProperties up to 3.6, formatCommand from 3.7), clients `Uuid`.
"""

from __future__ import annotations

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.protocol.catalog.releases import Release

# Every cluster started from the Apache image without CLUSTER_ID has this id (docker/…/configureDefaults).
APACHE_IMAGE_ID = "5L6g3nShT-eMCtK--X86sw"
_SUBJECT = "cluster id"
_MAKE_ONE = "Make one id for the whole cluster with `kafkactl storage random-uuid`."
_COMPARE = "Compare it with /cluster/id in ZooKeeper: in a migration it is right if, and only if, they are the same."


@frozen
class ClusterId:
    """`stored` is what goes to disk; it must not be used where `findings` hold a blocker."""

    stored: str
    findings: tuple[Finding, ...]


def check_cluster_id(text: str, release: Release, *, migration: bool = False) -> ClusterId:
    """Decide which id a format for `release` stores, and report problems of it.

    Blockers: `cluster-id-not-ascii`, and `cluster-id-not-a-uuid` if the release insists on one; the rest are
    warnings. `migration`: the id is that of a ZooKeeper cluster, which stays as it is whatever its form, also where
    the release's own tool would refuse or change it.
    """
    uuid = _uuid(text)
    reencoded = release.cluster_id_rule == "reencoded" and not migration
    stored = str(uuid) if uuid and reencoded else text
    findings = [
        _not_ascii(text),
        _empty(text),
        _blanks(text),
        _not_a_uuid(text, uuid, release, reencoded=reencoded, next_step=_COMPARE if migration else _MAKE_ONE),
        _not_canonical(text, uuid, stored, release),
        _well_known(stored),
    ]
    return ClusterId(stored=stored, findings=tuple(finding for finding in findings if finding))


def _uuid(text: str) -> Uuid | None:
    try:
        return Uuid.parse(text)
    except InputError:
        return None


def _not_ascii(text: str) -> Finding | None:
    if text.isascii():
        return None
    return Finding(
        id="cluster-id-not-ascii",
        severity=Severity.BLOCKER,
        subject=_SUBJECT,
        message=f"the cluster id {text!r} is not ASCII: Kafka writes it as UTF-8 and reads it back as ISO-8859-1, "
        "so the node would find another id than the one given",
        evidence={"cluster_id": text},
        next_step=_MAKE_ONE,
    )


def _empty(text: str) -> Finding | None:
    if text:
        return None
    return Finding(
        id="cluster-id-empty",
        severity=Severity.WARNING,
        subject=_SUBJECT,
        message="the cluster id is empty; an unset variable in a script is the usual cause",
        evidence={"cluster_id": text},
    )


def _blanks(text: str) -> Finding | None:
    if not any(char.isspace() or not char.isprintable() for char in text):
        return None
    return Finding(
        id="cluster-id-with-blanks",
        severity=Severity.WARNING,
        subject=_SUBJECT,
        message=f"the cluster id {text!r} holds blanks or control characters, which become part of it",
        evidence={"cluster_id": text},
    )


def _not_a_uuid(text: str, uuid: Uuid | None, release: Release, *, reencoded: bool, next_step: str) -> Finding | None:
    if uuid or (not text and not reencoded):
        return None
    message = f"the cluster id {text!r} is not a uuid in URL-safe base64"
    if reencoded:
        message = f"Cluster ID string {text} does not appear to be a valid UUID, which Kafka {release.name} insists on"
    return Finding(
        id="cluster-id-not-a-uuid",
        severity=Severity.BLOCKER if reencoded else Severity.WARNING,
        subject=_SUBJECT,
        message=message,
        evidence={"cluster_id": text},
        next_step=next_step,
    )


def _not_canonical(text: str, uuid: Uuid | None, stored: str, release: Release) -> Finding | None:
    if uuid is None or str(uuid) == text:
        return None
    what = "has padding" if "=" in text else "does not end in the canonical character"
    effect = f"Kafka {release.name} stores {stored}" if stored != text else "Kafka stores the id as given"
    return Finding(
        id="cluster-id-not-canonical",
        severity=Severity.WARNING,
        subject=_SUBJECT,
        message=f"the cluster id {text} {what} ({uuid} would be canonical); {effect}, other releases do otherwise",
        evidence={"cluster_id": text, "canonical": str(uuid), "stored": stored},
        next_step=f"For a new cluster give {uuid}; for an existing one give the id on its disks.",
    )


def _well_known(stored: str) -> Finding | None:
    if stored != APACHE_IMAGE_ID:
        return None
    return Finding(
        id="cluster-id-well-known",
        severity=Severity.WARNING,
        subject=_SUBJECT,
        message=f"{stored} is the id that the Apache Kafka image gives to every cluster that is not given one, "
        "so nodes of different clusters would not notice that they talk to each other",
        evidence={"cluster_id": stored},
    )
