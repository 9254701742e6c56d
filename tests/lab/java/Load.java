package kafkactl.lab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.IntegerSerializer;

/**
 * A producer with acks=all and a member of a consumer group, both at work until the input ends.
 *
 * `Load BOOTSTRAP TOPIC PARTITIONS REPLICAS INTERVAL_MS` makes the topic (one replica fewer must be in sync) and prints
 * `ready`. For each line `mark` it waits until every message acked so far was read by the group, at most 120 s, and
 * prints `acked=N errors=E unread=U longest_ack_ms=A longest_read_ms=R` of the time since the line before: the longest
 * time from a send to its acknowledgement, and from that to the group's reading. After the input's end it reads the
 * topic from its start, and prints `acked=N errors=E lost=L` of the whole time.
 */
public class Load {
    private static final int MOST = 1 << 22;
    private static final long PATIENCE_MS = 120_000;

    private final Properties properties = new Properties();
    private final BitSet acked = new BitSet();
    private final BitSet read = new BitSet();
    private final long[] ackedAt = new long[MOST];
    private int errors;
    private int errorsBefore;
    private int ackedBefore;
    private long longestAck;
    private long longestRead;
    private volatile boolean over;

    public static void main(String[] args) throws Exception {
        new Load().run(args[0], args[1], Integer.parseInt(args[2]), Short.parseShort(args[3]), Long.parseLong(args[4]));
        System.exit(0);
    }

    private void run(String bootstrap, String topic, int partitions, short replicas, long interval) throws Exception {
        properties.put("bootstrap.servers", bootstrap);
        properties.put("acks", "all");
        properties.put("delivery.timeout.ms", "120000");
        properties.put("request.timeout.ms", "10000");
        properties.put("group.id", "load");
        properties.put("auto.offset.reset", "earliest");
        String inSync = Integer.toString(Math.max(1, replicas - 1));
        try (Admin admin = Admin.create(properties)) {
            NewTopic made = new NewTopic(topic, Optional.of(partitions), Optional.of(replicas));
            admin.createTopics(List.of(made.configs(Map.of("min.insync.replicas", inSync)))).all().get();
        }
        Thread writer = started(() -> write(topic, partitions, interval));
        Thread reader = started(() -> follow(topic));
        while (reading() == 0) Thread.sleep(50);
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) System.out.println(mark());
        over = true;
        writer.join();
        reader.join();
        int lost = neverFound(topic, partitions);
        System.out.println("acked=" + acked.cardinality() + " errors=" + errors + " lost=" + lost);
    }

    private interface Work {
        void run() throws Exception;
    }

    private static Thread started(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Throwable error) {
                error.printStackTrace();
                System.exit(1);
            }
        });
        thread.start();
        return thread;
    }

    private void write(String topic, int partitions, long interval) throws Exception {
        try (KafkaProducer<Integer, byte[]> producer =
                new KafkaProducer<>(properties, new IntegerSerializer(), new ByteArraySerializer())) {
            for (int number = 0; !over && number < MOST; number++) {
                int mine = number;
                long sent = System.currentTimeMillis();
                producer.send(new ProducerRecord<>(topic, mine % partitions, mine, new byte[64]), (where, error) -> {
                    if (error == null) acknowledged(mine, sent);
                    else failed();
                });
                Thread.sleep(interval);
            }
        }
    }

    private synchronized void acknowledged(int number, long sent) {
        long now = System.currentTimeMillis();
        acked.set(number);
        ackedAt[number] = now;
        longestAck = Math.max(longestAck, now - sent);
    }

    private synchronized void failed() {
        errors++;
    }

    private void follow(String topic) {
        try (KafkaConsumer<Integer, byte[]> consumer = consumer()) {
            consumer.subscribe(List.of(topic));
            while (!over) consumer.poll(Duration.ofMillis(200)).forEach(record -> received(record.key()));
        }
    }

    private synchronized void received(int number) {
        // The group may read a message before its producer hears of it: that is no time at all.
        if (acked.get(number) && !read.get(number))
            longestRead = Math.max(longestRead, System.currentTimeMillis() - ackedAt[number]);
        read.set(number);
    }

    private synchronized int reading() {
        return read.cardinality();
    }

    private String mark() throws Exception {
        BitSet due;
        synchronized (this) {
            due = (BitSet) acked.clone();
        }
        long until = System.currentTimeMillis() + PATIENCE_MS;
        int unread = unread(due);
        while (unread > 0 && System.currentTimeMillis() < until) {
            Thread.sleep(50);
            unread = unread(due);
        }
        synchronized (this) {
            String answer = "acked=" + (acked.cardinality() - ackedBefore) + " errors=" + (errors - errorsBefore)
                + " unread=" + unread + " longest_ack_ms=" + longestAck + " longest_read_ms=" + longestRead;
            ackedBefore = acked.cardinality();
            errorsBefore = errors;
            longestAck = longestRead = 0;
            return answer;
        }
    }

    private synchronized int unread(BitSet due) {
        BitSet left = (BitSet) due.clone();
        left.andNot(read);
        return left.cardinality();
    }

    private int neverFound(String topic, int partitions) {
        BitSet lost = (BitSet) acked.clone();
        List<TopicPartition> all =
            IntStream.range(0, partitions).mapToObj(number -> new TopicPartition(topic, number)).toList();
        properties.remove("group.id");
        try (KafkaConsumer<Integer, byte[]> consumer = consumer()) {
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            long until = System.currentTimeMillis() + PATIENCE_MS;
            while (ends.keySet().stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
                if (System.currentTimeMillis() > until) throw new IllegalStateException("not read to the end in time");
                consumer.poll(Duration.ofMillis(500)).forEach(record -> lost.clear(record.key()));
            }
        }
        return lost.cardinality();
    }

    private KafkaConsumer<Integer, byte[]> consumer() {
        return new KafkaConsumer<>(properties, new IntegerDeserializer(), new ByteArrayDeserializer());
    }
}
