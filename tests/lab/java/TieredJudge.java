package kafkactl.lab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.metadata.storage.RemotePartitionMetadataEventHandler;
import org.apache.kafka.server.log.remote.metadata.storage.RemotePartitionMetadataStore;
import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/**
 * Kafka's own store of remote log metadata, fed with records of the topic.
 *
 * Arguments: a topic, its id, a partition. Standard input: logs of records in hexadecimal, one a line, each log ended by an empty
 * line. For each log one line: `stopped N` where record N ends the consumer, else the table and the index of every epoch, sorted.
 */
public final class TieredJudge {
    public static void main(String[] arguments) throws Exception {
        TopicIdPartition partition = new TopicIdPartition(
            Uuid.fromString(arguments[1]), new TopicPartition(arguments[0], Integer.parseInt(arguments[2])));
        RemoteLogMetadataSerde serde = new RemoteLogMetadataSerde();
        Method handle = RemotePartitionMetadataEventHandler.class
            .getDeclaredMethod("handleRemoteLogMetadata", RemoteLogMetadata.class);
        handle.setAccessible(true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        RemotePartitionMetadataStore store = fresh(partition);
        int number = 0;
        int stopped = -1;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.isEmpty()) {
                System.out.println(stopped >= 0 ? "stopped " + stopped : shown(store, partition));
                store = fresh(partition);
                number = 0;
                stopped = -1;
                continue;
            }
            if (stopped < 0) {
                try {
                    handle.invoke(store, serde.deserialize(HexFormat.of().parseHex(line)));
                } catch (java.lang.reflect.InvocationTargetException | RuntimeException error) {
                    stopped = number;
                }
            }
            number++;
        }
    }

    private static RemotePartitionMetadataStore fresh(TopicIdPartition partition) {
        RemotePartitionMetadataStore store = new RemotePartitionMetadataStore();
        store.maybeLoadPartition(partition);
        store.markInitialized(partition);
        return store;
    }

    private static String shown(RemotePartitionMetadataStore store, TopicIdPartition partition) throws Exception {
        Object cache = ((Map<?, ?>) value(store, "idToRemoteLogMetadataCache")).get(partition);
        StringBuilder text = new StringBuilder("table");
        Map<String, String> table = new TreeMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) value(cache, "idToSegmentMetadata")).entrySet()) {
            RemoteLogSegmentMetadata segment = (RemoteLogSegmentMetadata) entry.getValue();
            table.put(((RemoteLogSegmentId) entry.getKey()).id().toString(), segment.state().name() + "/" + segment.brokerId()
                + "/" + segment.customMetadata().map(custom -> Base64.getEncoder().encodeToString(custom.value())).orElse("-"));
        }
        table.forEach((id, state) -> text.append(' ').append(id).append('=').append(state));
        Map<Object, Object> epochs = new TreeMap<>((Map<?, ?>) value(cache, "leaderEpochEntries"));
        for (Map.Entry<Object, Object> epoch : epochs.entrySet()) {
            text.append(" epoch ").append(epoch.getKey()).append(' ').append(value(epoch.getValue(), "highestLogOffset"));
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value(epoch.getValue(), "offsetToId")).entrySet()) {
                text.append(' ').append(entry.getKey()).append(':').append(((RemoteLogSegmentId) entry.getValue()).id());
            }
            Set<String> unreferenced = new TreeSet<>();
            for (Object id : (Set<?>) value(epoch.getValue(), "unreferencedSegmentIds")) {
                unreferenced.add(((RemoteLogSegmentId) id).id().toString());
            }
            unreferenced.forEach(id -> text.append(" ~").append(id));
        }
        return text.toString();
    }

    private static Object value(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
