"""Findings about exposed secrets: each where it belongs, and none for a safe connection or file."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding
from kafkactl.kafka.api.exposure import (
    client_exposure,
    file_exposure,
    inventory_exposure,
    roll_inventory_exposure,
    zookeeper_exposure,
)
from kafkactl.kafka.client_config import load_client_config, read_client_config
from kafkactl.migration.inventory import parse_inventory
from kafkactl.migration.io.zookeeper.settings import zookeeper_settings

PASSWORD = "passw0rd-of-a-client"
PLAIN = (
    "sasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="a" password="{PASSWORD}";\n'
)
SCRAM = PLAIN.replace("sasl.mechanism=PLAIN", "sasl.mechanism=SCRAM-SHA-512")
OAUTH = (
    "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config="
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=a "
    f'clientSecret="{PASSWORD}"{{more}};\nsasl.oauthbearer.token.endpoint.url={{url}}\n'
)


def exposed(folder: Path, text: str, mode: int = 0o600) -> list[Finding]:
    file = folder / "client.properties"
    file.write_text(text)
    file.chmod(mode)
    found = list(client_exposure(load_client_config(str(file))))
    assert PASSWORD not in repr(found)
    assert all(finding.advice for finding in found)
    return found


def ids(found: list[Finding] | tuple[Finding, ...]) -> list[str]:
    return [finding.id for finding in found]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("security.protocol=SASL_PLAINTEXT\n" + PLAIN, ["login-in-the-clear"]),
        ("security.protocol=SASL_SSL\n" + PLAIN, []),
        ("security.protocol=SASL_PLAINTEXT\n" + SCRAM, []),
        ("security.protocol=PLAINTEXT\n" + PLAIN, []),
        ("security.protocol=SSL\nssl.endpoint.identification.algorithm=\n", ["host-name-not-checked"]),
        ("security.protocol=SSL\nssl.endpoint.identification.algorithm=https\n", []),
        ("security.protocol=PLAINTEXT\nssl.endpoint.identification.algorithm=\n", []),
        (OAUTH.format(url="https://tokens.example/t", more=""), []),
        (OAUTH.format(url="http://tokens.example/t", more=""), ["login-in-the-clear"]),
        (OAUTH.format(url="http://127.0.0.1:1/t", more=""), []),
        (
            OAUTH.format(url="https://tokens.example/t", more=' ssl.endpoint.identification.algorithm=""'),
            ["host-name-not-checked"],
        ),
        (OAUTH.format(url="http://[x", more=""), []),  # reported where the URL is used
        (
            OAUTH.format(url="https://t.example", more="").replace("SASL_SSL", "SASL_PLAINTEXT"),
            ["login-in-the-clear"],
        ),
    ],
)
def test_exposed_connection_is_reported(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert ids(exposed(tmp_path, text)) == expected


def test_proxy_before_an_http_endpoint_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://user:proxy-passw0rd@proxy.example:3128")
    text = OAUTH.format(url="http://tokens.example/t", more="")
    found = exposed(tmp_path, text)
    assert ids(found) == ["login-in-the-clear", "proxy-sees-secret"]
    assert "proxy.example:3128" in found[1].message and "proxy-passw0rd" not in repr(found)
    assert ids(exposed(tmp_path, text.replace("http://tokens", "https://tokens"))) == []
    monkeypatch.setenv("no_proxy", "tokens.example")
    assert ids(exposed(tmp_path, text)) == ["login-in-the-clear"]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0o600, []),
        (0o640, []),
        (0o644, ["secret-file-readable"]),
        (0o666, ["trusted-file-writable", "secret-file-readable"]),
        (0o602, ["trusted-file-writable"]),
    ],
)
def test_readable_file_with_secrets_is_reported(tmp_path: Path, mode: int, expected: list[str]) -> None:
    assert ids(exposed(tmp_path, "security.protocol=SASL_SSL\n" + PLAIN, mode)) == expected
    assert ids(exposed(tmp_path, "security.protocol=SSL\n", mode)) == []  # nothing secret in it


@pytest.mark.parametrize(
    ("owner", "group", "mode", "readers"),
    [
        ("ann", "ann", 0o640, None),  # her private group
        ("ann", "ops", 0o640, "the group ops"),
        ("ann", "ops", 0o600, None),
        ("ann", "ops", 0o610, None),
        ("ann", "ops", 0o644, "every user of this machine"),
        ("ann", "ann", 0o604, "every user of this machine"),
        ("root", "ops", 0o640, None),  # so root gives a service its secrets
        ("root", "ops", 0o644, "every user of this machine"),
        ("7001", "7001", 0o640, None),  # names that are not known here
        ("7001", "7002", 0o640, "the group 7002"),
    ],
)
def test_group_with_access_to_a_secret_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str, group: str, mode: int, readers: str | None
) -> None:
    numbers = {"root": 0, "ann": 6001, "ops": 6002, "7001": 7001, "7002": 7002}
    names = {number: name for name, number in numbers.items() if not name.isdigit()}
    monkeypatch.setattr(pwd, "getpwuid", lambda number: SimpleNamespace(pw_name=names[number]))
    monkeypatch.setattr(grp, "getgrgid", lambda number: SimpleNamespace(gr_name=names[number]))
    real = os.stat

    def as_theirs(path: str, **more: object) -> object:
        if Path(path).name != "f":
            return real(path, **more)
        return SimpleNamespace(st_mode=stat.S_IFREG | mode, st_uid=numbers[owner], st_gid=numbers[group])

    (tmp_path / "f").touch(0o600)
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", as_theirs)
        found = file_exposure(str(tmp_path / "f"), "it")
    assert ids(found) == ([] if readers is None else ["secret-file-readable"])
    assert readers is None or readers in found[0].message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to another user")
def test_group_readable_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.touch(0o600)
    file.chmod(0o640)
    os.chown(file, 65534, 4)  # uid 65534, group adm
    assert [finding.message for finding in file_exposure(str(file), "it")] == [
        f"it {file} can be read by the group {grp.getgrgid(4).gr_name} (mode 0640)"
    ]


def test_file_in_a_writable_folder_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    (folder / "f").touch(0o600)
    for mode, expected in ((0o755, []), (0o777, ["trusted-file-writable"]), (0o1777, [])):
        folder.chmod(mode)
        assert ids(file_exposure(str(folder / "f"), "it")) == expected


def test_readable_files_in_properties_are_reported(tmp_path: Path) -> None:
    for name in ("key.pem", "token"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o644)
    found = exposed(tmp_path, f"security.protocol=SSL\nssl.keystore.location={tmp_path}/key.pem\n")
    assert ids(found) == ["secret-file-readable"] and "key.pem" in found[0].message
    token = OAUTH.format(url=f"file://{tmp_path}/token", more="")
    assert ids(exposed(tmp_path, token)) == ["secret-file-readable"]
    assert ids(exposed(tmp_path, "security.protocol=SSL\nssl.keystore.location=/nowhere\n")) == []
    module = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true principal=a"
    kerberos = f'security.protocol=SASL_SSL\nsasl.jaas.config={module} keyTab="{tmp_path}/token";\n'
    found = exposed(tmp_path, kerberos)
    assert ids(found) == ["secret-file-readable"] and "the keytab" in found[0].message


def test_exposed_settings_of_zookeeper_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "zk.properties"
    file.write_text("x")
    file.chmod(0o600)
    on = {"zookeeper.ssl.client.enable": "true"}
    off = {"zookeeper.ssl.endpoint.identification.algorithm": ""}
    assert ids(zookeeper_exposure({**on, **off}, str(file))) == ["host-name-not-checked"]
    assert ids(zookeeper_exposure(on, str(file))) == ids(zookeeper_exposure(off, str(file))) == []
    file.chmod(0o644)
    with_password = {**on, "zookeeper.ssl.keystore.password": PASSWORD}
    assert ids(zookeeper_exposure(with_password, str(file))) == ["secret-file-readable"]
    assert ids(zookeeper_exposure({"password.encoder.secret": PASSWORD}, str(file))) == ["secret-file-readable"]
    assert ids(zookeeper_exposure({"zookeeper.connect": "zk1:2181"}, str(file))) == []
    assert ids(zookeeper_exposure({"zookeeper.ssl.keystore.location": str(file)}, "none")) == ["secret-file-readable"]
    assert ids(zookeeper_exposure({"java.security.auth.login.config": str(file)}, "none")) == ["secret-file-readable"]


def test_exposed_inventory_and_its_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "client").write_text("security.protocol=SASL_PLAINTEXT\n" + PLAIN)
    (tmp_path / "zk").write_text("zookeeper.sasl.jaas.config=x\n")
    (tmp_path / "inventory.toml").write_text("x")
    for name, mode in (("client", 0o644), ("zk", 0o644), ("inventory.toml", 0o646)):
        (tmp_path / name).chmod(mode)
    text = """command_config = "client"
[zookeeper]
connect = "z:1"
config = "zk"
""" + "".join(
        f'[[nodes]]\nid = {number}\nrole = "{role}"\naddress = "h{number}:1"\nconfig = "/c"\n'
        for number, role in ((1, "broker"), (2, "controller"))
    )
    found = inventory_exposure(parse_inventory(text, file=str(tmp_path / "inventory.toml")))
    assert ids(found) == [
        "trusted-file-writable", "login-in-the-clear", "secret-file-readable", "secret-file-readable",
    ]  # fmt: skip


def test_journals_in_a_directory_that_others_may_write_are_reported(tmp_path: Path) -> None:
    file, folder = tmp_path / "roll.toml", tmp_path / "journal"
    file.write_text("x")
    assert roll_inventory_exposure(str(file), journal="journal") == ()
    folder.mkdir()
    assert roll_inventory_exposure(str(file), journal="journal") == ()
    folder.chmod(0o1777)
    (found,) = roll_inventory_exposure(str(file), journal="journal")
    assert (found.id, "every user" in found.message) == ("trusted-file-writable", True)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a directory to another user")
def test_journals_of_a_user_who_does_not_own_the_inventory_are_reported(tmp_path: Path) -> None:
    file, folder = tmp_path / "roll.toml", tmp_path / "journal"
    file.write_text("x")
    folder.mkdir()
    os.chown(folder, 65_534, -1)
    (found,) = roll_inventory_exposure(str(file), journal="journal")
    assert (found.id, "belongs to" in found.message) == ("trusted-file-writable", True)
    os.chown(file, 65_534, -1)
    assert roll_inventory_exposure(str(file), journal="journal") == ()


@pytest.mark.parametrize(
    ("line", "is_refused"),
    [
        ("ssl.cipher.suites=TLS_AES_256_GCM_SHA384", True),
        ("ssl.cipher.suites=", False),
        ("ssl.engine.factory.class=com.example.Fips", True),
        ("ssl.engine.factory.class=org.apache.kafka.common.security.ssl.DefaultSslEngineFactory", False),
        ("ssl.trustmanager.algorithm=AcmeCrl", True),
        ("ssl.trustmanager.algorithm=PKIX", False),
        ("ssl.keymanager.algorithm=SunX509", False),
        ("ssl.protocol=TLSv1.1", True),
        ("ssl.protocol=TLSv1.3", False),
        ("ssl.provider=BCJSSE", True),
        ("security.providers=com.example.Provider", True),
        ("ssl.secure.random.implementation=SHA1PRNG", False),
    ],
)
def test_tls_setting_that_is_not_followed_is_an_error(line: str, is_refused: bool) -> None:
    for protocol in ("SSL", "PLAINTEXT"):
        config = read_client_config(f"security.protocol={protocol}\n{line}\n".encode(), file="f")
        if is_refused and protocol == "SSL":
            with pytest.raises(InputError) as caught:
                config.access()
            assert caught.value.id == "tls-setting-not-supported"
            assert line.partition("=")[0] in caught.value.message
        else:
            config.access()  # without TLS it decides nothing


@pytest.mark.parametrize(
    ("key", "value", "is_refused"),
    [
        ("crl.enable", "true", True),
        ("crl.enable", "false", False),
        ("ocsp.enable", "true", True),
        ("cipher.suites", "TLS_RSA_WITH_NULL_SHA", True),
        ("cipher.suites", "", False),
        ("protocol", "TLSv1", True),
        ("protocol", "TLSv1.2", False),
        ("context.supplier.class", "com.example.X", True),
    ],
)
def test_tls_setting_of_zookeeper_that_is_not_followed_is_an_error(key: str, value: str, is_refused: bool) -> None:
    given = {f"zookeeper.ssl.{key}": value}
    zookeeper_settings(given)  # no TLS, no matter
    tls = {"zookeeper.ssl.client.enable": "true", **given}
    if not is_refused:
        zookeeper_settings(tls)
        return
    with pytest.raises(InputError) as caught:
        zookeeper_settings(tls)
    assert caught.value.id == "tls-setting-not-supported"
    assert f"zookeeper.ssl.{key}" in caught.value.message
