package kafkactl.lab;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a share group that accepts at least COUNT records, or gives up: `ShareReader BOOTSTRAP TOPIC GROUP COUNT
 * SECONDS RESET` prints `read=N first=OFFSET last=OFFSET`. RESET is the group's share.auto.offset.reset, `-` to leave it.
 */
public class ShareReader {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("group.id", args[2]);
        properties.put("max.poll.records", "10");
        if (args[5].equals("-") == false) {
            try (Admin admin = Admin.create(properties)) {
                ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, args[2]);
                ConfigEntry reset = new ConfigEntry("share.auto.offset.reset", args[5]);
                admin.incrementalAlterConfigs(Map.of(group, List.of(new AlterConfigOp(reset, AlterConfigOp.OpType.SET))))
                    .all().get();
            }
        }
        TreeSet<Long> offsets = new TreeSet<>();
        long until = System.currentTimeMillis() + 1000L * Integer.parseInt(args[4]);
        try (KafkaShareConsumer<byte[], byte[]> consumer =
                new KafkaShareConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(args[1]));
            while (offsets.size() < Integer.parseInt(args[3]) && System.currentTimeMillis() < until) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    offsets.add(record.offset());
                }
                consumer.commitSync();
            }
        }
        long first = offsets.isEmpty() ? -1 : offsets.first(), last = offsets.isEmpty() ? -1 : offsets.last();
        System.out.println("read=" + offsets.size() + " first=" + first + " last=" + last);
    }
}
