package kafkactl.lab;

import java.io.FileInputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What an administrator does to a cluster that migrates; brokers 1 and 2 are there, whatever else.
 *
 * Arguments: a client.properties, then words:
 * `fill` metadata of every kind; `reassign` begins a reassignment that does not end; `settle` ends it;
 * `topic:NAME:PARTITIONS:RF`, `delete-topic:NAME`, `partitions:NAME:COUNT`; `config:TYPE:NAME:KEY=VALUE` (nothing behind
 * the = deletes; NAME may be empty); `scram:USER` (a new password), `delete-scram:USER`;
 * `quota:KEY=VALUE:TYPE=NAME[,TYPE=NAME]` (no NAME is the default, no VALUE deletes); `acl:TOPIC:PRINCIPAL`;
 * `produce:TOPIC:COUNT[:BYTES]` (numbered messages, acks=all), `count:TOPIC` (says how many there are).
 */
public final class MigrationChores {
    private final Admin admin;
    private final Properties properties;

    private MigrationChores(Admin admin, Properties properties) {
        this.admin = admin;
        this.properties = properties;
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream in = new FileInputStream(arguments[0])) {
            properties.load(in);
        }
        try (Admin admin = Admin.create(properties)) {
            MigrationChores chores = new MigrationChores(admin, properties);
            for (String word : Arrays.asList(arguments).subList(1, arguments.length)) {
                chores.run(word);
            }
        }
    }

    private void run(String word) throws Exception {
        String[] parts = word.split(":", -1);
        switch (parts[0]) {
            case "fill": fill(); break;
            case "reassign": reassign(); break;
            case "settle": settle(); break;
            case "topic":
                tell(word, () -> done(admin.createTopics(List.of(
                    new NewTopic(parts[1], Integer.parseInt(parts[2]), Short.parseShort(parts[3])))).all()));
                break;
            case "delete-topic": tell(word, () -> done(admin.deleteTopics(List.of(parts[1])).all())); break;
            case "partitions":
                tell(word, () -> done(admin.createPartitions(
                    Map.of(parts[1], NewPartitions.increaseTo(Integer.parseInt(parts[2])))).all()));
                break;
            case "config": {
                String[] pair = word.split(":", 4)[3].split("=", 2);
                config(parts[1].toUpperCase(), parts[2], pair[0], pair[1].isEmpty() ? null : pair[1]);
                break;
            }
            case "scram": scram(parts[1], ScramMechanism.SCRAM_SHA_256); break;
            case "delete-scram":
                tell(word, () -> done(admin.alterUserScramCredentials(List.of(
                    new UserScramCredentialDeletion(parts[1], ScramMechanism.SCRAM_SHA_256))).all()));
                break;
            case "quota": {
                String[] pair = parts[1].split("=", 2);
                quota(entities(parts[2]), pair[0], pair[1].isEmpty() ? null : Double.valueOf(pair[1]));
                break;
            }
            case "acl": acl(ResourceType.TOPIC, parts[1], PatternType.LITERAL, "User:" + parts[2], AclOperation.READ); break;
            case "produce":
                produce(parts[1], Integer.parseInt(parts[2]), parts.length > 3 ? Integer.parseInt(parts[3]) : 10);
                break;
            case "count": tell(word, () -> "" + count(parts[1])); break;
            default: throw new IllegalArgumentException(word);
        }
    }

    // --- every kind of metadata ---

    private void fill() throws Exception {
        topics();
        settings();
        quotas();
        acls();
        users();
        token();
        produce("spread", 20, 10);
    }

    private void topics() {
        tell("topics", () -> done(admin.createTopics(List.of(
            new NewTopic("spread", 3, (short) 2).configs(Map.of("retention.ms", "3600000", "min.insync.replicas", "1")),
            new NewTopic("alone", Map.of(0, List.of(1), 1, List.of(2), 2, List.of(2))),
            new NewTopic("under_score.dots-and-dashes", Map.of(0, List.of(2, 1))),
            new NewTopic("grown", 1, (short) 2),
            new NewTopic("again", 4, (short) 1).configs(Map.of("cleanup.policy", "compact")),
            new NewTopic("moving", Map.of(0, List.of(1))),
            new NewTopic("gone", 2, (short) 1).configs(Map.of("retention.ms", "1")))).all()));
        tell("partitions", () -> done(admin.createPartitions(Map.of("grown", NewPartitions.increaseTo(4))).all()));
        tell("delete", () -> done(admin.deleteTopics(List.of("gone", "again")).all()));
        tell("many", () -> {
            List<NewTopic> many = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                many.add(new NewTopic("many-" + i, 1 + i % 7, (short) (1 + i % 2)));
            }
            return done(admin.createTopics(many).all());
        });
        tell("again", () -> {
            for (int i = 0; i < 100; i++) {
                try {
                    return done(admin.createTopics(List.of(new NewTopic("again", 2, (short) 1))).all());
                } catch (Exception existsYet) {
                    Thread.sleep(100);
                }
            }
            throw new IllegalStateException("the topic does not go away");
        });
    }

    private void settings() {
        config("TOPIC", "spread", "max.message.bytes", "123456");
        config("TOPIC", "alone", "segment.ms", "3600000");
        config("TOPIC", "grown", "segment.ms", "3600000");
        config("TOPIC", "grown", "segment.ms", null);
        config("BROKER", "", "message.max.bytes", "1234567");
        config("BROKER", "1", "max.connections", "1000");
        config("BROKER", "2", "background.threads", "7");
        // Of listeners that are not there yet: what is there may not be changed so.
        config("BROKER", "1", "listener.name.later.ssl.keystore.password", "k3ystore-password");
        config("BROKER", "2", "listener.name.later.plain.sasl.jaas.config",
            "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"admin\" password=\"s3cret\";");
    }

    private void quotas() {
        quota(entity("user", "alice"), "producer_byte_rate", 1024.0);
        quota(entity("user", "alice"), "request_percentage", 12.25);
        quota(entity("user", null), "consumer_byte_rate", 2048.0);
        quota(entity("client-id", "app"), "producer_byte_rate", 1.0e9);
        quota(entity("client-id", null), "producer_byte_rate", 2.0e9);
        quota(entity("user", "bob@x.com", "client-id", "app"), "request_percentage", 99.5);
        quota(entity("user", "bob@x.com", "client-id", null), "request_percentage", 98.5);
        quota(entity("user", null, "client-id", "app"), "request_percentage", 97.5);
        quota(entity("user", null, "client-id", null), "request_percentage", 96.5);
        quota(entity("client-id", "a*b +/ü%"), "controller_mutation_rate", 5.0);
        quota(entity("ip", "192.0.2.7"), "connection_creation_rate", 10.0);
        quota(entity("ip", null), "connection_creation_rate", 1000.0);
        quota(entity("client-id", "was"), "producer_byte_rate", 1.0);
        quota(entity("client-id", "was"), "producer_byte_rate", null);
    }

    private void acls() {
        acl(ResourceType.TOPIC, "spread", PatternType.LITERAL, "User:alice", AclOperation.READ);
        acl(ResourceType.TOPIC, "*", PatternType.LITERAL, "User:*", AclOperation.DESCRIBE);
        acl(ResourceType.TOPIC, "as", PatternType.PREFIXED, "User:CN=bob,O=x", AclOperation.WRITE);
        acl(ResourceType.GROUP, "g", PatternType.LITERAL, "User:alice", AclOperation.ALL);
        acl(ResourceType.GROUP, "g", PatternType.PREFIXED, "User:alice", AclOperation.READ);
        acl(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL, "User:alice", AclOperation.ALTER_CONFIGS);
        acl(ResourceType.TRANSACTIONAL_ID, "tx", PatternType.LITERAL, "User:alice", AclOperation.WRITE);
        acl(ResourceType.DELEGATION_TOKEN, "t", PatternType.LITERAL, "User:alice", AclOperation.DESCRIBE);
        acl(ResourceType.USER, "User:alice", PatternType.LITERAL, "User:bob", AclOperation.CREATE_TOKENS);
        tell("many acls", () -> {
            List<AclBinding> many = new ArrayList<>();
            for (int i = 0; i < 230; i++) {
                many.add(binding(ResourceType.TOPIC, "alone", PatternType.LITERAL, "User:u" + i, AclOperation.READ));
            }
            return done(admin.createAcls(many).all());
        });
    }

    private void users() {
        scram("alice", ScramMechanism.SCRAM_SHA_256);
        scram("alice", ScramMechanism.SCRAM_SHA_512);
        scram("bob@x.com", ScramMechanism.SCRAM_SHA_256);
        scram("car ol=+,%é", ScramMechanism.SCRAM_SHA_512);
    }

    private void token() {
        tell("token", () -> admin.createDelegationToken(new CreateDelegationTokenOptions()
            .renewers(List.of(new KafkaPrincipal("User", "alice"), new KafkaPrincipal("User", "b c"))))
            .delegationToken().get(30, TimeUnit.SECONDS));
    }

    private void reassign() throws Exception {
        config("TOPIC", "moving", "leader.replication.throttled.replicas", "*");
        config("TOPIC", "moving", "follower.replication.throttled.replicas", "*");
        for (String broker : List.of("1", "2")) {
            config("BROKER", broker, "leader.replication.throttled.rate", "1");
            config("BROKER", broker, "follower.replication.throttled.rate", "1");
        }
        produce("moving", 60, 50000);
        tell("reassign", () -> done(admin.alterPartitionReassignments(Map.of(
            new TopicPartition("moving", 0), Optional.of(new NewPartitionReassignment(List.of(2))))).all()));
    }

    private void settle() throws Exception {
        for (String broker : List.of("1", "2")) {
            config("BROKER", broker, "leader.replication.throttled.rate", null);
            config("BROKER", broker, "follower.replication.throttled.rate", null);
        }
        tell("settle", () -> {
            for (int i = 0; i < 300 && !done(admin.listPartitionReassignments().reassignments()).isEmpty(); i++) {
                Thread.sleep(100);
            }
            return done(admin.listPartitionReassignments().reassignments());
        });
    }

    // --- single words ---

    private void config(String type, String name, String key, String value) {
        tell("config " + type + " " + name + " " + key, () -> {
            AlterConfigOp.OpType kind = value == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET;
            AlterConfigOp change = new AlterConfigOp(new ConfigEntry(key, value), kind);
            ConfigResource resource = new ConfigResource(ConfigResource.Type.valueOf(type), name);
            return done(admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all());
        });
    }

    private static ClientQuotaEntity entity(String... pairs) {
        Map<String, String> entries = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            entries.put(pairs[i], pairs[i + 1]);
        }
        return new ClientQuotaEntity(entries);
    }

    private static ClientQuotaEntity entities(String text) {
        Map<String, String> entries = new HashMap<>();
        for (String one : text.split(",")) {
            String[] pair = one.split("=", 2);
            entries.put(pair[0], pair[1].isEmpty() ? null : pair[1]);
        }
        return new ClientQuotaEntity(entries);
    }

    private void quota(ClientQuotaEntity entity, String key, Double value) {
        tell("quota " + entity, () -> done(admin.alterClientQuotas(List.of(
            new ClientQuotaAlteration(entity, List.of(new ClientQuotaAlteration.Op(key, value))))).all()));
    }

    private void acl(ResourceType type, String name, PatternType pattern, String principal, AclOperation operation) {
        tell("acl " + type + " " + name, () -> done(admin.createAcls(List.of(binding(type, name, pattern, principal, operation))).all()));
    }

    private static AclBinding binding(ResourceType type, String name, PatternType pattern, String principal, AclOperation operation) {
        return new AclBinding(new ResourcePattern(type, name, pattern),
            new AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW));
    }

    private void scram(String user, ScramMechanism mechanism) {
        tell("scram " + user, () -> done(admin.alterUserScramCredentials(List.of(
            new UserScramCredentialUpsertion(user, new ScramCredentialInfo(mechanism, 4096), "lab-password"))).all()));
    }

    private void produce(String topic, int count, int bytes) {
        tell("produce " + topic, () -> {
            Properties mine = new Properties();
            mine.putAll(properties);
            mine.put("enable.idempotence", "true");
            try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(mine, new ByteArraySerializer(), new ByteArraySerializer())) {
                List<Future<?>> sent = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    sent.add(producer.send(new ProducerRecord<>(topic, new byte[bytes])));
                }
                for (Future<?> one : sent) {
                    one.get(60, TimeUnit.SECONDS);
                }
            }
            return "";
        });
    }

    private long count(String topic) throws Exception {
        Properties mine = new Properties();
        mine.putAll(properties);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(mine, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(one -> partitions.add(new TopicPartition(topic, one.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            long read = 0;
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("read " + read + " until the time was over");
                }
                read += consumer.poll(Duration.ofMillis(200)).count();
            }
            return read;
        }
    }

    private static <T> T done(Future<T> future) throws Exception {
        return future.get(30, TimeUnit.SECONDS);
    }

    private static void tell(String what, Callable<?> work) {
        try {
            System.out.println("done " + what + ": " + work.call());
        } catch (Throwable thrown) {
            System.out.println("failed " + what + ": " + thrown);
        }
    }
}
