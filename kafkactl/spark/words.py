"""Kafka's words for the numbers that records hold, in capitals as its tools print them.

Sources: `clients/.../acl/{AclOperation,AclPermissionType}.java`, `resource/{ResourceType,PatternType}.java`,
`security/auth/SecurityProtocol.java`, `config/ConfigResource.java`,
`metadata/LeaderRecoveryState.java`. A number that no release defines is shown as a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RESOURCE_TYPES: Final[Mapping[int, str]] = dict(
    enumerate(("UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"))
)
PATTERN_TYPES: Final[Mapping[int, str]] = dict(enumerate(("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")))
OPERATIONS: Final[Mapping[int, str]] = dict(
    enumerate(
        (
            "UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
            "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
            "TWO_PHASE_COMMIT",
        )
    )
)  # fmt: skip
PERMISSION_TYPES: Final[Mapping[int, str]] = dict(enumerate(("UNKNOWN", "ANY", "DENY", "ALLOW")))
SECURITY_PROTOCOLS: Final[Mapping[int, str]] = dict(enumerate(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")))
CONFIG_TYPES: Final[Mapping[int, str]] = {
    2: "TOPIC",
    4: "BROKER",
    8: "BROKER_LOGGER",
    16: "CLIENT_METRICS",
    32: "GROUP",
}
RECOVERY_STATES: Final[Mapping[int, str]] = {0: "RECOVERED", 1: "RECOVERING"}


def word(words: Mapping[int, str], number: int) -> str:
    """Return Kafka's word for a number, or the number as text.

    >>> word(OPERATIONS, 3), word(OPERATIONS, 99)
    ('READ', '99')
    """
    return words.get(number, str(number))
