"""The rules that an active controller follows, from its release and the finalized levels.

Differences between releases are in schemas/features/election_rules.toml, differences between records of different
levels in schemas/replay/record_versions.toml. The rest that depends on levels is here: `MetadataVersion.java` (leader
epoch on a smaller ISR) and KIP-966 (ELR).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import ELR_VERSION, METADATA_VERSION
from kafkactl.dryrun.controller.election import Completion, ElectionRules
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.record_versions import first_level_with, record_version
from kafkactl.protocol.schema.release_table import ReleaseTable, read_release_table
from kafkactl.protocol.text.java_text import hash_map_order

LEVEL_OF_SILENCE: Final = 1  # metadata.version of a log without a record of it
_EPOCH_STAYS_FROM: Final = 12  # 3.6-IV0: a smaller ISR leaves the leader epoch as it is (KAFKA-15021)
MOST_RECORDS_OF_REQUEST: Final = 10_000  # QuorumController.MAX_RECORDS_PER_USER_OP
_RELEASE_FIELDS: Final = {
    "last_known_must_live",
    "last_known_of_any_loss",
    "completes_when",
    "fences_again_after_shutdown",
    "zookeeper_mode",
    "isr_in_hash_order",
    "unclean_by_config",
    "shrinks_by_target",
    "registration_clears_isr",
    "checks_cordoned",
    "bounded_requests",
    "min_isr_capped",
}


@frozen
class Rules:
    """Behaviour of an active controller and its brokers, by release and levels.

    `elections`: the rules of leader elections. `fences_again_after_shutdown`: a broker that left by a controlled
    shutdown is fenced a second time when its session expires (4.0 on, measured). `registration_clears_isr`: a new
    incarnation is removed from the ISRs that it is still in (4.0 on, KAFKA-18106; before, a registration changes no
    partition, measured on 3.3.2 and 3.6.2). `cordons`: brokers report cordoned directories at each start
    (metadata.version 4.3-IV0). `isr_in_hash_order`: a leader reports an ISR in the order of a hash table (4.2 on),
    before that in the order in which the replicas joined it (both measured). `checks_cordoned`: the controller checks
    changes of cordoned.log.dirs (4.3 on, KIP-1066). `bounded_requests`: a request may write at most
    `MOST_RECORDS_OF_REQUEST` records, whether it is atomic or not (3.5 on, KAFKA-14996). `min_isr_capped`: of
    min.insync.replicas no more counts than a partition has replicas (3.7 on).
    """

    elections: ElectionRules
    metadata_version: int
    fences_again_after_shutdown: bool
    isr_in_hash_order: bool
    registration_clears_isr: bool
    checks_cordoned: bool
    bounded_requests: bool
    min_isr_capped: bool

    @property
    def cordons(self) -> bool:
        """Return True if a starting broker reports its cordoned directories."""
        return self.has("cordoned")

    def enough(self, min_isr: int, replicas: int) -> int:
        """Return the number of replicas in sync that acks=all needs."""
        return min(min_isr, replicas) if self.min_isr_capped else min_isr

    def has(self, part: str) -> bool:
        """Return True if records can hold a part, by its name in schemas/replay/record_versions.toml."""
        return self.metadata_version >= first_level_with(part)

    def version_of(self, record_type: str) -> int:
        """Return the version in which a record is written at this metadata.version; 0 if there is but one."""
        return record_version(record_type, self.metadata_version)


def grown_isr(isr: tuple[int, ...], joined: Iterable[int], rules: Rules) -> tuple[int, ...]:
    """Return the ISR as a leader reports it when replicas joined it; several at once are taken in ascending order."""
    members = (*isr, *sorted(joined))
    return tuple(members[at] for at in hash_map_order(members)) if rules.isr_in_hash_order else members


def rules_of(release: Release, levels: Mapping[str, int], *, migration_enabled: bool = False) -> Rules:
    """Return the rules of a release at these levels.

    `migration_enabled` is zookeeper.metadata.migration.enable (to 3.9).
    """
    of_release = dict(_table().at(release.numbers))
    again, zookeeper = of_release.pop("fences_again_after_shutdown"), of_release.pop("zookeeper_mode")
    in_hash_order = of_release.pop("isr_in_hash_order")
    clears_isr = of_release.pop("registration_clears_isr")
    checks_cordoned, bounded = of_release.pop("checks_cordoned"), of_release.pop("bounded_requests")
    capped = of_release.pop("min_isr_capped")
    completes_when = Completion(of_release.pop("completes_when"))
    level = levels.get(METADATA_VERSION, LEVEL_OF_SILENCE)
    return Rules(
        elections=ElectionRules(
            elr=levels.get(ELR_VERSION, 0) > 0,
            directories=level >= first_level_with("replica-directories"),
            epoch_on_shrink=level < _EPOCH_STAYS_FROM or (zookeeper and migration_enabled),
            completes_when=completes_when,
            **of_release,
        ),
        metadata_version=level,
        fences_again_after_shutdown=again,
        isr_in_hash_order=in_hash_order,
        registration_clears_isr=clears_isr,
        checks_cordoned=checks_cordoned,
        bounded_requests=bounded,
        min_isr_capped=capped,
    )


@functools.cache
def _table() -> ReleaseTable:
    return read_release_table("features/election_rules.toml", _RELEASE_FIELDS)
