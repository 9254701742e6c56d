package kafkactl.lab;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What an operator of tiered topics does. Arguments: an address, then words.
 *
 * `create:TOPIC:KEY=VALUE,...` · `produce:TOPIC:COUNT` (1 kB each) · `configure:TOPIC:KEY=VALUE,...` · `drop:TOPIC` · `cut:TOPIC:OFFSET` ·
 * `offsets:TOPIC` (earliest, latest, earliest local, latest tiered, on one line) · `poison:PARTITION` (a record that does not decode).
 */
public final class TieredChores {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        properties.put("linger.ms", "0");
        properties.put("batch.size", "1");
        try (Admin admin = Admin.create(properties);
             KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            for (String word : Arrays.asList(arguments).subList(1, arguments.length)) {
                run(admin, producer, word.split(":", 3));
            }
        }
    }

    private static void run(Admin admin, KafkaProducer<byte[], byte[]> producer, String[] word) throws Exception {
        TopicPartition partition = new TopicPartition(word[1], 0);
        switch (word[0]) {
            case "create":
                admin.createTopics(List.of(new NewTopic(word[1], Optional.of(1), Optional.empty()).configs(settings(word[2]))))
                    .all().get(30, TimeUnit.SECONDS);
                break;
            case "produce":
                for (int sent = 0; sent < Integer.parseInt(word[2]); sent++) {
                    producer.send(new ProducerRecord<>(word[1], 0, null, new byte[1000])).get(30, TimeUnit.SECONDS);
                }
                break;
            case "configure":
                ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, word[1]);
                List<AlterConfigOp> changes = settings(word[2]).entrySet().stream()
                    .map(entry -> new AlterConfigOp(
                        new ConfigEntry(entry.getKey(), entry.getValue()), AlterConfigOp.OpType.SET))
                    .toList();
                admin.incrementalAlterConfigs(Map.of(topic, changes)).all().get(30, TimeUnit.SECONDS);
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
                System.out.println(offset(admin, partition, OffsetSpec.earliest()) + " "
                    + offset(admin, partition, OffsetSpec.latest()) + " "
                    + offset(admin, partition, OffsetSpec.earliestLocal()) + " "
                    + offset(admin, partition, OffsetSpec.latestTiered()));
                break;
            default:
                throw new IllegalArgumentException(word[0]);
        }
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
