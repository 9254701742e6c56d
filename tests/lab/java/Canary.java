package kafkactl.lab;

import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.IntegerSerializer;

/**
 * Writes numbered messages with acks=all until its input ends, then reads the partition and says what is missing:
 * `Canary BOOTSTRAP TOPIC INTERVAL_MS [PROPERTIES]` prints `acked=N errors=E longest_gap_ms=G lost=L`.
 */
public class Canary {
    public static void main(String[] args) throws Exception {
        BitSet acked = new BitSet();
        AtomicInteger errors = new AtomicInteger();
        AtomicLong last = new AtomicLong(System.currentTimeMillis());
        AtomicLong gap = new AtomicLong();
        Properties properties = new Properties();
        if (args.length > 3) {
            try (Reader reader = Files.newBufferedReader(Path.of(args[3]))) {
                properties.load(reader);
            }
        }
        properties.put("bootstrap.servers", args[0]);
        properties.put("acks", "all");
        properties.put("delivery.timeout.ms", "120000");
        properties.put("request.timeout.ms", "10000");
        try (KafkaProducer<Integer, byte[]> producer =
                new KafkaProducer<>(properties, new IntegerSerializer(), new ByteArraySerializer())) {
            boolean first = true;
            for (int number = 0; ended() == false; number++) {
                int mine = number;
                producer.send(new ProducerRecord<>(args[1], 0, mine, new byte[16]), (metadata, error) -> {
                    if (error != null) {
                        errors.incrementAndGet();
                        return;
                    }
                    synchronized (acked) {
                        acked.set(mine);
                    }
                    long now = System.currentTimeMillis();
                    long before = last.getAndSet(now);
                    if (mine > 0) gap.accumulateAndGet(now - before, Math::max);
                });
                if (first) {
                    producer.flush();
                    System.out.println("ready");
                    first = false;
                }
                Thread.sleep(Long.parseLong(args[2]));
            }
        }
        BitSet lost = (BitSet) acked.clone();
        properties.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<Integer, byte[]> consumer =
                new KafkaConsumer<>(properties, new IntegerDeserializer(), new ByteArrayDeserializer())) {
            TopicPartition partition = new TopicPartition(args[1], 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            long until = System.currentTimeMillis() + 300000;
            while (consumer.position(partition) < end && System.currentTimeMillis() < until) {
                ConsumerRecords<Integer, byte[]> records = consumer.poll(Duration.ofMillis(500));
                records.forEach(record -> lost.clear(record.key()));
            }
            if (consumer.position(partition) < end) throw new IllegalStateException("not read to the end in time");
        }
        System.out.println("acked=" + acked.cardinality() + " errors=" + errors + " longest_gap_ms=" + gap
            + " lost=" + lost.cardinality());
    }

    private static boolean ended() throws Exception {
        return System.in.available() > 0;
    }
}
