"""The image as a tree of folders and files, in the shape of kafka-metadata-shell's, made on demand.

Names are those of `shell` and `image/node/*.java` where Kafka has such a node; the files hold JSON with the field names
of the records. Secrets are left out unless the tree is made with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.metadata.image.json import image_json
from kafkactl.metadata.image.model import Image, Topic
from kafkactl.metadata.log.keys import RESOURCE_WORDS
from kafkactl.protocol.redact import redacted_part
from kafkactl.protocol.scram import MECHANISM_NAMES


@frozen(kw_only=False)
class Folder:
    """A folder: the names in it, in order, and what each of them is."""

    names: tuple[str, ...]
    child: Callable[[str], Node]


@frozen(kw_only=False)
class File:
    """A file: a JSON value."""

    value: Any


Node = Folder | File


def tree_of(image: Image, *, provenance: Mapping[str, Any], hide: bool) -> Folder:
    """Return the root, with everything under `/image`; `provenance` names the source of the image."""
    parts = _Parts(image, hide)
    tree = {
        "image": {
            "provenance": File(dict(provenance)),
            "features": parts.files("features"),
            "voters": parts.listed("voters", "voterId"),
            "cluster": {
                "brokers": parts.listed("brokers", "brokerId"),
                "controllers": parts.listed("controllers", "controllerId"),
            },
            "topics": {"byName": _topics_by_name(image), "byId": _topics_by_id(image)},
            "configs": _configs(parts),
            "clientQuotas": _quotas(parts),
            "producerIds": {"nextProducerId": File(image.next_producer_id)},
            "acls": {"byId": parts.listed("acls", "id")},
            "scram": _scram(parts),
            "delegationToken": {"tokens": _tokens(parts)},
            "zkMigration": File(image.zk_migration_state),
            "transaction": File(parts["transaction"]),
        }
    }
    return _folder(tree)


def find(root: Folder, path: str) -> Node:
    """Return the node at a path; `..` and `.` are understood. Raise InputError `no-such-path`."""
    node: Node = root
    walked: list[str] = []
    for word in resolved(path):
        if not isinstance(node, Folder) or word not in node.names:
            raise _missing("/" + "/".join(walked), word, node)
        node = node.child(word)
        walked.append(word)
    return node


def resolved(path: str) -> list[str]:
    """Return the words of a path without `.` and `..`."""
    words: list[str] = []
    for word in path.split("/"):
        if word == "..":
            words[-1:] = []
        elif word not in ("", "."):
            words.append(word)
    return words


def walk(node: Node, path: str, depth: int | None = None) -> Iterator[tuple[str, Node]]:
    """Yield a node and everything below it, down to a depth, with their paths."""
    yield path or "/", node
    if isinstance(node, Folder) and depth != 0:
        for name in node.names:
            yield from walk(node.child(name), f"{path}/{name}", None if depth is None else depth - 1)


def _missing(folder: str, word: str, node: Node) -> InputError:
    import difflib

    names = list(node.names) if isinstance(node, Folder) else []
    near = difflib.get_close_matches(word, names, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    what = f"{folder} has no {word!r}" if isinstance(node, Folder) else f"{folder} is not a folder"
    return InputError(what + "." + hint, id="no-such-path", next_step=f"Look at what is there: ls {folder}")


def _folder(children: Mapping[str, Any]) -> Folder:
    def child(name: str) -> Node:
        found = children[name]
        node: Node = _folder(found) if isinstance(found, dict) else found
        return node

    return Folder(tuple(children), child)


class _Parts:
    """The parts of an image as JSON, made once, without secrets if they are to be hidden. Topics are not in it."""

    def __init__(self, image: Image, hide: bool) -> None:
        from dataclasses import replace

        self._json = image_json(replace(image, topics={}, topic_ids={}))
        self._hide = hide

    def __getitem__(self, part: str) -> Any:
        value = self._json[part]
        return redacted_part(part, value) if self._hide and value is not None else value

    def files(self, part: str) -> Folder:
        """Return a part that is an object: a file for each key."""
        return _folder({name: File(value) for name, value in (self[part] or {}).items()})

    def listed(self, part: str, key: str) -> Folder:
        """Return a part that is a list: a file for each element, named by a field of it."""
        return _folder({_name(str(entry[key])): File(entry) for entry in self[part] or []})


def _name(text: str) -> str:
    """Return a name as a word of a path."""
    return text.replace("/", "%2F") or "(default)"


def _topics_by_name(image: Image) -> Folder:
    return Folder(tuple(sorted(image.topic_ids)), lambda name: _topic(image.topics[image.topic_ids[name]]))


def _topics_by_id(image: Image) -> Folder:
    ids = {str(id): id for id in image.topics}
    return Folder(tuple(sorted(ids)), lambda name: _topic(image.topics[ids[name]]))


def _topic(topic: Topic) -> Folder:
    states = topic.partitions.states
    named = {"name": File(topic.name), "id": File(str(topic.id))}

    def child(name: str) -> Node:
        return named[name] if name in named else File(_partition(topic, int(name)))

    return Folder((*named, *(str(number) for number in sorted(states))), child)


def _partition(topic: Topic, number: int) -> dict[str, Any]:
    from kafkactl.metadata.image.model import Partitions

    only = Topic(name=topic.name, id=topic.id, partitions=Partitions({number: topic.partitions.states[number]}))
    shown = image_json(Image(topics={topic.id: only}))["topics"][0]["partitions"][0]
    return dict(shown)


def _configs(parts: _Parts) -> Folder:
    found: dict[str, dict[str, Any]] = {}
    for config in parts["configs"]:
        word = RESOURCE_WORDS.get(config["resourceType"], str(config["resourceType"])).upper()
        found[f"{word}:{_name(config['resourceName'])}"] = {
            _name(key): File(held) for key, held in config["configs"].items()
        }
    return _folder(found)


def _quotas(parts: _Parts) -> Folder:
    found: dict[str, Any] = {}
    for quota in parts["client_quotas"]:
        name = ",".join(f"{part['entityType']}:{_name(part['entityName'] or '')}" for part in quota["entity"])
        found[name] = {key: File(value) for key, value in quota["quotas"].items()}
    return _folder(found)


def _scram(parts: _Parts) -> Folder:
    found: dict[str, dict[str, Any]] = {}
    for credential in parts["scram"]:
        mechanism = MECHANISM_NAMES.get(credential["mechanism"], str(credential["mechanism"]))
        found.setdefault(mechanism, {})[_name(credential["name"])] = File(credential)
    return _folder(found)


def _tokens(parts: _Parts) -> Folder:
    """Return the tokens. Token ids are secrets: if they are hidden, tokens have numbers."""
    tokens = parts["delegation_tokens"]
    names = [token["tokenId"] for token in tokens]
    unique = len(set(names)) == len(names) and "<redacted>" not in names
    return _folder(
        {
            _name(name) if unique else str(at): File(token)
            for at, (name, token) in enumerate(zip(names, tokens, strict=True))
        }
    )
