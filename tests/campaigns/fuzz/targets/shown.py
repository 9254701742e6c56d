"""Targets: display of names that others chose: pages, metrics, and the completions of a shell."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from click.shell_completion import CompletionItem

from kafkactl.bundle.manifest import parse_manifest
from kafkactl.bundle.page import index_page
from kafkactl.cluster.api.completion import feature_names, feature_words, node_words, topic_words
from kafkactl.commands.framework.shell_scripts import BashCompletion, FishCompletion
from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.safe_text import visible
from kafkactl.dryrun.page.build import SimulatedScenario, report_of
from kafkactl.dryrun.page.cluster import cluster_of
from kafkactl.report.html import render_html
from kafkactl.report.metrics import Metric, metrics, metrics_text
from kafkactl.report.model import (
    Band,
    Bars,
    Block,
    Cell,
    Curve,
    Facts,
    Lane,
    Mark,
    Picture,
    Quorum,
    Series,
    Span,
    Strip,
    Table,
    Timeline,
    Voters,
)
from kafkactl.report.numbers import numbers_of
from kafkactl.report.svg import draw
from tests.campaigns.fuzz.target import Feed, Target, UndeclaredError, document_of
from tests.campaigns.fuzz.targets.kept import MANIFEST
from tests.dryrun.clusters import cluster
from tests.report.answers import HOSTILE, answer, finding
from tests.report.exposition import labels_of, samples
from tests.report.page_reader import Reader, assert_nothing_runs_or_loads, read

Made = tuple[Feed, Sequence[bytes]]
Words = Iterator[str]
SEPARATOR = "\x1f"
SEEDS = (
    *(word.encode("utf-8", "surrogateescape") for word in HOSTILE),
    SEPARATOR.join(HOSTILE).encode("utf-8", "surrogateescape"),
    b'name\\"\x1f\n\xff\x1f&#60;script&#62;\x1f</svg><svg onload=x>\x1f]]>\x1fjavascript:a',
)
SHELL_SIGNS = frozenset("$`\\\"'|&;<>(){}[]*?!~#^ \t\n\r\0")


def _words(data: bytes) -> Words:
    """Return the texts in an input, again and again; never empty, because a thing without a name is drawn
    differently."""
    return itertools.cycle([word or "-" for word in data.decode("utf-8", "surrogateescape").split(SEPARATOR)])


def _nodes(markup: str) -> list[str]:
    """Return every element in order, with the names of its attributes."""
    reader = Reader()
    reader.feed(markup)
    reader.close()
    if reader.open:
        raise UndeclaredError(f"not closed: {reader.open}")
    return [f"{tag} {' '.join(attributes)}" for tag, attributes in reader.seen]


def _pictures(words: Words) -> list[Picture]:
    say = words.__next__
    return [
        Bars(title=say(), text=say(), series=(Series(say()), Series(say())), rows=((say(), (1, 2)),), unit=say()),
        Curve(title=say(), text=say(), points=((0, 1), (5, 9)), unit=say(), limit=7),
        Timeline(
            title=say(), text=say(), start_ms=0, end_ms=9, lanes=((name := say(), (Mark(2, say(), say()),)),),
            bands={name: (Band(1, 3, say()),)},
        ),
        Quorum(title=say(), text=say(), sides=(Voters(name=say(), ids=(1, 2), alive=(1,), majority=2, tolerates=0),)),
        Strip(
            title=say(), text=say(), first=0, last=9, lanes=(Lane(name=say(), value=say(), spans=(
                Span(0, 5, "remote", say()),)),), marks=((3, say()),), legend=((say(), "remote"),),
        ),
    ]  # fmt: skip


def _report_pictures() -> Made:
    """Return every picture, whose elements are the same whatever its words are."""

    def drawn(words: Words) -> list[list[str]]:
        return [_nodes(draw(picture, "p1")) for picture in _pictures(words)]

    plain = drawn(itertools.cycle("x"))

    def feed(data: bytes) -> object:
        found = drawn(_words(data))
        if any(set(nodes) - set(known) for nodes, known in zip(found, plain, strict=True)):
            raise UndeclaredError(f"{found} instead of {plain}")
        return [numbers_of(picture) for picture in _pictures(_words(data))]

    return feed, SEEDS


def _report_page() -> Made:
    """Return a report with a name of the input in every place of a page that has a name."""
    image, _ = cluster("brokers 1 2\ntopic a\n 1 | 1 2 | 1 2")

    def page(words: Words) -> bytes:
        say = words.__next__
        found = [{**finding(say(), "warning"), "message": say(), "subject": say(), "next_step": say()}]
        answers = [answer(topic=say(), findings=found, assumptions=[say()], paths=[say()], scenario="replay")]
        report = report_of([SimulatedScenario(answer=each) for each in answers], cluster_of(image))
        blocks: tuple[Block, ...] = (
            Facts(rows=((say(), Cell(say())),)),
            Table(title=say(), columns=(say(),), rows=((Cell(say()),),)),
            *_pictures(words),
        )
        object.__setattr__(report, "cluster", blocks)
        return render_html(report)

    plain = set(_nodes(page(itertools.cycle("x")).decode("utf-8")))

    def feed(data: bytes) -> object:
        made = page(_words(data))
        assert_nothing_runs_or_loads(made, read(made))
        if more := set(_nodes(made.decode("utf-8"))) - plain:
            raise UndeclaredError(f"elements that no page has: {more}")
        return made

    return feed, SEEDS


def _bundle_page() -> Made:
    """Return the page of a bundle whose manifest says anything that a manifest may say."""

    def feed(data: bytes) -> object:
        manifest = parse_manifest(data, file="f").to_dict()
        texts = _texts(manifest)
        found = {
            part["name"]: [{**finding(say, "info"), "message": say} for say in texts] for part in manifest["parts"]
        }
        made = index_page(manifest, found)
        reader = read(made)
        tags = {tag for tag, _ in reader.seen}
        addresses = [attributes["href"] or "" for _, attributes in reader.seen if "href" in attributes]
        if tags & {"script", "img", "iframe", "object", "form"} or any(map(_leads_away, addresses)):
            raise UndeclaredError(f"the page has {sorted(tags)}, {addresses}")
        if steering := [name for _, attributes in reader.seen for name in attributes if name.startswith("on")]:
            raise UndeclaredError(f"the page has {steering}")
        return made

    hostile = [MANIFEST.replace(b'"a"', document) for document in (b'"</style><script>"', b'"\\" onload=x"')]
    return feed, [MANIFEST, *hostile]


def _leads_away(address: str) -> bool:
    """Return True if a link names a scheme or a host, and so another place than a file next to the page."""
    return address != "data:," and (":" in address.partition("/")[0] or address.startswith("/"))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner: Iterable[Any] = value if isinstance(value, list | tuple) else ()
    if isinstance(value, Mapping):
        inner = [*value, *value.values()]
    return [text for item in inner for text in _texts(item)]


def _metrics() -> Made:
    """Return every metric of every answer, with names of the input as labels: Prometheus keeps the labels that were
    meant."""
    by_kind = {kind: tuple(group) for kind, group in itertools.groupby(metrics(), lambda metric: metric.kind)}
    kinds = sorted(by_kind)

    def feed(data: bytes) -> object:
        table, words = by_kind[kinds[(data[0] if data else 0) % len(kinds)]], _words(data[1:])
        made: dict[str, Any] = {"kind": table[0].kind, "findings": [{"id": "x", "severity": "info"}]}
        wanted: dict[str, list[str]] = {}
        for metric in table:
            wanted[metric.name] = _fill(made, metric, words)
        text = metrics_text(made, exit_code=0, ended_s=1.0)
        try:
            found = samples(text)
        except AssertionError as error:
            raise UndeclaredError(f"not in the format: {error}") from error
        counted = {"kafkactl_findings", "kafkactl_exit_code", "kafkactl_end_timestamp_seconds"}
        if set(found) - counted != {name for name, labels in wanted.items() if labels is not None}:
            raise UndeclaredError(f"{sorted(found)} instead of {sorted(wanted)}")
        kept = {visible(text) for text in _texts(made)} | {""}
        for lines in found.values():
            for labels, _ in lines:
                if strange := {value for value in labels_of(labels).values() if value not in kept} - {
                    table[0].kind.replace(".", " ")
                }:
                    raise UndeclaredError(f"labels that nobody gave: {strange}")
        return text

    return feed, [bytes([number]) + seed for number in range(len(kinds)) for seed in SEEDS[-3:]]


def _fill(made: dict[str, Any], metric: Metric, words: Words) -> list[str]:
    """Put what this metric needs into an answer; the labels' texts."""
    item: dict[str, Any] = made
    if metric.each is not None:
        if metric.value == "@value":
            _put(made, metric.each, {next(words): 1})
            return []
        items = _at(made, metric.each)
        if items is None:
            _put(made, metric.each, items := [{}])
        item = items[0]
    if metric.value is not None:
        _put(item, metric.value, 7 if metric.numbers is None else next(iter(metric.numbers)))
    texts = []
    for field in metric.labels.values():
        if _at(item, field) is None:
            _put(item, field, next(words))
        texts.append(str(_at(item, field)))
    return texts


def _at(item: Mapping[str, Any], path: str) -> Any:
    value: Any = item
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _put(item: dict[str, Any], path: str, value: Any) -> None:
    *way, last = path.split(".")
    for name in way:
        item = item.setdefault(name, {})
    item.setdefault(last, value)


_OFFERED: tuple[Callable[[dict[str, Any]], list[tuple[str, str]]], ...] = (
    feature_words, feature_names, topic_words, lambda facts: node_words(facts, "brokers", "controllers"),
)  # fmt: skip


def _completion() -> Made:
    """Return the words that a cluster's facts become, as the shells get them: a line each, and no shell sees more."""

    def feed(data: bytes) -> object:
        facts = document_of(data)
        if not _are_facts(facts):
            return None
        lines = []
        for offer in _OFFERED:
            for word, hint in offer(facts):
                if SHELL_SIGNS & set(word) or word.startswith("-") or not word.isprintable():
                    raise UndeclaredError(f"offered: {word!r}")
                item = CompletionItem(word, help=hint or None)
                lines += [shell.format_completion(item) for shell in shells]
        if any("\n" in line or line.partition(",")[0] != "plain" for line in lines):
            raise UndeclaredError(f"lines: {lines}")
        return lines

    shells = [kind(None, {}, "kafkactl", "_KAFKACTL_COMPLETE") for kind in (BashCompletion, FishCompletion)]  # type: ignore[arg-type]
    return feed, [
        b'{"topics":["a","$(id)","b c","-x","a\\nb"],"brokers":[1,2],"controllers":[3],'
        b'"features":{"metadata.version":[1,29,25],"`x`":[0,2,1],"g":[0,32767,0]}}',
        b'{"topics":[],"features":{}}',
    ]


def _are_facts(facts: Any) -> bool:
    """Return True if these are what `completion_facts.gather` gives: names, numbers of nodes, three levels a
    feature."""
    if not isinstance(facts, dict) or set(facts) - {"topics", "brokers", "controllers", "features"}:
        return False
    features = facts.get("features", {})
    return (
        _all(facts.get("topics", []), str)
        and _all(facts.get("brokers", []), int)
        and _all(facts.get("controllers", []), int)
        and isinstance(features, dict)
        and all(
            _all(levels, int) and len(levels) == 3 and max(map(abs, levels)) < 1 << 15 for levels in features.values()
        )
    )


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


TARGETS = (
    Target(
        name="report-page",
        make=_report_page,
        reads=("report.html",),
        slow="a whole page is rendered for each input, in some 60 ms",
    ),
    Target(name="report-pictures", make=_report_pictures, reads=("report.svg", "report.numbers")),
    Target(
        name="bundle-page",
        make=_bundle_page,
        is_json=True,
        reads=("bundle.page",),
        declared=(InputError, DecodeError),
    ),
    Target(name="metrics", make=_metrics, reads=("report.metrics",)),
    Target(name="completion", make=_completion, is_json=True, reads=("cluster.api.completion",)),
)
