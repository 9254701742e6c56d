"""Values that stand elsewhere: `${file:…}`, `${env:…}` and their kind (KIP-297, KIP-421, KIP-887).

Rule, measured on ten releases: Kafka's storage tool resolves them too. A provider counts if config.providers names
it and config.providers.NAME.class its class; otherwise its variables are text like any other. What a provider does not
know stays as written, so Kafka would make a directory called `${env:LOG_DIRS}`; here that is an error for every key
that formatting depends on, and a warning for the rest. Source: clients `ConfigTransformer`, `AbstractConfig`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.protocol.text.config_variables import variables
from kafkactl.protocol.text.java_text import split_list

PROVIDERS = "config.providers"
_NEEDED = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.listener.names",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "inter.broker.listener.name",
        "inter.broker.protocol.version",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "node.id",
        "process.roles",
        "unstable.feature.versions.enable",
        "unstable.metadata.versions.enable",
        "zookeeper.connect",
        MIGRATION_ENABLE,
    }
)


@frozen
class Problem:
    """Reason why Kafka would not load the file: Kafka's key phrase in `words`, and the key that it is about."""

    id: str
    key: str
    words: str
    next_step: str = ""


@frozen
class ConfigProvider:
    """A provider as the file declares it; `settings` are its config.providers.NAME.param.…, by their last part."""

    name: str
    class_name: str
    settings: Mapping[str, str] = field(default_factory=dict)


Resolve = Callable[[ConfigProvider, str, str], str]
"""(provider, path, key) -> value. Raises LookupError, with the reason in words, if it cannot tell."""


@frozen
class Elsewhere:
    """The settings with every value that could be had; `unresolved` are the keys whose value could not."""

    given: Mapping[str, str] = field(repr=False)
    unresolved: frozenset[str]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def resolve_values(given: Mapping[str, str], resolve: Resolve | None) -> Elsewhere:
    """Replace what config providers know."""
    providers = _providers(given)
    values = dict(given)
    problems: list[Problem] = []
    warnings: list[Problem] = []
    for key, text in given.items():
        if key.startswith(PROVIDERS) or not _names_one_of(providers, text):
            continue
        try:
            values[key] = _resolved(text, providers, resolve)
        except LookupError as error:
            found = problems if key in _NEEDED else warnings
            found.append(_unresolved(key, text, str(error.args[0]) if error.args else "its provider does not know it"))
    return Elsewhere(
        given=values,
        unresolved=frozenset(problem.key for problem in [*problems, *warnings]),
        problems=tuple(problems),
        warnings=tuple(warnings),
    )


def _names_one_of(providers: Mapping[str, ConfigProvider], text: str) -> bool:
    return any(variable.provider in providers for variable in variables(text))


def _providers(given: Mapping[str, str]) -> dict[str, ConfigProvider]:
    found = {}
    for name in split_list(given.get(PROVIDERS, "")):
        class_name = given.get(f"{PROVIDERS}.{name}.class")
        if class_name is not None:
            prefix = f"{PROVIDERS}.{name}.param."
            settings = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
            found[name] = ConfigProvider(name=name, class_name=class_name.strip(), settings=settings)
    return found


def _resolved(text: str, providers: Mapping[str, ConfigProvider], resolve: Resolve | None) -> str:
    parts, at = [], 0
    for variable in variables(text):
        if variable.provider not in providers:
            continue
        if resolve is None:
            raise LookupError("providers are not asked here")
        parts += [text[at : variable.start], resolve(providers[variable.provider], variable.path, variable.key)]
        at = variable.end
    return "".join([*parts, text[at:]])


def named_variables(text: str) -> str:
    """Return the variables of a value, without what stands between them, which may be a part of a password."""
    return ", ".join(text[variable.start : variable.end] for variable in variables(text))


def _unresolved(key: str, text: str, why: str) -> Problem:
    return Problem(
        id="unresolved-config-provider",
        key=key,
        words=f"the value of {key}, {named_variables(text)}, comes from a config provider: {why}",
    )
