package kafkactl.lab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/**
 * What Kafka's own classes make of bytes. One question a line on stdin, one answer a line on stdout.
 *
 * <pre>
 * message NAME VERSION HEX   OK json TAB hex-written-again TAB bytes-left   | ERROR class: text | NONE
 * batches HEX                OK one record a TAB: base:last:epoch:control:offset:time:key:value:headers | ERROR
 * quorum-state HEX           OK leader:epoch:voted | ERROR class: text
 * </pre>
 *
 * Compiled once against the newest release and run on the class path of any: what differs between them goes
 * through reflection.
 */
public final class MessageOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static final String[] PLACES = {
        "org.apache.kafka.common.message.%sData",
        "org.apache.kafka.common.message.%s",
        "org.apache.kafka.common.metadata.%s",
        "org.apache.kafka.raft.generated.%s",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.%s",
    };

    private MessageOracle() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line.split(" ", -1)).replace('\n', ' ').replace('\r', ' '));
        }
    }

    private static String answer(String[] words) {
        try {
            byte[] data = HEX.parseHex(words[words.length - 1]);
            switch (words[0]) {
                case "message": return message(words[1], Short.parseShort(words[2]), data);
                case "batches": return batches(data);
                case "quorum-state": return quorumState(data);
                default: return "ERROR unknown question";
            }
        } catch (InvocationTargetException e) {
            return "ERROR " + e.getCause();
        } catch (Throwable e) {
            return "ERROR " + e;
        }
    }

    private static String message(String name, short version, byte[] data) throws Throwable {
        Class<?> type = find(name);
        if (type == null || version < type.getField("LOWEST_SUPPORTED_VERSION").getShort(null)
            || version > type.getField("HIGHEST_SUPPORTED_VERSION").getShort(null)) {
            return "NONE";
        }
        Constructor<?> constructor = type.getConstructor(Readable.class, short.class);
        ByteBuffer buffer = ByteBuffer.wrap(data);
        Message message = (Message) constructor.newInstance(new ByteBufferAccessor(buffer), version);
        int left = buffer.remaining();
        return "OK " + json(type, message, version) + "\t" + HEX.formatHex(written(message, version)) + "\t" + left;
    }

    private static Class<?> find(String name) {
        for (String place : PLACES) {
            try {
                return Class.forName(String.format(place, name));
            } catch (ClassNotFoundException e) {
                continue;
            }
        }
        return null;
    }

    private static String json(Class<?> type, Message message, short version) throws Exception {
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        return converter.getMethod("write", type, short.class).invoke(null, message, version).toString();
    }

    private static byte[] written(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        int size = message.size(cache, version);
        ByteBuffer buffer = ByteBuffer.allocate(size);
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException("size() says " + size + ", written " + buffer.position());
        }
        return buffer.array();
    }

    /** By reflection: these classes moved between packages after 4.1. */
    private static String batches(byte[] data) throws Exception {
        Class<?> type = firstOf("org.apache.kafka.common.record.internal.MemoryRecords", "org.apache.kafka.common.record.MemoryRecords");
        Object records = type.getMethod("readableRecords", ByteBuffer.class).invoke(null, ByteBuffer.wrap(data));
        List<String> lines = new ArrayList<>();
        for (Object batch : (Iterable<?>) type.getMethod("batches").invoke(records)) {
            call(batch, "ensureValid");
            String head = call(batch, "baseOffset") + ":" + call(batch, "lastOffset") + ":"
                + call(batch, "partitionLeaderEpoch") + ":" + call(batch, "isControlBatch");
            for (Object record : (Iterable<?>) batch) {
                lines.add(head + ":" + call(record, "offset") + ":" + call(record, "timestamp") + ":"
                    + hex((ByteBuffer) call(record, "key")) + ":" + hex((ByteBuffer) call(record, "value")) + ":"
                    + headers((Header[]) call(record, "headers")));
            }
        }
        return "OK " + String.join("\t", lines);
    }

    private static Class<?> firstOf(String... names) throws ClassNotFoundException {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException e) {
                continue;
            }
        }
        throw new ClassNotFoundException(names[0]);
    }

    private static Object call(Object target, String name) throws Exception {
        java.lang.reflect.Method method = target.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(target);
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null) {
            return "null";
        }
        byte[] content = new byte[buffer.remaining()];
        buffer.duplicate().get(content);
        return HEX.formatHex(content);
    }

    private static String headers(Header[] headers) {
        List<String> pairs = new ArrayList<>();
        for (Header header : headers) {
            String value = header.value() == null ? "null" : HEX.formatHex(header.value());
            pairs.add(HEX.formatHex(header.key().getBytes(StandardCharsets.UTF_8)) + "=" + value);
        }
        return String.join(",", pairs);
    }

    private static String quorumState(byte[] data) throws Exception {
        Path file = Files.createTempFile("kafkactl-quorum-state", "");
        try {
            Files.write(file, data);
            org.apache.kafka.raft.FileQuorumStateStore store = new org.apache.kafka.raft.FileQuorumStateStore(file.toFile());
            org.apache.kafka.raft.ElectionState state = store.readElectionState().get();
            int voted = state.optionalVotedKey().map(org.apache.kafka.raft.ReplicaKey::id).orElse(-1);
            return "OK " + state.leaderIdOrSentinel() + ":" + state.epoch() + ":" + voted;
        } finally {
            Files.delete(file);
        }
    }
}
