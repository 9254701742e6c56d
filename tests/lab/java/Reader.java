package kafkactl.lab;

import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.IntegerDeserializer;

/**
 * A member of a group that reads what `Canary` writes, until its input ends and it has read to the end:
 * `Reader BOOTSTRAP TOPIC GROUP` prints `read=N errors=E longest_gap_ms=G behind=B`.
 */
public class Reader {
    public static void main(String[] args) throws Exception {
        BitSet read = new BitSet();
        long errors = 0, gap = 0, last = System.currentTimeMillis(), behind = -1;
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("group.id", args[2]);
        properties.put("auto.offset.reset", "earliest");
        properties.put("auto.commit.interval.ms", "1000");
        TopicPartition partition = new TopicPartition(args[1], 0);
        try (KafkaConsumer<Integer, byte[]> consumer =
                new KafkaConsumer<>(properties, new IntegerDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(args[1]));
            System.out.println("ready");
            long until = Long.MAX_VALUE;
            while (behind != 0 && System.currentTimeMillis() < until) {
                try {
                    for (ConsumerRecord<Integer, byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                        long now = System.currentTimeMillis();
                        if (read.isEmpty() == false) gap = Math.max(gap, now - last);
                        last = now;
                        read.set(record.key());
                    }
                    if (System.in.available() > 0) {
                        if (until == Long.MAX_VALUE) until = System.currentTimeMillis() + 120000;
                        Map<TopicPartition, Long> ends = consumer.endOffsets(List.of(partition));
                        if (consumer.assignment().contains(partition)) {
                            behind = ends.get(partition) - consumer.position(partition);
                        }
                    }
                } catch (org.apache.kafka.common.KafkaException error) {
                    errors++;
                    Thread.sleep(500);
                }
            }
        }
        System.out.println("read=" + read.cardinality() + " errors=" + errors + " longest_gap_ms=" + gap
            + " behind=" + behind);
    }
}
