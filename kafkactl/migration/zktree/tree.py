"""The znodes of one Kafka cluster by path: which part of a ZooKeeper is Kafka's, and what is below what.

Paths in a `Tree` are relative to the chroot of `zookeeper.connect`, with `/` for the chroot itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.migration.zktree.znode import Znode

# Each is made by every broker's first start; two of them below one path are a Kafka tree, however little of it was
# saved (`ZkData.PersistentZkPaths`).
_SIGNS: Final = ("/brokers/ids", "/brokers/topics", "/controller_epoch", "/cluster/id")
_SIGNS_NEEDED: Final = 2
_TWICE_NAMED: Final = 20


@frozen
class Tree:
    """Znodes by path, and the names of each one's children in order. `chroot` is "" or begins with a slash.

    Of a tree that was read live, the zxids are ZooKeeper's last transactions before and after the reader; where they
    are equal, nothing at all was written meanwhile.
    """

    chroot: str
    znodes: Mapping[str, Znode]
    names: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...] = ()
    zxid_before: int | None = None
    zxid_after: int | None = None

    def get(self, path: str) -> Znode | None:
        """Return the znode at a path, None if there is none."""
        return self.znodes.get(path)

    def children(self, path: str) -> tuple[str, ...]:
        """Return the sorted names of a znode's children, also if the znode itself was not saved."""
        return self.names.get(path, ())


def find_chroots(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths below which a Kafka cluster keeps its tree, sorted; "" is the root."""
    counts: dict[str, int] = {}
    for path in set(paths):
        for sign in _SIGNS:
            if path.endswith(sign):
                root = path.removesuffix(sign)
                counts[root] = counts.get(root, 0) + 1
    return tuple(sorted(root for root, count in counts.items() if count >= _SIGNS_NEEDED))


def tree_of(znodes: Iterable[Znode], chroot: str | None = None) -> Tree:
    """Return the Kafka tree among these znodes.

    Without a chroot it is found. A chroot that no path begins with is that of the cluster, and the paths are taken
    as relative to it already, if they are a Kafka tree unchanged. Raises InputError `several-kafka-trees` if
    none is given and there are several, `invalid-chroot` for one that is not a path.
    """
    every = list(znodes)
    roots = find_chroots(znode.path for znode in every)
    root = _root(roots, chroot)
    prefix = root + "/"
    if root and roots == ("",) and not any(znode.path == root or znode.path.startswith(prefix) for znode in every):
        prefix = "/"
    kept: dict[str, Znode] = {}
    twice = []
    for znode in every:
        path = _relative(znode.path, prefix)
        if path is None:
            continue
        if path in kept:
            twice.append(path)
        if path not in kept or znode.mzxid >= kept[path].mzxid:
            kept[path] = znode
    findings = [*_nothing(kept, root), *_duplicates(twice)]
    return Tree(chroot=root, znodes=kept, names=_names(kept), findings=tuple(findings))


def _root(roots: tuple[str, ...], chroot: str | None) -> str:
    if chroot is None:
        if len(roots) > 1:
            raise InputError(
                f"there are {len(roots)} Kafka clusters in this ZooKeeper: {', '.join(root or '/' for root in roots)}",
                id="several-kafka-trees",
            )
        return roots[0] if roots else ""
    root = chroot.rstrip("/")
    if root and (not root.startswith("/") or "//" in root):
        raise InputError(
            f"{chroot!r} is not a chroot: a chroot begins with / and has no empty part", id="invalid-chroot"
        )
    return root


def _relative(path: str, prefix: str) -> str | None:
    if prefix == "/":
        return path
    if path + "/" == prefix:
        return "/"
    return path[len(prefix) - 1 :] if path.startswith(prefix) else None


def _names(paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for path in paths:
        at = path
        while at != "/":
            parent, _, name = at.rpartition("/")
            at = parent or "/"
            known = found.setdefault(at, set())
            if name in known:
                break
            known.add(name)
    return {parent: tuple(sorted(names)) for parent, names in found.items()}


def _nothing(kept: Mapping[str, Znode], root: str) -> list[Finding]:
    if "" in find_chroots(kept):  # one further below is another application's, or the chroot was left out
        return []
    return [
        Finding(
            id="no-kafka-tree",
            severity=Severity.BLOCKER,
            subject=f"chroot {root or '/'}",
            message="there is no Kafka cluster here: neither brokers nor a controller epoch",
            evidence={"znodes": len(kept)},
        )
    ]


def _duplicates(paths: Sequence[str]) -> list[Finding]:
    """Return one finding for each of the first paths, and one for all others."""
    named = list(dict.fromkeys(paths[:_TWICE_NAMED]))
    findings = [_twice(path, f"the saved tree has {path} more than once; the newest one is used") for path in named]
    more = len(paths) - _TWICE_NAMED
    if more > 0:
        findings.append(_twice("saved tree", f"{more} more lines repeat a path of the saved tree"))
    return findings


def _twice(subject: str, message: str) -> Finding:
    return Finding(id="duplicate-znode-path", severity=Severity.WARNING, subject=subject, message=message)
