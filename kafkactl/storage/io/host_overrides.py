"""Settings that a running node of this host got on its command line, before those of its file (`--override`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kafkactl.core.findings import Finding, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.files import processes
from kafkactl.storage.io.host_release import is_trusted, names_file

_ID = "node-file-overridden"


@frozen
class HostOverrides:
    """Settings of the command line of the node that runs with a file. The values may be secrets.

    `values` is None if they are not used: another user than root, this one and the owner of the file started the
    process, or several processes run with the file and have different settings.
    """

    process_ids: tuple[int, ...]
    keys: tuple[str, ...]
    values: Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def why_unused(self) -> str | None:
        """Return the reason not to use the settings; None if they are used."""
        if self.values is not None:
            return None
        if len(self.process_ids) > 1:
            return "each process has its own"
        return "the user who started it is neither root, nor the user who asks, nor the owner of the file"

    def finding(self, config: str) -> Finding:
        """Return the finding about the file for an answer."""
        several = len(self.process_ids) > 1
        names = f"{'processes' if several else 'process'} {', '.join(map(str, self.process_ids))}"
        begin = f"{names} {'were' if several else 'was'} started with --override of {', '.join(self.keys)}"
        if self.why_unused is None:
            return note(_ID, config, f"{begin}, which counts before the file", keys=list(self.keys))
        return warning(_ID, config, f"{begin}, and the file alone is used: {self.why_unused}", keys=list(self.keys))


def overrides_on_host(config: str) -> HostOverrides | None:
    """Return the settings on the command line of the node that runs with this file; None if it has none.

    A process in a container has another file of that name.
    """
    found = [
        (process_id, processes.overrides_of(arguments))
        for process_id, arguments in processes.kafka_nodes()
        if names_file(process_id, arguments, config) and not processes.runs_in_container(process_id)
    ]
    keys = tuple(sorted({key for _, overrides in found for key in overrides}))
    if not keys:
        return None
    is_used = len({tuple(sorted(overrides.items())) for _, overrides in found}) == 1 and all(
        is_trusted(process_id, config) for process_id, _ in found
    )
    return HostOverrides(
        process_ids=tuple(process_id for process_id, _ in found), keys=keys, values=found[0][1] if is_used else None
    )
