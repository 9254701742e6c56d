"""SCRAM arguments: both grammars, the keys, and that nothing secret is ever repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import InputError
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.format.scram import ScramCredential, parse_scram, read_scram_lines
from kafkactl.storage.format.scram_argument import read_argument, read_old_argument

NEW, OLD = find_release("4.3"), find_release("3.8")
# Made by Kafka's own writers (the shared specification, 2.4 D).
ALICE = 'SCRAM-SHA-256=[name=alice,password=alice-secret,salt="N3E=",iterations=4096]'
STORED = "fd2898bae04a676c506015464de9fa8d27ef8446427f0dadfc7b2259156d9536"
SERVER = "4a48c801c0debe74825a82b2b74a361017286484a7c525aaf3570b2c3d10d39d"
SALT = b"7q"


def parse(text: str, release=NEW) -> ScramCredential:
    return parse_scram(text, release=release, salt=SALT)


@pytest.mark.parametrize("release", ["3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.4"])
def test_credential_equals_that_of_kafka(release: str):
    credential = parse(ALICE, find_release(release))
    assert (credential.stored_key.hex(), credential.server_key.hex()) == (STORED, SERVER)
    assert credential.record_value() == {
        "Name": "alice",
        "Mechanism": 1,
        "Salt": SALT,
        "StoredKey": bytes.fromhex(STORED),
        "ServerKey": bytes.fromhex(SERVER),
        "Iterations": 4096,
    }
    assert credential.warnings == ()


@pytest.mark.parametrize("release", [NEW, OLD])
def test_salt_that_is_named_comes_before_the_given_one(release):
    credential = parse_scram(ALICE, release=release, salt=b"another")
    assert (credential.salt, credential.stored_key.hex()) == (SALT, STORED)


def test_given_salt_is_used_where_none_is_named():
    assert parse("SCRAM-SHA-256=[name=alice,password=alice-secret]").stored_key.hex() == STORED
    other = parse_scram("SCRAM-SHA-256=[name=alice,password=alice-secret]", release=NEW, salt=b"x")
    assert (other.salt, other.stored_key.hex()) != (SALT, STORED)


def test_salted_password_needs_no_password():
    import base64
    import hashlib

    salted = base64.b64encode(hashlib.pbkdf2_hmac("sha512", b"p\xc3\xa4ss", SALT, 5000)).decode()
    given_salted = parse(f"SCRAM-SHA-512=[name=bob,saltedpassword={salted},salt=N3E=,iterations=5000]")
    from_password = parse("SCRAM-SHA-512=[name=bob,password=päss,salt=N3E=,iterations=5000]")
    assert given_salted == from_password
    assert (given_salted.mechanism.type, given_salted.iterations, len(given_salted.stored_key)) == (2, 5000, 64)


@pytest.mark.parametrize(
    ("text", "name", "iterations"),
    [
        ("  SCRAM-SHA-256=[name=a,password=b]  ", "a", 4096),
        ('SCRAM-SHA-256=[name="a b",password="c"]', "a b", 4096),
        ("SCRAM-SHA-256=[name=,password=b,]", "", 4096),
        ("SCRAM-SHA-256=[password=b=c=,name=a]", "a", 4096),
        ("SCRAM-SHA-256=[name=a,name=b,password=c,iterations=+16384]", "b", 16384),
        ("SCRAM-SHA-256=[name=a,password=b,salt=]", "a", 4096),
    ],
)
def test_scram_arguments_of_3_9_and_later_are_parsed(text: str, name: str, iterations: int):
    credential = parse(text)
    assert (credential.name, credential.iterations) == (name, iterations)


SECRET = "hunter2"
REFUSED_BY_ALL = [
    ("", "malformed-scram-argument|unsupported-scram-mechanism", ""),
    (f"SCRAM-SHA-1=[name=a,password={SECRET}]", "unsupported-scram-mechanism", "The add-scram mechanism SCRAM-SHA-1"),
    (f"{SECRET}=[name=a]", "unsupported-scram-mechanism", "The add-scram mechanism is not supported"),
    (f"SCRAM-SHA-256=[password={SECRET}]", "scram-name-missing", "You must supply 'name' to add-scram"),
    ("SCRAM-SHA-256=[name=a]", "scram-password-missing", "You must supply one of 'password' or 'saltedpassword'"),
    ('SCRAM-SHA-256=[name=a,password=""]', "scram-password-missing", "Empty key"),
    (f"SCRAM-SHA-256=[name=a,saltedpassword={SECRET}]", "scram-salt-missing", "You must supply 'salt'"),
    (f"SCRAM-SHA-256=[name=a,salt=%{SECRET},iterations=4096,password=b]", "invalid-scram-salt", "Failed to decode"),
    (
        f"SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,saltedpassword=%{SECRET}]",
        "invalid-scram-salted-password",
        "Failed to decode given saltedPassword",
    ),
    (
        f"SCRAM-SHA-256=[name=a,salt=N3E,iterations={SECRET},password=b]",
        "invalid-scram-iterations",
        "Failed to parse iterations count",
    ),
    (
        f"SCRAM-SHA-256=[name=a,salt=N3E,iterations=4095,password={SECRET}]",
        "invalid-scram-iterations",
        "The 'iterations' value must be >= 4096 for add-scram using SCRAM-SHA-256",
    ),
    (
        f"SCRAM-SHA-512=[name=a,salt=N3E,iterations=16385,password={SECRET}]",
        "invalid-scram-iterations",
        "The 'iterations' value must be <= 16384 for add-scram using SCRAM-SHA-512",
    ),
    (f"SCRAM-SHA-256=[name=a,{SECRET}]", "malformed-scram-argument", "component 2"),
]
REFUSED_BY_NEW = [
    ("SCRAM-SHA-256", "malformed-scram-argument", "Failed to find equals sign"),
    (f"SCRAM-SHA-256=name=a,password={SECRET}]", "malformed-scram-argument", "to start with ["),
    (f"SCRAM-SHA-256=[name=a,password={SECRET}", "malformed-scram-argument", "to end with ]"),
    ("SCRAM-SHA-256=[", "malformed-scram-argument", "to end with ]"),
    (f"SCRAM-SHA-256=[name=a, password={SECRET}]", "scram-password-missing", "You must supply one of"),
    (f"SCRAM-SHA-256=[name=a,password=b, iterations={SECRET}]", "unknown-scram-key", "' iterations'"),
    (f"SCRAM-SHA-256=[name=a,password=b,{SECRET}=c]", "unknown-scram-key", "1 not shown"),
    (f"scram-sha-256=[name=a,password={SECRET}]", "unsupported-scram-mechanism", "mechanism scram-sha-256"),
]
REFUSED_BY_OLD = [
    ("SCRAM-SHA-256", "malformed-scram-argument", "not followed by"),
    (f" SCRAM-SHA-256=[name=a,password={SECRET}]", "unsupported-scram-mechanism", "is not supported"),
    ("SCRAM-SHA-256=x", "malformed-scram-argument", "not followed by"),
    ("SCRAM-SHA-256=[]", "malformed-scram-argument", "component 1"),
    (f"SCRAM-SHA-256=[name=,password={SECRET}]", "malformed-scram-argument", "Index 1 out of bounds"),
    (f"SCRAM-SHA-256=[name=a,salt=N3E,password={SECRET}]", "scram-iterations-missing", "key not found: iterations"),
    (
        f"SCRAM-SHA-256=[name=a,password={SECRET},saltedpassword=b]",
        "scram-password-and-saltedpassword",
        "You must only supply one of 'password' or 'saltedpassword'",
    ),
]


@pytest.mark.parametrize(
    ("release", "text", "id", "words"),
    [(release, *case) for release in (NEW, OLD) for case in REFUSED_BY_ALL]
    + [(NEW, *case) for case in REFUSED_BY_NEW]
    + [(OLD, *case) for case in REFUSED_BY_OLD],
)
def test_invalid_scram_argument_is_refused_without_its_secret(release, text: str, id: str, words: str):
    with pytest.raises(InputError) as caught:
        parse(text, release)
    error = caught.value
    assert error.id in id.split("|")
    assert error.exit_code == 2
    assert words in error.message
    assert error.advice
    assert SECRET not in f"{error.to_dict()} {error!r} {error.__context__!r}"


def test_3_9_lets_the_password_win():
    credential = parse(f"{ALICE[:-1]},saltedpassword=%]")
    assert credential.stored_key.hex() == STORED
    assert [warning.id for warning in credential.warnings] == ["scram-password-and-saltedpassword"]


@pytest.mark.parametrize(
    ("text", "like", "warning"),
    [
        ("SCRAM-SHA-256=[name=a,password=ab cd]", "SCRAM-SHA-256=[name=a,password=a]", "scram-argument-truncated"),
        ("SCRAM-SHA-256=[name=a,password=ab=cd]", "SCRAM-SHA-256=[name=a,password=ab]", "scram-argument-truncated"),
        (
            "SCRAM-SHA-256=[name=a,password=b,iterations=9999]",
            "SCRAM-SHA-256=[name=a,password=b]",
            "scram-iterations-ignored",
        ),
        ('SCRAM-SHA-256={name=a,password=b"c"}', "SCRAM-SHA-256=[name=a,password=bc]", None),
        ('SCRAM-SHA-256=[name=a,password="b=c"]', 'SCRAM-SHA-256=[name=a,password="b=c"]', None),
        ("SCRAM-SHA-256=[name=a,password=b,color=red]", "SCRAM-SHA-256=[name=a,password=b]", None),
    ],
)
def test_arguments_are_parsed_as_by_releases_3_5_to_3_8(text: str, like: str, warning: str | None):
    credential, other = parse(text, OLD), parse(like, OLD)
    assert credential.stored_key == other.stored_key
    assert credential.iterations == 4096
    assert [found.id for found in credential.warnings] == ([warning] if warning else [])
    assert all("cd" not in str(found.to_dict()) for found in credential.warnings)


SALTED = "SCRAM-SHA-256=[name=alice,saltedpassword=c2FsdGVkLXNlY3JldA==,salt=N3E=,iterations=4096]"


@pytest.mark.parametrize("read", [read_argument, read_old_argument])
@pytest.mark.parametrize("text", [ALICE, SALTED])
def test_argument_that_was_read_does_not_show_its_secrets(read, text):
    argument = read(text)
    shown = repr(argument) + str([argument])
    assert "alice" in shown
    for secret in ("alice-secret", "salted-secret", "c2Fs", "N3E", repr(argument.salt)):
        assert secret not in shown


def test_secrets_stay_out_of_reprs():
    credential = parse(ALICE)
    shown = repr(credential) + str(credential)
    assert "alice" in shown
    for secret in ("alice-secret", STORED, SERVER, "N3E", repr(credential.stored_key), repr(SALT)):
        assert secret not in shown


@given(
    st.text(st.sampled_from('SCRAM-SHA256=[]name=,password salt"iterations0987'), max_size=60),
    st.sampled_from([NEW, OLD]),
)
def test_wrong_arguments_raise_declared_errors_only(text: str, release):
    for argument in (text, f"SCRAM-SHA-256=[{text}]", f"SCRAM-SHA-512=[name=x,password=y,{text}]"):
        try:
            parse(argument, release)
        except InputError as error:
            assert len(text) < 12 or text not in str(error.to_dict())


def test_file_of_arguments_is_read_by_line():
    data = b"\xef\xbb\xbf# admins\r\n\r\n  SCRAM-SHA-256=[name=a,password=#1]\n#x\r"
    data += "SCRAM-SHA-512=[name=b,password=ü]".encode()
    assert read_scram_lines(data, file="s") == (
        "SCRAM-SHA-256=[name=a,password=#1]",
        "SCRAM-SHA-512=[name=b,password=ü]",
    )


@pytest.mark.parametrize(
    ("data", "id", "words"),
    [
        (b"", "scram-file-empty", "users.txt holds no SCRAM argument"),
        (b"# nobody\n\n", "scram-file-empty", "users.txt holds no SCRAM argument"),
        (b"SCRAM-SHA-256=[name=a,password=\xfchunter2]", "scram-file-not-utf8", "users.txt: byte 31 is not UTF-8"),
    ],
)
def test_wrong_file_is_refused_without_its_content(data: bytes, id: str, words: str):
    with pytest.raises(InputError) as caught:
        read_scram_lines(data, file="users.txt")
    assert (caught.value.id, caught.value.exit_code) == (id, 2)
    assert words in caught.value.message
    assert "hunter2" not in repr(caught.value.to_dict())
