"""Small inputs that stand for much more: each ends in a typed error or an answer, in 512 MB and 30 s of computing.

Each command runs in a process of its own, whose address space and computing time are limited, so that a reader without
a bound fails the test and not the machine.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafkactl.bundle.manifest import Manifest, Member, PartResult, render_manifest
from tests.commands.test_bounded_inputs import CODE, MOST_BYTES, SEGMENT
from tests.commands.test_path_options import Things
from tests.protocol.batches import batch, gzipped, record

CPU_SECONDS = 30
NO_OP = b"\x01\x14\x00\x00"


class Bomb(NamedTuple):
    """A file, the words of the command that reads it (`{}` is its path, or its folder's), and how that ends."""

    name: str
    content: Callable[[], bytes]
    words: str
    exit_code: int
    error_id: str | None


def tiny_records(count: int, value: bytes | None) -> bytes:
    return b"".join(record(None, value, delta=delta) for delta in range(count))


@functools.cache
def many_gzips() -> bytes:
    """Return batches of 8 kB, each of which would become 8 MB."""
    held = gzipped(record(None, NO_OP + bytes(8_000_000)))
    return b"".join(batch(held, count=1, base_offset=offset, attributes=1) for offset in range(500))


@functools.cache
def claiming() -> bytes:
    """Return batches that say that they have as many records as there can be."""
    body = tiny_records(1, NO_OP)
    good = b"".join(batch(body, base_offset=offset) for offset in range(40))
    return good + b"".join(batch(body, base_offset=40 + offset * (2**31 - 1), count=2**31 - 1) for offset in range(40))


def zipped_lines(line: Callable[[int], bytes], count: int) -> bytes:
    return gzip.compress(b"".join(map(line, range(count))), 6)


@functools.lru_cache(maxsize=2)
def wide(count: int) -> bytes:
    return b"{" + b",".join(b'"%d":[]' % number for number in range(count)) + b"}"


def zip_of(*members: tuple[str, bytes], manifest: bytes | None = None) -> bytes:
    """Return a bundle as a stranger makes it, whose manifest names the members."""
    named = [Member(path=name, size=len(data), sha256=hashlib.sha256(data).hexdigest()) for name, data in members]
    part = PartResult(name="quorum.describe", about="x", members=tuple(name for name, _ in members))
    whole = Manifest(kafkactl_version="1", created_ms=5, cluster_id=None, parts=(part,), members=tuple(named))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (("manifest.json", manifest or render_manifest(whole)), *members):
            archive.writestr(name, data)
    return file.getvalue()


def parquet_of(rows: int, key: str) -> bytes:
    """Return a listing whose rows all have one key, which the file holds once."""
    import pyarrow as pa
    from pyarrow import parquet

    count = min(rows, 100_000)
    index = pa.array([0] * count, pa.int32())
    columns = {"key": pa.DictionaryArray.from_arrays(index, pa.array([key])), "size": index}
    table, file = pa.table(columns), io.BytesIO()
    with parquet.ParquetWriter(file, table.schema, compression="zstd", store_schema=False) as writer:
        for _ in range(rows // count):
            writer.write_table(table)
    return file.getvalue()


QUORUM = "answers/quorum.describe.json"
LOG, TREE = f"log/__cluster_metadata-0/{SEGMENT}", "zk.jsonl.gz"
FOLDER = "{folder}/log"
OBSERVED = "observation/observation.json"
PLAN = "storage apply {} --node 1 --yes"
STATUS = "migrate status --observation {seen}"
APPLY = "storage apply {plan} --node 1 --dry-run"
RENDER = "migrate render --inventory {migration} --out {folder}/out"
FORMAT = "storage format -c {config} -t q1Sh-9_ISia_zwGINzRvyQ --standalone --dry-run"
AUDIT = "tiered audit --observation {remote} --bucket {}"
TRUST = "nodes list --bootstrap-controller 127.0.0.1:1 --command-config {trust}"
BOMBS = [
    Bomb(LOG, lambda: batch(gzipped(tiny_records(100_000, b"")), count=100_000, attributes=1), "log dump {}", 2, None),
    Bomb(LOG, many_gzips, f"log verify {FOLDER}", 7, None),
    Bomb(LOG, many_gzips, f"dryrun replay {FOLDER}", 6, None),
    Bomb(LOG, claiming, f"log verify {FOLDER}", 7, None),
    Bomb(LOG, claiming, f"log dump {FOLDER}", 7, None),
    Bomb(LOG, claiming, f"dryrun replay {FOLDER}", 6, None),
    Bomb(LOG, lambda: batch(tiny_records(800_000, NO_OP), count=800_000), f"log dump {FOLDER}", 0, None),
    Bomb(LOG, lambda: batch(tiny_records(800_000, NO_OP), count=800_000), f"log image {FOLDER}", 0, None),
    Bomb(LOG, lambda: batch(tiny_records(800_001, NO_OP), count=800_001), f"log image {FOLDER}", 7, None),
    Bomb(TREE, lambda: zipped_lines(lambda _: b'{"path":"/a"}\n', 500_000),
         "dryrun zk-migration {}", 2, "saved-tree-too-large"),
    Bomb(TREE, lambda: gzip.compress(b"\n" * (17 << 20), 6), "dryrun zk-migration {}", 2, "saved-tree-too-large"),
    Bomb(TREE, lambda: zipped_lines(lambda _: b"[" * 4_000_000 + b"\n", 4), "dryrun zk-migration {}", 6, None),
    Bomb("observation/zk.jsonl.gz", lambda: gzip.compress(bytes(1 << 30)),
         "migrate status --observation {folder}/observation", 2, "saved-tree-too-large"),
    Bomb(OBSERVED, lambda: b'{"nodes":[' + b"{}," * 500_000 + b"{}]}",
         "migrate status --observation {folder}/observation", 2, "invalid-observation"),
    Bomb("plan.json", lambda: wide(900_000), PLAN, 2, "not-a-plan-file"),
    Bomb("plan.json", lambda: wide(3_000_000), PLAN, 2, "input-file-unreadable"),
    Bomb("plan.json", lambda: b"[" * 1_900_000, PLAN, 2, "not-a-plan-file"),
    Bomb("after.json", lambda: wide(3_000_000), "dryrun broker-loss {folder} --brokers 1 --after {}", 2, None),
    Bomb("fleet.toml", lambda: b"a" + b".a" * 190_000 + b"=1\n", "storage plan {} --out {folder}/plan", 2, None),
    Bomb("fleet.toml", lambda: b"a=1\n" * 1_000_000, "storage plan {} --out {folder}/plan", 2, "input-file-unreadable"),
    Bomb("plan.json", lambda: wide(3_000_000), f"dryrun reassignment {FOLDER} --plan {{}}", 2, "input-file-unreadable"),
    Bomb("plan.json", lambda: b"[" * 1_900_000, f"dryrun reassignment {FOLDER} --plan {{}}", 2, None),
    Bomb("journal.jsonl", lambda: b"[" * 1_900_000 + b"\n", f"{STATUS} --journal {{}}", 2, None),
    Bomb("journal.jsonl", lambda: b"{}\n" * 1_900_000, f"{STATUS} --journal {{}}", 2, None),
    Bomb("journal.jsonl", lambda: b"{},\n" * 3_000_000, f"{STATUS} --journal {{}}", 2, "input-file-unreadable"),
    Bomb("receipts/node-1.json", lambda: wide(900_000), f"{APPLY} --receipts {{folder}}/receipts", 2, None),
    Bomb("receipts/node-1.json", lambda: wide(3_000_000), f"{APPLY} --receipts {{folder}}/receipts", 2, None),
    Bomb("out/manifest.json", lambda: wide(900_000), RENDER, 3, None),
    Bomb("kafkactl/config.toml", lambda: b"a" + b".a" * 190_000 + b"=1\n", "config view", 2, "malformed-contexts-file"),
    Bomb("kafkactl/config.toml", lambda: b"a=1\n" * 250_000, "config view", 2, "unreadable-contexts-file"),
    Bomb("arguments", lambda: b"x\n" * 4_000_000, "storage @{}", 2, "wrong-usage"),
    Bomb("users", lambda: b"a\n" * 300_000, f"{FORMAT} --scram-file {{}}", 2, "input-file-unreadable"),
    Bomb("users", lambda: b"a\n" * 190_000, f"{FORMAT} --scram-file {{}}", 2, None),
    Bomb("quorum-state", lambda: wide(900_000), "storage dump {}", 7, None),
    Bomb("quorum-state", lambda: b"[" * 1_900_000, "storage dump {}", 7, None),
    Bomb("store.pem", lambda: b"-----BEGIN CERTIFICATE-----\n" * 500_000, TRUST, 2, None),
    Bomb("store.jks", lambda: b"\xfe\xed\xfe\xed" + b"\0\0\0\2\x7f\xff\xff\xff" + bytes(8_000_000), TRUST, 2, None),
    Bomb("store.p12", lambda: b"\x30\x84\x7f\xff\xff\xff" + b"\x30\x80" * 2_000_000, TRUST, 2, None),
    Bomb("server.properties", lambda: b"a\n" * 4_000_000, "storage verify -c {}", 2, "input-file-unreadable"),
    Bomb("client.properties", lambda: b"a\r" * 4_000_000,
         "quorum describe --bootstrap-controller 127.0.0.1:1 --command-config {}", 2, "unreadable-client-config"),
    Bomb("a.zip", lambda: zip_of(("a", bytes(1 << 28))), "quorum describe --bundle {}", 2, "hostile-bundle"),
    Bomb("a.zip", lambda: zip_of(manifest=wide(3_000_000)), "log verify --bundle {}", 2, "hostile-bundle"),
    Bomb("a.zip", lambda: zip_of(manifest=b"[" * 1_900_000), "log verify --bundle {}", 2, "invalid-bundle"),
    Bomb("a.zip", lambda: zip_of((QUORUM, wide(900_000))), "quorum describe --bundle {}", 2, "invalid-bundle"),
    Bomb("a.zip", lambda: zip_of((QUORUM, wide(3_000_000))), "quorum describe --bundle {}", 2, "hostile-bundle"),
    Bomb("a.zip", lambda: zip_of(*((f"n{number}", b"") for number in range(11_000))), "log image --bundle {}", 2,
         "hostile-bundle"),
    Bomb("l.gz", lambda: gzip.compress(b"k 1\n" * 10_000_000, 6), AUDIT, 2, "listing-too-large"),
    Bomb("l.gz", lambda: gzip.compress(b"\n" * 10_000_000, 6), AUDIT, 2, "listing-too-large"),
    Bomb("l.gz", lambda: gzip.compress(b'{"key":"k","size":1}\n' * 3_000_000, 6), AUDIT, 2, "listing-too-large"),
    Bomb("l.gz", lambda: gzip.compress(b"[" + b"{}," * 10_000_000 + b"{}]", 6), AUDIT, 2, "listing-too-large"),
    Bomb("l.gz", lambda: gzip.compress(b"[" * 10_000_000, 6), AUDIT, 2, "listing-too-large"),
    Bomb("l.gz", lambda: gzip.compress(b"k" * (1 << 27), 6), AUDIT, 2, "invalid-listing"),
    Bomb("l.gz", lambda: gzip.compress(b"b,k,1\n" * 10_000_000, 6), f"{AUDIT} --columns Bucket,Key,Size", 2,
         "listing-too-large"),
    Bomb("l.gz", lambda: gzip.compress(b"," * (1 << 27), 6), f"{AUDIT} --columns Bucket,Key,Size", 2,
         "invalid-listing"),
    Bomb("l.parquet", lambda: parquet_of(5_000_000, "k"), AUDIT, 2, "listing-too-large"),
    Bomb("l.parquet", lambda: parquet_of(100_000, "k" * 1_000_000), AUDIT, 2, "invalid-listing"),
    Bomb("l.parquet", lambda: parquet_of(100_000, "k" * 8_000), AUDIT, 2, "listing-too-large"),
]  # fmt: skip
# For `make lab`: as many records as there may be are read, or another bomb meets the same bound in the same reader.
LONG = (2, 5, 6, 7, 9, 12, 14, 23, 25, 27, 33, 43)


def _identified() -> Iterator[Any]:
    for number, bomb in enumerate(BOMBS):
        marks = [pytest.mark.campaign] if number in LONG else []
        yield pytest.param(bomb, id=f"{number}-{Path(bomb.name).suffix[1:]}-{bomb.words.split()[1]}", marks=marks)


def _things(bomb: Bomb, folder: Path, kafkactl: Callable[..., object]) -> dict[str, str]:
    """Return the sound things that the words name."""
    if "{trust}" in bomb.words:
        kind = {".pem": "PEM", ".jks": "JKS", ".p12": "PKCS12"}[Path(bomb.name).suffix]
        client = folder / "client.properties"
        client.write_text(
            f"security.protocol=SSL\nssl.truststore.type={kind}\nssl.truststore.location={folder / bomb.name}\n"
            "ssl.truststore.password=passw0rd\n"
        )
        return {"{trust}": str(client)}
    if not any(name in bomb.words for name in ("{seen}", "{plan}", "{migration}", "{config}", "{remote}")):
        return {}
    known = Things(folder / "things", "fifo").known
    kafkactl("storage", "plan", known["fleet"], "--out", known["plan"])
    return {f"{{{name}}}": value for name, value in known.items() if name} | {"{seen}": known["observation"]}


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


@pytest.mark.slow
@pytest.mark.parametrize("bomb", list(_identified()))
def test_compressed_bomb_is_refused_within_memory(bomb: Bomb, tmp_path: Path, kafkactl: Callable[..., object]) -> None:
    file = tmp_path / bomb.name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bomb.content())
    known = {"{}": str(file), "{folder}": str(tmp_path), **_things(bomb, tmp_path, kafkactl)}
    words = bomb.words.split()
    for name, value in known.items():
        words = [word.replace(name, value) for word in words]
    run = subprocess.run(
        [sys.executable, "-c", CODE], input=json.dumps([words]), capture_output=True, text=True, timeout=600,
        cwd=tmp_path, check=False, preexec_fn=_limited, env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 0, (run.returncode, run.stderr)
    found = json.loads(run.stdout)
    said = found["stderr"]
    assert found["code"] == bomb.exit_code, said
    assert "internal-error" not in said
    if bomb.error_id is not None:
        assert json.loads(said[said.index("{") :])["id"] == bomb.error_id
    assert found["bytes"] <= MOST_BYTES
