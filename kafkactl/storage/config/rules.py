"""Would this release of Kafka load this configuration? All reasons why not, in the order in which Kafka meets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkactl.protocol.text.config_values import Problem
from kafkactl.storage.config import kraft, limits
from kafkactl.storage.config.keys import ProblemFound, Unusable
from kafkactl.storage.config.view import ConfigView

Rule = Callable[[ConfigView], Iterator[Problem]]

RULES: tuple[Rule, ...] = (
    kraft.check_roles,
    limits.check_codecs,
    limits.check_constructor_bounds,
    limits.check_group_limits,
    limits.check_rack_tags,
    kraft.check_early_start_listeners,
    kraft.check_connection_overrides,
    kraft.check_inter_broker_protocol,
    kraft.check_group_protocols,
    kraft.check_ids,
    kraft.check_zookeeper,
    limits.check_log_limits,
    limits.check_cordoned,
    kraft.check_quorum,
    kraft.check_advertised_controllers,
    kraft.check_membership,
    kraft.check_broker_only_listeners,
    kraft.check_controller_only_listeners,
    kraft.check_controller_listeners,
    kraft.check_broker_listeners,
    kraft.check_routable,
    kraft.check_sasl,
    limits.check_connection_limits,
    kraft.check_connections_per_ip,
)


def check_config(view: ConfigView) -> list[Problem]:
    """Ask every rule. A rule whose values are wrong themselves says nothing."""
    problems: list[Problem] = []
    for rule in RULES:
        try:
            for problem in rule(view):
                problems.append(problem)
        except Unusable:
            continue
        except ProblemFound as found:
            problems.append(found.problem)
    return list(dict.fromkeys(problems))
