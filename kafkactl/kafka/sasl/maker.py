"""Type of the function that makes a SASL mechanism for a connection."""

from __future__ import annotations

from collections.abc import Callable

from kafkactl.change.clock import Deadline
from kafkactl.net.transport import Address
from kafkactl.protocol.sasl.mechanism import Mechanism

MakeMechanism = Callable[[Address, Deadline], Mechanism]
