"""The driver's port on a real cluster: inventory, hooks and observations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from kafkactl.change.clock import Clock
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import FailedError, InputError
from kafkactl.features.api.cluster import change_levels, feature_request
from kafkactl.files.clock import SystemClock
from kafkactl.files.hook_calls import ask_node
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.local_hooks import get_config, put_config
from kafkactl.files.whole_file import make_folders, write_whole
from kafkactl.roll.driver.ports import LevelChange
from kafkactl.roll.inventory import RollInventory, RollInventoryNode
from kafkactl.roll.io.observe import RollObserver
from kafkactl.roll.io.saved_observation import with_log
from kafkactl.roll.observation import RollObservation

LOCAL: Final = {Verb.GET_CONFIG: get_config, Verb.PUT_CONFIG: put_config}
_GONE: Final = frozenset({"gone", "inactive", "stopped", "dead", "failed", "exited", "no", "false", "succeeded", ""})
_LEVELS_MS: Final = 120_000.0
_OWNER_ONLY: Final = 0o600


class LiveRoll:
    """`RollPort` on a real cluster. `tell` shows a request to the operator; `kept` is the folder of replaced files."""

    def __init__(
        self,
        inventory: RollInventory,
        *,
        observe_ms: float,
        stop_ms: int,
        tell: Callable[[str], None],
    ) -> None:
        """Raise InputError for client properties that cannot be read."""
        self.kept: Path | None = None
        self._inventory = inventory
        self._observer = RollObserver(inventory, timeout_ms=observe_ms)
        self._stop_ms = stop_ms
        self._tell = tell
        self._clock = SystemClock()

    @property
    def clock(self) -> Clock:
        """Return the clock of the machine."""
        return self._clock

    def observe(self, refresh: frozenset[int] | None) -> RollObservation:
        """Observe the cluster."""
        return with_log(self._observer.observe(refresh))

    def ask(self, requests: Sequence[Request]) -> Mapping[int, HookRun]:
        """Run the hooks of several nodes at once; one alone in this thread, so that an interruption ends it."""
        if len(requests) == 1:
            return {requests[0].node: self._ask(requests[0])}
        with ThreadPoolExecutor(max_workers=max(1, len(requests))) as pool:
            return dict(zip([request.node for request in requests], pool.map(self._ask, requests), strict=True))

    def _ask(self, request: Request) -> HookRun:
        return ask_node(
            Path(self._inventory.file).parent,
            self._node(request.node),
            request,
            tell=self._tell,
            local=LOCAL,
            clock=self._clock,
            timeout_ms=self._stop_ms if request.verb is Verb.STOP else 0,
        )

    def has_hook(self, verb: Verb, node_id: int) -> bool:
        """Return True if the inventory has a command for the verb, or the files are of this machine."""
        hooks = self._node(node_id).hooks
        return verb in hooks.commands or (hooks.is_local and verb in LOCAL)

    def is_running(self, node_id: int) -> bool | None:
        """Return the answer of the hook `is_running`; None without one, or if it failed."""
        if not self.has_hook(Verb.IS_RUNNING, node_id):
            return None
        run = self._ask(Request(verb=Verb.IS_RUNNING, node=node_id, phase="original", seq=0, instruction=""))
        if not run.is_done:
            return None
        return run.stdout.decode("utf-8", "replace").strip().lower() not in _GONE

    def kept_folder(self, seq: int) -> str:
        """Return the folder of the files that a roll replaces."""
        return str(Path(self.kept or "").absolute() / f"roll-{seq}")

    def keep(self, content: bytes, *, folder: str | None, node_id: int) -> str:
        """Keep a file that is about to be replaced: by its checksum, and the first of a roll by its node."""
        name = hashlib.sha256(content).hexdigest()
        if self.kept is None:
            return name
        places = [self.kept / name] if folder is None else [self.kept / name, Path(folder, f"{node_id}.properties")]
        try:
            for place in places:
                make_folders(place.parent, mode=0o700)
                is_kept = place.exists() and (place.name != name or read_whole(place, InputKind.KEPT) == content)
                if not is_kept:
                    write_whole(place, content, mode=_OWNER_ONLY)
        except OSError as error:
            text = f"{self.kept}: the configuration before cannot be kept: {error.strerror or error}"
            raise FailedError(text, id="journal-not-written") from error
        return name

    def raise_levels(self, release: str) -> LevelChange:
        """Raise the levels as `features upgrade --release-version` does."""
        request = feature_request(release_version=release)
        for client in self._observer.clients():
            with client:
                change = change_levels(client, request, timeout_ms=_LEVELS_MS)
            return LevelChange(outcome=change.outcome, findings=change.findings)
        raise InputError("no node of the inventory has an address", id="bootstrap-missing")

    def _node(self, node_id: int) -> RollInventoryNode:
        found = self._inventory.node(node_id)
        if found is None:
            raise InputError(f"the inventory has no node {node_id}", id="node-not-in-inventory")
        return found
