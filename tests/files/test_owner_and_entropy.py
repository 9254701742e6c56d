"""`--owner`, and where ids and salts come from."""

from __future__ import annotations

import os
import pwd

import pytest

from kafkactl.core.errors import InputError
from kafkactl.files.entropy import SystemSource, random_uuid
from kafkactl.storage.io.owner import find_owner
from kafkactl.storage.model import Owner


def test_owner_is_found_by_name_or_number() -> None:
    me = pwd.getpwuid(os.geteuid())
    assert find_owner(me.pw_name) == Owner(text=me.pw_name, uid=me.pw_uid, gid=me.pw_gid)
    assert find_owner("4711:815") == Owner(text="4711:815", uid=4711, gid=815)
    assert find_owner("4711") == Owner(text="4711", uid=4711, gid=-1)
    assert find_owner(":815") == Owner(text=":815", uid=-1, gid=815)


@pytest.mark.parametrize("text", ["no-such-user", ":no-such-group", ":", "", "99999999999999", "0:x y"])
def test_unknown_owner_is_a_usage_error(text: str) -> None:
    with pytest.raises(InputError) as caught:
        find_owner(text)
    assert caught.value.id == "unknown-owner"
    assert caught.value.exit_code == 2


def test_ids_are_version_4_unreserved_and_no_option() -> None:
    ids = [random_uuid() for _ in range(500)]
    assert len(set(ids)) == 500
    for uuid in ids:
        assert uuid.raw[6] >> 4 == 4
        assert uuid.raw[8] >> 6 == 2
        assert not uuid.is_reserved
        assert not str(uuid).startswith("-")


def test_source_never_gives_an_id_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter([bytes(range(16)), bytes(range(16)), bytes(range(1, 17))])
    monkeypatch.setattr(os, "urandom", lambda count: next(given))
    source = SystemSource()
    assert source.directory_id("/d1") != source.directory_id("/d2")


def test_salts_are_long_and_different() -> None:
    source = SystemSource()
    assert len(source.scram_salt(0)) >= 16
    assert source.scram_salt(0) != source.scram_salt(0)
    assert source.now_ms() > 1_700_000_000_000
