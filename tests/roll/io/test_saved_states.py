"""States of a cluster, observed, saved and read again: the saved state gives the answers of the live one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.frozen import changed
from kafkactl.metadata.io.source import open_source
from kafkactl.roll.api import RollRequest, check, plan, plan_rollback, plan_run, status
from kafkactl.roll.io.saved_observation import CapturedRoll, load_observation, save_observation, with_log
from kafkactl.roll.observation import RollObservation
from tests.roll.rolls import Roll, config
from tests.roll.test_states import NEW, STATES, State, sound, upgraded
from tests.sampling import one_in

SECRETS = {
    "ssl_keystore_password": "hunter2",
    "listener_name_plaintext_plain_sasl_jaas_config": "org.apache.kafka.common.security.plain.PlainLoginModule "
    'required username="u" password="hunter2";',
    "my_own_plugin_token": "hunter2",
}  # fmt: skip


def answers(seen: RollObservation, to: str | None) -> list[dict[str, Any]]:
    request = RollRequest(to=to)
    found: list[Any] = [check(seen, request), plan(seen, request), status(seen, request), plan_run(seen, request)]
    if to is not None:
        found.append(plan_rollback(seen, request))
    return [answer.to_dict() for answer in found]


def captured(roll: Roll, folder: Path) -> CapturedRoll:
    """Return what an observer captures: answers, files, journal, and the log of the leader as it is on the disk."""
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / "00000000000000000000.log").write_bytes(roll.log_bytes())
    return CapturedRoll(observation=changed(roll.observation(), log=None), logs={roll.leader: open_source(str(log))})


@pytest.mark.parametrize("state", one_in(4, STATES), ids=lambda state: state.name)
def test_saved_state_has_the_answers_of_the_live_one(state: State, tmp_path: Path) -> None:
    made = state.make()
    if isinstance(made, RollObservation):  # its log was not read
        live = CapturedRoll(observation=made, logs={})
    else:
        live = captured(made, tmp_path / "disk")
    save_observation(tmp_path / "saved", live)
    assert answers(load_observation(tmp_path / "saved"), state.to) == answers(with_log(live), state.to)


@pytest.mark.parametrize("make", [sound, lambda: upgraded(1, 2, 3)])
def test_secrets_that_are_left_out_change_no_answer(make: Any, tmp_path: Path) -> None:
    roll = make()
    roll.change(11, config=config(11, ["broker"], **SECRETS), meta_properties="node.id=11\n")
    roll.configs.append((4, "11", "ssl.keystore.password", "hunter2"))
    live = captured(roll, tmp_path / "disk")
    save_observation(tmp_path / "saved", live)
    assert all(b"hunter2" not in path.read_bytes() for path in (tmp_path / "saved").rglob("*") if path.is_file())
    assert answers(load_observation(tmp_path / "saved"), NEW) == answers(with_log(live), NEW)
