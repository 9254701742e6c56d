"""Rules of the records of ACLs, SCRAM credentials and delegation tokens."""

from __future__ import annotations

from kafkactl.metadata.image.model import Acl, DelegationToken, ScramCredential
from kafkactl.metadata.replay.state import ContradictionError, State
from kafkactl.protocol.codec import Message

_MECHANISMS = frozenset({1, 2})  # clients/.../admin/ScramMechanism.java; 0 is UNKNOWN and never written


def add_acl(state: State, data: Message) -> None:
    """Apply an AccessControlEntryRecord (`AclsDelta.java`)."""
    state.acls[data["Id"]] = Acl(
        id=data["Id"],
        resource_type=data["ResourceType"],
        resource_name=data["ResourceName"],
        pattern_type=data["PatternType"],
        principal=data["Principal"],
        host=data["Host"],
        operation=data["Operation"],
        permission_type=data["PermissionType"],
    )


def remove_acl(state: State, data: Message) -> None:
    """Apply a RemoveAccessControlEntryRecord."""
    if state.acls.pop(data["Id"], None) is None:
        text = "RemoveAccessControlEntryRecord for an ACL that is not there"
        raise ContradictionError("unknown-acl-in-record", f"ACL {data['Id']}", text)


def set_scram(state: State, data: Message) -> None:
    """Apply a UserScramCredentialRecord (`ScramDelta.java`)."""
    if data["Mechanism"] not in _MECHANISMS:
        text = f"the SCRAM mechanism {data['Mechanism']}; 1 and 2 are known"
        raise ContradictionError("unknown-value-in-record", f"user {data['Name']}", text)
    state.scram[data["Mechanism"], data["Name"]] = ScramCredential(
        salt=data["Salt"], stored_key=data["StoredKey"], server_key=data["ServerKey"], iterations=data["Iterations"]
    )


def remove_scram(state: State, data: Message) -> None:
    """Apply a RemoveUserScramCredentialRecord. If the user does not exist, the controller throws; the image ignores the
    record."""
    if state.scram.pop((data["Mechanism"], data["Name"]), None) is None:
        text = f"RemoveUserScramCredentialRecord of mechanism {data['Mechanism']} for a user that has none"
        raise ContradictionError("unknown-scram-user-in-record", f"user {data['Name']}", text)


def set_token(state: State, data: Message) -> None:
    """Apply a DelegationTokenRecord: a new token, or a renewed one (`DelegationTokenDelta.java`)."""
    state.delegation_tokens[data["TokenId"]] = DelegationToken(
        token_id=data["TokenId"],
        owner=data["Owner"],
        requester=data["Requester"],
        renewers=tuple(data["Renewers"]),
        issue_timestamp_ms=data["IssueTimestamp"],
        max_timestamp_ms=data["MaxTimestamp"],
        expiration_timestamp_ms=data["ExpirationTimestamp"],
    )


def remove_token(state: State, data: Message) -> None:
    """Apply a RemoveDelegationTokenRecord; the image ignores an unknown token."""
    state.delegation_tokens.pop(data["TokenId"], None)
