"""Writer of `quorum-state` files, as Kafka writes them: kafkactl only reads them."""

from __future__ import annotations

import json
from typing import Any

from kafkactl.metadata.log.quorum_state import QuorumStateFile
from kafkactl.protocol.codec import encode_message
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.schema.definitions import message


def encode_quorum_state(state: QuorumStateFile) -> bytes:
    """Return the bytes that Kafka writes for this election. Raise EncodeError if a number does not fit."""
    spec = message("QuorumStateData")
    value: dict[str, Any] = {
        "ClusterId": state.cluster_id,
        "LeaderId": state.leader_id,
        "LeaderEpoch": state.leader_epoch,
        "VotedId": state.voted_id,
        "VotedDirectoryId": state.voted_directory_id,
        "AppliedOffset": state.applied_offset,
        "CurrentVoters": [{"VoterId": voter} for voter in state.current_voters],
    }
    encode_message(spec, state.data_version, value)
    shown = {**to_json(spec, state.data_version, value), "data_version": state.data_version}
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
