package kafkactl.lab;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.ExpireDelegationTokenOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
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
import org.apache.kafka.common.security.token.delegation.DelegationToken;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What an administrator does to a cluster of brokers 1 and 2, so that its metadata log has records of most types.
 *
 * Arguments: a client.properties, then words: `first` (everything, both brokers up), `upgrade:LEVEL` (metadata.version),
 * `users` (SCRAM and tokens), `without-2` (changes while broker 2 is down), `unregister-2`, `again` (changes once it is back). What a release
 * cannot do is told and passed over.
 */
public final class Chores {
    private final Admin admin;
    private final Properties properties;

    private Chores(Admin admin, Properties properties) {
        this.admin = admin;
        this.properties = properties;
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (java.io.FileInputStream in = new java.io.FileInputStream(arguments[0])) {
            properties.load(in);
        }
        try (Admin admin = Admin.create(properties)) {
            Chores chores = new Chores(admin, properties);
            for (String word : Arrays.asList(arguments).subList(1, arguments.length)) {
                chores.run(word);
            }
        }
    }

    private void run(String word) throws Exception {
        if (word.startsWith("upgrade:")) {
            short level = Short.parseShort(word.substring("upgrade:".length()));
            tell(word, () -> admin.updateFeatures(
                Map.of("metadata.version", new FeatureUpdate(level, FeatureUpdate.UpgradeType.UPGRADE)),
                new UpdateFeaturesOptions()).all().get(30, TimeUnit.SECONDS));
        } else if (word.equals("first")) {
            topics();
            configs();
            quotas();
            acls();
            users();
            reassign();
            produce();
        } else if (word.equals("users")) {
            users();
        } else if (word.equals("without-2")) {
            withoutTwo();
        } else if (word.equals("unregister-2")) {
            tell(word, () -> admin.unregisterBroker(2).all().get(30, TimeUnit.SECONDS));
        } else if (word.equals("again")) {
            tell("elect", () -> admin.electLeaders(ElectionType.PREFERRED, null).partitions().get(30, TimeUnit.SECONDS));
        } else {
            throw new IllegalArgumentException(word);
        }
    }

    private void topics() {
        tell("topics", () -> admin.createTopics(List.of(
            new NewTopic("spread", 3, (short) 2).configs(Map.of("retention.ms", "3600000", "min.insync.replicas", "2")),
            new NewTopic("alone", Map.of(0, List.of(1), 1, List.of(2), 2, List.of(2))),
            new NewTopic("home", Map.of(0, List.of(1))),
            new NewTopic("pair", Map.of(0, List.of(1, 2), 1, List.of(2, 1))),
            new NewTopic("gone", 2, (short) 1).configs(Map.of("retention.ms", "1")))).all().get(30, TimeUnit.SECONDS));
        tell("partitions", () -> admin.createPartitions(Map.of("spread", NewPartitions.increaseTo(4))).all().get(30, TimeUnit.SECONDS));
        tell("delete", () -> admin.deleteTopics(List.of("gone")).all().get(30, TimeUnit.SECONDS));
    }

    private void configs() {
        config("TOPIC", "spread", "max.message.bytes", "123456");
        config("TOPIC", "alone", "segment.ms", "3600000");
        config("TOPIC", "alone", "segment.ms", null);
        config("BROKER", "", "message.max.bytes", "1234567");
        config("BROKER", "1", "max.connections", "1000");
        config("BROKER", "1", "log.cleaner.threads", "1");
        config("BROKER", "1", "log.cleaner.threads", null);
        config("CLIENT_METRICS", "watch", "interval.ms", "60000");
        config("GROUP", "g", "consumer.session.timeout.ms", "50000");
    }

    private void config(String type, String name, String key, String value) {
        tell("config " + type + " " + key, () -> {
            AlterConfigOp.OpType kind = value == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET;
            AlterConfigOp change = new AlterConfigOp(new ConfigEntry(key, value), kind);
            ConfigResource resource = new ConfigResource(ConfigResource.Type.valueOf(type), name);
            return admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get(30, TimeUnit.SECONDS);
        });
    }

    private void quotas() {
        quota(entity("user", "alice"), "producer_byte_rate", 1024.0);
        quota(entity("user", null), "consumer_byte_rate", 2048.0);
        quota(entity("user", "bob", "client-id", null), "request_percentage", 12.25);
        quota(entity("ip", "192.0.2.7"), "connection_creation_rate", 10.0);
        quota(entity("client-id", "app"), "producer_byte_rate", 1.0);
        quota(entity("client-id", "app"), "producer_byte_rate", null);
    }

    private static ClientQuotaEntity entity(String... pairs) {
        Map<String, String> entries = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            entries.put(pairs[i], pairs[i + 1]);
        }
        return new ClientQuotaEntity(entries);
    }

    private void quota(ClientQuotaEntity entity, String key, Double value) {
        tell("quota " + entity, () -> admin.alterClientQuotas(List.of(
            new ClientQuotaAlteration(entity, List.of(new ClientQuotaAlteration.Op(key, value))))).all().get(30, TimeUnit.SECONDS));
    }

    private void acls() {
        AclBinding read = acl("spread", PatternType.LITERAL, "User:alice", AclOperation.READ, AclPermissionType.ALLOW);
        AclBinding write = acl("as", PatternType.PREFIXED, "User:bob", AclOperation.WRITE, AclPermissionType.DENY);
        AclBinding all = acl("*", PatternType.LITERAL, "User:*", AclOperation.DESCRIBE, AclPermissionType.ALLOW);
        tell("acls", () -> admin.createAcls(List.of(read, write, all)).all().get(30, TimeUnit.SECONDS));
        tell("delete acl", () -> admin.deleteAcls(List.of(write.toFilter())).all().get(30, TimeUnit.SECONDS));
    }

    private static AclBinding acl(String topic, PatternType pattern, String principal, AclOperation operation, AclPermissionType permission) {
        return new AclBinding(new ResourcePattern(ResourceType.TOPIC, topic, pattern),
            new AccessControlEntry(principal, "*", operation, permission));
    }

    private void users() {
        scram();
        tokens();
    }

    private void scram() {
        for (String user : List.of("alice", "bob", "carol")) {
            for (ScramMechanism mechanism : List.of(ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)) {
                tell("scram " + user, () -> admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion(
                    user, new ScramCredentialInfo(mechanism, 4096), "lab-password"))).all().get(30, TimeUnit.SECONDS));
            }
        }
        tell("scram delete", () -> admin.alterUserScramCredentials(List.of(
            new UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_512))).all().get(30, TimeUnit.SECONDS));
    }

    private void tokens() {
        tell("tokens", () -> {
            KafkaPrincipal renewer = new KafkaPrincipal("User", "alice");
            DelegationToken kept = admin.createDelegationToken(new CreateDelegationTokenOptions().renewers(List.of(renewer))).delegationToken().get(30, TimeUnit.SECONDS);
            DelegationToken gone = admin.createDelegationToken().delegationToken().get(30, TimeUnit.SECONDS);
            Thread.sleep(2000); // until the broker that is asked has seen them
            admin.renewDelegationToken(kept.hmac()).expiryTimestamp().get(30, TimeUnit.SECONDS);
            return admin.expireDelegationToken(gone.hmac(), new ExpireDelegationTokenOptions().expiryTimePeriodMs(-1)).expiryTimestamp().get(30, TimeUnit.SECONDS);
        });
    }

    private void reassign() throws Exception {
        move("alone", 0, List.of(2));
        move("pair", 0, List.of(2, 1));
        for (int i = 0; i < 100 && !admin.listPartitionReassignments().reassignments().get(30, TimeUnit.SECONDS).isEmpty(); i++) {
            Thread.sleep(100);
        }
        tell("elect", () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(new TopicPartition("pair", 0))).partitions().get(30, TimeUnit.SECONDS));
    }

    private void move(String topic, int partition, List<Integer> replicas) {
        tell("reassign " + topic + "-" + partition, () -> admin.alterPartitionReassignments(Map.of(
            new TopicPartition(topic, partition), Optional.of(new NewPartitionReassignment(replicas)))).all().get(30, TimeUnit.SECONDS));
    }

    private void produce() {
        tell("produce", () -> {
            Properties mine = new Properties();
            mine.putAll(properties);
            mine.put("enable.idempotence", "true");
            try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(mine, new ByteArraySerializer(), new ByteArraySerializer())) {
                return producer.send(new ProducerRecord<>("home", 0, null, new byte[] {1})).get(30, TimeUnit.SECONDS);
            }
        });
    }

    private void withoutTwo() {
        tell("topic while 2 is down", () -> admin.createTopics(List.of(new NewTopic("late", 2, (short) 1))).all().get(30, TimeUnit.SECONDS));
        config("TOPIC", "late", "retention.ms", "7200000");
        move("late", 0, List.of(1, 2));
        move("late", 1, List.of(2));
        tell("unclean", () -> admin.electLeaders(ElectionType.UNCLEAN, Set.of(new TopicPartition("spread", 0))).partitions().get(30, TimeUnit.SECONDS));
    }

    private static void tell(String what, Callable<?> work) {
        try {
            work.call();
            System.out.println("done " + what);
        } catch (Throwable thrown) {
            System.out.println("failed " + what + ": " + thrown);
        }
    }
}
