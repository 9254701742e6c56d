"""Valid metadata logs of any size, with the exact state at their end: the oracle of benches and property tests.

The same shape gives the same bytes (`python -m bench.make_metadata_log` writes them to a disk). The state at the end is
kept by this file alone, in its own tables and without the replay that it is to judge; `log_state.expected_of(image)`
says the same of an image. Records are written as a controller writes them: creation of topics with their partitions and
configs, then churn (ISR, leaders, ELR, reassignments, broker restarts), with new leader epochs, transactions that end
or are aborted, ACLs, quotas, SCRAM credentials, producer ids and no-ops in between. A million records take seconds.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bench.log_changes import (
    ADDING,
    CHANGES,
    DIRECTORIES,
    DIVERSE_CHANGES,
    ELR,
    IDS,
    ISR,
    LAST_KNOWN,
    LEADER,
    LEADER_EPOCH,
    PARTITION_EPOCH,
    REMOVING,
    REPLICAS,
    in_any_order,
    tail,
    without_elr,
)
from bench.log_shape import Expected, Shape
from bench.log_state import state_of
from kafkactl.core.values import Uuid
from kafkactl.protocol.compiled import encoder
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message

LEVEL = 30  # metadata.version 4.3-IV0
START_MS = 1_700_000_000_000
STEP_MS = 40


class LogGenerator:
    """Generator of one log. `batches()` can be iterated once; `expected()` then gives the state."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._rng = random.Random(shape.seed)
        self._offset = shape.first_offset
        self._written = 0
        self._batches = 0
        self._bytes = 0
        self._epoch = 1
        self._types: Counter[str] = Counter()
        self._topics: dict[int, tuple[str, bytes, list[list[Any]]]] = {}  # number -> name, id, partitions
        self._topic_numbers: list[int] = []
        self._next_topic = 0
        self._partitions = 0
        self._next_uuid = 0
        self._brokers: dict[int, list[Any]] = {}  # id -> epoch, fenced, directory
        self._configs: dict[tuple[int, str], dict[str, str]] = {}
        self._acls: dict[bytes, str] = {}
        self._scram: dict[tuple[int, str], int] = {}
        self._quotas: dict[str, float] = {}
        self._levels: dict[str, int] = {}
        self._producer_id = 0
        self._tails: dict[tuple[Any, ...], bytes] = {}
        self._lists: set[tuple[int, ...]] = set()
        self._encoders: dict[tuple[str, int], Any] = {}

    def batches(self) -> Iterator[bytes]:
        """Yield the batches in their order, each whole."""
        yield self._leader_change()
        yield self._batch(self._founding())
        every = max(1, self.shape.records // self.shape.epochs)
        epoch_at = every
        while self._written < self.shape.records:
            if self._written >= epoch_at and self._epoch < self.shape.epochs:
                self._epoch += 1
                epoch_at += every
                yield self._leader_change()
            for values in self._operation():
                yield self._batch(values)
            while self._types["NoOpRecord"] * 1000 < self._written * self.shape.no_op_permille:
                yield self._batch([self._record("NoOpRecord", 0, {})])

    def expected(self) -> Expected:
        """Return what a replay of all batches must find."""
        return Expected(
            records=self._written,
            batches=self._batches,
            bytes=self._bytes,
            brokers=self.shape.brokers,
            bodies=len(self._tails),
            lists=len(self._lists),
            transactions=self._types["BeginTransactionRecord"],
            aborted=self._types["AbortTransactionRecord"],
            last_offset=self._offset - 1,
            last_epoch=self._epoch,
            by_type=dict(sorted(self._types.items())),
            state=self._state(),
        )

    def _batch(self, values: list[bytes]) -> bytes:
        data = encode_batch(
            [(None, value) for value in values],
            base_offset=self._offset,
            timestamp_ms=START_MS + STEP_MS * self._batches,
            partition_leader_epoch=self._epoch,
        )
        return self._counted(data, len(values))

    def _leader_change(self) -> bytes:
        voters = [{"VoterId": 1_000 + number} for number in range(self.shape.controllers)]
        leader = 1_000 + self._epoch % self.shape.controllers
        change = {"LeaderId": leader, "Voters": voters, "GrantingVoters": voters}
        self._types["LeaderChange"] += 1
        data = encode_batch(
            [encode_control_record(ControlType.LEADER_CHANGE, change)],
            base_offset=self._offset,
            timestamp_ms=START_MS + STEP_MS * self._batches,
            partition_leader_epoch=self._epoch,
            is_control=True,
        )
        return self._counted(data, 1)

    def _counted(self, data: bytes, records: int) -> bytes:
        self._offset += records
        self._written += records
        self._batches += 1
        self._bytes += len(data)
        return data

    def _founding(self) -> list[bytes]:
        values = [self._level("metadata.version", LEVEL)]
        if self.shape.elr:
            values.append(self._level("eligible.leader.replicas.version", 1))
            values.append(self._config(4, "", "min.insync.replicas", "2"))
        values += [self._register(number, fenced=False) for number in range(self.shape.brokers)]
        values += [self._controller(1_000 + index) for index in range(self.shape.controllers)]
        return values

    def _operation(self) -> Iterator[list[bytes]]:
        missing = self.shape.partitions - self._partitions
        if self.shape.settings_percent and self._rng.random() * 100 < self.shape.settings_percent:
            yield self._settings()
            return
        chance = self._rng.random()
        if missing > 0 and (chance < 0.5 or not self._topics or self._written * 3 > self.shape.records):
            yield self._create(min(missing, self._partition_count()))
        elif chance < 0.93:
            yield self._churn()
        else:
            yield from self._rare(self._rng.random())

    def _rare(self, chance: float) -> Iterator[list[bytes]]:
        if chance < 0.35:
            yield [self._record("NoOpRecord", 0, {})]
        elif chance < 0.35 + self.shape.transaction_percent / 100:
            yield from self._transaction()
        elif chance < 0.55:
            yield self._restart(self._rng.randrange(self.shape.brokers))
        elif chance < 0.60 and len(self._topics) > 3:
            yield self._remove_topic()
        elif chance < 0.75:
            yield self._reassign()
        else:
            yield self._small()

    def _create(self, partitions: int, *, ghost: bool = False) -> list[bytes]:
        """Return a topic with its configs; of a `ghost`, whose transaction will be aborted, nothing is kept."""
        number, self._next_topic = self._next_topic, self._next_topic + 1
        name, raw = f"topic-{number:07d}", self._uuid()
        values = [self._record("TopicRecord", 0, {"Name": name, "TopicId": Uuid(raw)})]
        if self._rng.random() < self.shape.configured_percent / 100:
            values.append(self._config(2, name, "retention.ms", str(number * 1_000), keep=not ghost))
        states = [self._new_partition() for _ in range(partitions)]
        values += [self._partition(raw, at, state) for at, state in enumerate(states)]
        if not ghost:
            self._topics[number] = name, raw, states
            self._topic_numbers.append(number)
            self._partitions += partitions
        return values

    def _partition_count(self) -> int:
        return 1 + self._rng.randrange(2 * self.shape.partitions_of_topic)

    def _new_partition(self) -> list[Any]:
        replicas = self._some_brokers(self.shape.replicas)
        directories = tuple(self._brokers[replica][2] for replica in replicas)
        self._lists.add(replicas)
        return [replicas, replicas, (), (), replicas[0], 0, 0, directories, (), ()]

    def _some_brokers(self, count: int) -> tuple[int, ...]:
        if self.shape.is_diverse:
            return tuple(self._rng.sample(range(self.shape.brokers), min(count, self.shape.brokers)))
        first, total = self._rng.randrange(self.shape.brokers), self.shape.brokers
        step = 1 + self._rng.randrange(max(1, (total - 1) // max(1, count - 1))) if count > 1 else 1
        return tuple(dict.fromkeys((first + step * at) % total for at in range(min(count, total))))

    def _churn(self, *, keep: bool = True) -> list[bytes]:
        """Return ISRs that shrink and grow, leaders that move; `keep` False leaves the state as it was."""
        rng, values = self._rng, []
        kinds = DIVERSE_CHANGES if self.shape.is_diverse else CHANGES
        for _ in range(1 + rng.randrange(2 * self.shape.batch_records)):
            number = self._topic_numbers[int(rng.random() * len(self._topic_numbers))]
            _, raw, states = self._topics[number]
            at = int(rng.random() * len(states))
            change = kinds[int(rng.random() * len(kinds))](states[at], rng)
            if change is not None:
                change = change if self.shape.elr else without_elr(change)
                if self.shape.is_diverse:
                    change = in_any_order(change, states[at], rng)
                values.append(self._change(raw, at, states, change, keep))
        return values or [self._record("NoOpRecord", 0, {})]

    def _reassign(self) -> list[bytes]:
        """Return the two records by which replicas move to other brokers and the move ends."""
        number = self._topic_numbers[self._rng.randrange(len(self._topic_numbers))]
        _, raw, states = self._topics[number]
        at = self._rng.randrange(len(states))
        old, new = states[at][REPLICAS], self._some_brokers(len(states[at][REPLICAS]))
        adding = tuple(sorted(set(new) - set(old)))
        removing = tuple(sorted(set(old) - set(new)))
        if not adding:
            return [self._record("NoOpRecord", 0, {})]
        both = (*new, *removing)
        begin = {REPLICAS: both, ADDING: adding, REMOVING: removing, DIRECTORIES: self._directories(both)}
        if not removing:
            del begin[REMOVING]
        end = {REPLICAS: new, ADDING: (), ISR: new, LEADER: new[0], DIRECTORIES: self._directories(new)}
        if states[at][ELR]:
            end[ELR] = ()
        if states[at][LAST_KNOWN]:
            end[LAST_KNOWN] = ()
        if removing:
            end[REMOVING] = ()
        return [self._change(raw, at, states, item, True) for item in (begin, end)]

    def _directories(self, replicas: tuple[int, ...]) -> tuple[bytes, ...]:
        return tuple(self._brokers[replica][2] for replica in replicas)

    def _restart(self, broker: int) -> list[bytes]:
        """Restart a broker: it goes and comes back."""
        values = [self._registration_change(broker, 1)]
        values.append(self._register(broker, fenced=True))
        values.append(self._registration_change(broker, -1))
        return values

    def _transaction(self) -> Iterator[list[bytes]]:
        """Yield a metadata transaction over several batches, one in three aborted."""
        aborted = self._rng.random() < 0.33
        yield [self._record("BeginTransactionRecord", 0, {"Name": "bulk"}), *self._create(3, ghost=aborted)]
        yield self._churn(keep=not aborted) if self._topic_numbers else [self._record("NoOpRecord", 0, {})]
        if aborted:
            yield [self._record("AbortTransactionRecord", 0, {"Reason": "asked for"})]
        else:
            yield [self._record("EndTransactionRecord", 0, {})]

    def _remove_topic(self) -> list[bytes]:
        number = self._topic_numbers.pop(self._rng.randrange(len(self._topic_numbers)))
        name, raw, states = self._topics.pop(number)
        self._partitions -= len(states)
        self._configs.pop((2, name), None)
        return [self._record("RemoveTopicRecord", 0, {"TopicId": Uuid(raw)})]

    def _small(self) -> list[bytes]:
        make = self._rng.choice([self._acl, self._remove_acl, self._credential, self._quota, self._producer_ids])
        return [make()]

    def _settings(self) -> list[bytes]:
        number, value = self._rng.randrange(1_000), str(self._offset)
        values = [self._config(2, f"topic-{number:07d}", "retention.ms", value)]
        for _ in range(1 + self._rng.randrange(self.shape.batch_records)):
            values += self._small()
        return values

    def _record(self, name: str, version: int, data: Mapping[str, Any]) -> bytes:
        spec = message(name)
        if (name, version) not in self._encoders:
            assert spec.api_key is not None
            self._encoders[name, version] = encoder(spec, version), b"\x01" + bytes([spec.api_key, version])
        encode, head = self._encoders[name, version]
        self._types[name] += 1
        encoded: bytes = head + encode(data)
        return encoded

    def _partition(self, topic: bytes, at: int, state: list[Any]) -> bytes:
        data = {
            "PartitionId": at,
            "TopicId": Uuid(topic),
            "Replicas": list(state[REPLICAS]),
            "Isr": list(state[ISR]),
            "RemovingReplicas": [],
            "AddingReplicas": [],
            "Leader": state[LEADER],
            "LeaderEpoch": 0,
            "PartitionEpoch": 0,
            "Directories": [Uuid(item) for item in state[DIRECTORIES]],
        }
        return self._record("PartitionRecord", 2, data)

    def _change(self, topic: bytes, at: int, states: list[list[Any]], change: dict[int, Any], keep: bool) -> bytes:
        """Return a PartitionChangeRecord by hand: the part behind the ids is the same for many, and kept."""
        key = tuple(change.items())
        found = self._tails.get(key)
        if found is None:
            found = self._tails[key] = tail(change)
            self._lists.update(change[place] for place in (REPLICAS, ISR) if place in change)
        if keep:
            state = states[at]
            for place, value in change.items():
                state[place] = value
            state[LEADER_EPOCH] += LEADER in change
            state[PARTITION_EPOCH] += 1
        self._types["PartitionChangeRecord"] += 1
        return b"\x01\x05\x02" + IDS.pack(at) + topic + found

    def _register(self, broker: int, *, fenced: bool) -> bytes:
        directory = self._brokers[broker][2] if broker in self._brokers else self._uuid()
        self._brokers[broker] = [self._offset, fenced, directory]
        data = {
            "BrokerId": broker,
            "IncarnationId": Uuid(self._uuid()),
            "BrokerEpoch": self._offset,
            "EndPoints": [{"Name": "PLAINTEXT", "Host": f"broker-{broker}", "Port": 9092, "SecurityProtocol": 0}],
            "Features": [{"Name": "metadata.version", "MinSupportedVersion": 7, "MaxSupportedVersion": LEVEL}],
            "Rack": f"rack-{broker % 3}",
            "Fenced": fenced,
            "LogDirs": [Uuid(directory)],
        }
        return self._record("RegisterBrokerRecord", 4, data)

    def _registration_change(self, broker: int, fenced: int) -> bytes:
        self._brokers[broker][1] = fenced > 0
        data = {"BrokerId": broker, "BrokerEpoch": self._brokers[broker][0], "Fenced": fenced}
        return self._record("BrokerRegistrationChangeRecord", 0, data)

    def _controller(self, node_id: int) -> bytes:
        data = {
            "ControllerId": node_id,
            "IncarnationId": Uuid(self._uuid()),
            "EndPoints": [{"Name": "CONTROLLER", "Host": f"c-{node_id}", "Port": 9093, "SecurityProtocol": 0}],
            "Features": [{"Name": "metadata.version", "MinSupportedVersion": 7, "MaxSupportedVersion": LEVEL}],
        }
        return self._record("RegisterControllerRecord", 0, data)

    def _level(self, name: str, level: int) -> bytes:
        self._levels[name] = level
        return self._record("FeatureLevelRecord", 0, {"Name": name, "FeatureLevel": level})

    def _config(self, kind: int, resource: str, name: str, value: str, *, keep: bool = True) -> bytes:
        if keep:
            self._configs.setdefault((kind, resource), {})[name] = value
        data = {"ResourceType": kind, "ResourceName": resource, "Name": name, "Value": value}
        return self._record("ConfigRecord", 0, data)

    def _acl(self) -> bytes:
        raw, principal = self._uuid(), f"User:{self._rng.randrange(1_000)}"
        self._acls[raw] = principal
        data = {
            "Id": Uuid(raw),
            "ResourceType": 2,
            "ResourceName": "topic",
            "PatternType": 3,
            "Principal": principal,
            "Host": "*",
            "Operation": 3,
            "PermissionType": 3,
        }
        return self._record("AccessControlEntryRecord", 0, data)

    def _remove_acl(self) -> bytes:
        if not self._acls:
            return self._acl()
        raw = next(iter(self._acls))
        del self._acls[raw]
        return self._record("RemoveAccessControlEntryRecord", 0, {"Id": Uuid(raw)})

    def _credential(self) -> bytes:
        user, mechanism = f"user-{self._rng.randrange(200)}", 1 + self._rng.randrange(2)
        if (mechanism, user) in self._scram and self._rng.random() < 0.3:
            del self._scram[mechanism, user]
            return self._record("RemoveUserScramCredentialRecord", 0, {"Name": user, "Mechanism": mechanism})
        iterations = 4_096 + self._rng.randrange(1_000)
        self._scram[mechanism, user] = iterations
        data = {
            "Name": user,
            "Mechanism": mechanism,
            "Salt": self._uuid(),
            "StoredKey": self._uuid() * 2,
            "ServerKey": self._uuid() * 2,
            "Iterations": iterations,
        }
        return self._record("UserScramCredentialRecord", 0, data)

    def _quota(self) -> bytes:
        user, value = f"user-{self._rng.randrange(200)}", float(self._rng.randrange(1, 1 << 20))
        self._quotas[user] = value
        entity = [{"EntityType": "user", "EntityName": user}]
        data = {"Entity": entity, "Key": "producer_byte_rate", "Value": value, "Remove": False}
        return self._record("ClientQuotaRecord", 0, data)

    def _producer_ids(self) -> bytes:
        self._producer_id += 1_000
        broker = self._rng.randrange(self.shape.brokers)
        data = {"BrokerId": broker, "BrokerEpoch": self._brokers[broker][0], "NextProducerId": self._producer_id}
        return self._record("ProducerIdsRecord", 0, data)

    def _uuid(self) -> bytes:
        self._next_uuid += 1
        return hashlib.blake2b(b"%d %d" % (self.shape.seed, self._next_uuid), digest_size=16).digest()

    def _state(self) -> dict[str, Any]:
        partitions = (
            (name, at, (*map(tuple, state[:4]), *state[4:7], b"".join(state[7]), *map(tuple, state[8:])))
            for name, _, states in self._topics.values()
            for at, state in enumerate(states)
        )
        return state_of(
            topics={name: raw for name, raw, _ in self._topics.values()},
            partitions=partitions,
            brokers={item: (held[0], held[1], held[2]) for item, held in self._brokers.items()},
            configs=self._configs,
            acls=self._acls,
            scram=self._scram,
            quotas=self._quotas,
            levels=self._levels,
            producer_id=self._producer_id or None,
        )
