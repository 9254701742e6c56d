package kafkactl.lab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What an operator of tiered topics does. Arguments: addresses, then words; without words they come from standard input, one a line,
 * and each is answered by a line: `done`, what was asked for, or `failed` and why.
 *
 * `create:TOPIC:KEY=VALUE,...` · `place:TOPIC:11,12;12,13:KEY=VALUE,...` (replicas of each partition) · `produce:TOPIC:COUNT` (1 kB each) ·
 * `configure:TOPIC:KEY=VALUE,...` · `drop:TOPIC` · `cut:TOPIC:OFFSET` and `:PARTITION` · `grow:TOPIC:PARTITIONS` · `move:TOPIC:11,12` (of partition 0) ·
 * `elect:preferred` or `elect:unclean`, then `:TOPIC,...` (partition 0 of each) ·
 * `offsets:TOPIC` (earliest, latest, earliest local, latest tiered, on one line) · `poison:PARTITION` (a record that does not decode) ·
 * `record:PARTITION:HEX` (a record of the metadata topic).
 */
public final class TieredChores {
    private static final String DONE = "done";

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        properties.put("linger.ms", "0");
        properties.put("batch.size", "1");
        // Sequence numbers of a topic that was just made come out of order, which costs a second each time.
        properties.put("enable.idempotence", "false");
        properties.put("retry.backoff.ms", "50");
        properties.put("retry.backoff.max.ms", "200");
        try (Admin admin = Admin.create(properties);
             KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            for (String word : Arrays.asList(arguments).subList(1, arguments.length)) {
                String said = run(admin, producer, word);
                if (!said.equals(DONE)) {
                    System.out.println(said);
                }
            }
            if (arguments.length == 1) {
                serve(admin, producer);
            }
        }
    }

    private static void serve(Admin admin, KafkaProducer<byte[], byte[]> producer) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String said;
            try {
                said = run(admin, producer, line);
            } catch (Exception error) {
                said = ("failed " + error).replace('\n', ' ');
            }
            System.out.println(said);
        }
    }

    private static String run(Admin admin, KafkaProducer<byte[], byte[]> producer, String text) throws Exception {
        String[] word = text.split(":", 4);
        int number = word[0].equals("cut") && word.length > 3 ? Integer.parseInt(word[3]) : 0;
        TopicPartition partition = new TopicPartition(word[1], number);
        switch (word[0]) {
            case "create":
                admin.createTopics(List.of(new NewTopic(word[1], Optional.of(1), Optional.empty()).configs(settings(word[2]))))
                    .all().get(30, TimeUnit.SECONDS);
                break;
            case "place":
                Map<Integer, List<Integer>> replicas = new HashMap<>();
                for (String part : word[2].split(";")) {
                    replicas.put(replicas.size(), numbers(part));
                }
                admin.createTopics(List.of(new NewTopic(word[1], replicas).configs(settings(word[3])))).all().get(60, TimeUnit.SECONDS);
                break;
            case "produce":
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                for (int count = 0; count < Integer.parseInt(word[2]); count++) {
                    sent.add(producer.send(new ProducerRecord<>(word[1], 0, null, new byte[1000])));
                }
                for (Future<RecordMetadata> each : sent) {
                    each.get(120, TimeUnit.SECONDS);
                }
                break;
            case "grow":
                admin.createPartitions(Map.of(word[1], NewPartitions.increaseTo(Integer.parseInt(word[2])))).all().get(60, TimeUnit.SECONDS);
                break;
            case "move":
                admin.alterPartitionReassignments(Map.of(partition, Optional.of(new NewPartitionReassignment(numbers(word[2])))))
                    .all().get(60, TimeUnit.SECONDS);
                break;
            case "elect":
                ElectionType type = word[1].equals("unclean") ? ElectionType.UNCLEAN : ElectionType.PREFERRED;
                Set<TopicPartition> wanted = new HashSet<>();
                for (String topic : word[2].split(",")) {
                    wanted.add(new TopicPartition(topic, 0));
                }
                for (Optional<Throwable> error : admin.electLeaders(type, wanted).partitions().get(60, TimeUnit.SECONDS).values()) {
                    if (error.isPresent() && !(error.get() instanceof ElectionNotNeededException)) {
                        throw new IllegalStateException(error.get());
                    }
                }
                break;
            case "record":
                producer.send(new ProducerRecord<>("__remote_log_metadata", Integer.parseInt(word[1]), null, HexFormat.of().parseHex(word[2])))
                    .get(60, TimeUnit.SECONDS);
                break;
            case "configure":
                ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, word[1]);
                List<AlterConfigOp> changes = settings(word[2]).entrySet().stream()
                    .map(entry -> new AlterConfigOp(
                        new ConfigEntry(entry.getKey(), entry.getValue()), AlterConfigOp.OpType.SET))
                    .toList();
                admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get(30, TimeUnit.SECONDS);
                break;
            case "drop":
                admin.deleteTopics(List.of(word[1])).all().get(30, TimeUnit.SECONDS);
                break;
            case "cut":
                admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(Long.parseLong(word[2]))))
                    .all().get(30, TimeUnit.SECONDS);
                break;
            case "poison":
                producer.send(new ProducerRecord<>("__remote_log_metadata", Integer.parseInt(word[1]), null, new byte[] {1, 99, 0}))
                    .get(30, TimeUnit.SECONDS);
                break;
            case "offsets":
                return offset(admin, partition, OffsetSpec.earliest()) + " "
                    + offset(admin, partition, OffsetSpec.latest()) + " "
                    + offset(admin, partition, OffsetSpec.earliestLocal()) + " "
                    + offset(admin, partition, OffsetSpec.latestTiered());
            default:
                throw new IllegalArgumentException(word[0]);
        }
        return DONE;
    }

    private static List<Integer> numbers(String text) {
        return Arrays.stream(text.split(",")).map(Integer::valueOf).toList();
    }

    private static long offset(Admin admin, TopicPartition partition, OffsetSpec spec) throws Exception {
        return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get(30, TimeUnit.SECONDS).offset();
    }

    private static Map<String, String> settings(String text) {
        Map<String, String> found = new HashMap<>();
        for (String pair : text.split(",")) {
            String[] parts = pair.split("=", 2);
            found.put(parts[0], parts[1]);
        }
        return found;
    }
}
