package kafkactl.lab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

import com.sun.management.OperatingSystemMXBean;

import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Kafka's own image of a metadata log. One question a line on stdin, one answer a line on stdout.
 *
 * <pre>
 * written OUT FILE...                 image of the files (segments or checkpoints, in their order), one delta a batch,
 *                                     transactions withheld; its records in hex, a line each, into OUT: OK count
 * read OUT FILE...                    the same of the image that Kafka's loader makes of the files in one read, which is
 *                                     what a starting node may do (MetadataBatchLoader; from 3.6 on)
 * same FOLDER OFFSET EPOCH FILE...    is the checkpoint in FOLDER, read by Kafka's snapshot reader in one delta, the
 *                                     image of the files? OK equal | OK differs part=text/text...
 * timed FILE                          what Kafka's loader takes to read a segment as a starting node does, 8 MiB at a
 *                                     time: OK records partitions milliseconds-of-CPU
 * </pre>
 *
 * Compiled against the newest release and run on the class path of any; what differs between them goes through
 * reflection.
 */
public final class ImageOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static final MetadataRecordSerde SERDE = MetadataRecordSerde.INSTANCE;
    private static final int READ_BYTES = 8 * 1024 * 1024; // KafkaRaftClient.MAX_FETCH_SIZE_BYTES
    private static final short BEGIN = 23, END = 24, ABORT = 25;

    private ImageOracle() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line.split(" ", -1)).replace('\n', ' ').replace('\r', ' '));
        }
    }

    private static String answer(String[] words) {
        try {
            switch (words[0]) {
                case "written": return written(Path.of(words[1]), imageOf(files(words, 2)));
                case "read": return written(Path.of(words[1]), readInOneGo(files(words, 2)));
                case "same": return same(Path.of(words[1]), Long.parseLong(words[2]), Integer.parseInt(words[3]), files(words, 4));
                case "timed": return timed(Path.of(words[1]));
                default: return "ERROR unknown question";
            }
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while (cause instanceof InvocationTargetException) {
                cause = cause.getCause();
            }
            return "ERROR " + cause + (cause.getStackTrace().length > 0 ? " at " + cause.getStackTrace()[0] : "");
        }
    }

    private static List<Path> files(String[] words, int from) {
        List<Path> files = new ArrayList<>();
        for (int i = from; i < words.length; i++) {
            files.add(Path.of(words[i]));
        }
        return files;
    }

    // --- questions ---

    private static String written(Path out, MetadataImage image) throws Exception {
        List<ApiMessageAndVersion> records = records(image);
        try (Writer writer = Files.newBufferedWriter(out)) {
            for (ApiMessageAndVersion record : records) {
                ObjectSerializationCache cache = new ObjectSerializationCache();
                ByteBuffer buffer = ByteBuffer.allocate(SERDE.recordSize(record, cache));
                SERDE.write(record, cache, new ByteBufferAccessor(buffer));
                writer.write(HEX.formatHex(buffer.array()) + "\n");
            }
        }
        return "OK " + records.size();
    }

    private static String same(Path folder, long offset, int epoch, List<Path> files) throws Exception {
        Map<String, Object> expected = parts(imageOf(files));
        Map<String, Object> found = parts(snapshot(folder, offset, epoch));
        StringBuilder differs = new StringBuilder();
        for (Map.Entry<String, Object> part : expected.entrySet()) {
            if (!part.getValue().equals(found.get(part.getKey()))) {
                differs.append(' ').append(part.getKey()).append('=').append(part.getValue()).append('/').append(found.get(part.getKey()));
            }
        }
        return differs.length() == 0 ? "OK equal" : "OK differs" + differs;
    }

    // --- images ---

    private static MetadataImage imageOf(List<Path> files) throws Exception {
        MetadataImage image = MetadataImage.EMPTY;
        List<ApiMessage> withheld = null;
        for (Path file : files) {
            for (Object batch : batches(Files.readAllBytes(file))) {
                if ((Boolean) call(batch, "isControlBatch")) {
                    continue;
                }
                MetadataDelta delta = delta(image);
                for (Object record : (Iterable<?>) batch) {
                    ByteBuffer value = (ByteBuffer) call(record, "value");
                    ApiMessage message = SERDE.read(new ByteBufferAccessor(value), value.remaining()).message();
                    if (message.apiKey() == BEGIN) {
                        withheld = new ArrayList<>();
                    } else if (message.apiKey() == ABORT) {
                        withheld = null;
                    } else if (message.apiKey() == END) {
                        for (ApiMessage one : withheld) {
                            replay(delta, one);
                        }
                        withheld = null;
                    } else if (withheld != null) {
                        withheld.add(message);
                    } else {
                        replay(delta, message);
                    }
                }
                image = applied(delta);
            }
        }
        return image;
    }

    private static MetadataImage readInOneGo(List<Path> files) throws Exception {
        MetadataImage[] published = {MetadataImage.EMPTY};
        Object loader = loader(published);
        Method load = named(loader.getClass(), "loadBatch");
        Object leader = load.getParameterTypes()[1].getField("UNKNOWN").get(null);
        for (Path file : files) {
            for (Object batch : batches(Files.readAllBytes(file))) {
                if (!(Boolean) call(batch, "isControlBatch")) {
                    load.invoke(loader, loaded(batch), leader);
                }
            }
        }
        flush(loader, leader);
        return published[0];
    }

    private static Object loader(MetadataImage[] published) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.image.loader.MetadataBatchLoader");
        List<Object> arguments = new ArrayList<>();
        for (Class<?> parameter : type.getConstructors()[0].getParameterTypes()) {
            arguments.add(argument(parameter, published));
        }
        return type.getConstructors()[0].newInstance(arguments.toArray());
    }

    private static void flush(Object loader, Object leader) throws Exception {
        Method flush = named(loader.getClass(), "maybeFlushBatches");
        flush.invoke(loader, flush.getParameterCount() == 1 ? new Object[] {leader} : new Object[] {leader, true});
    }

    private static String timed(Path file) throws Exception {
        OperatingSystemMXBean machine = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long started = machine.getProcessCpuTime(), records = 0, read = 0;
        MetadataImage[] published = {MetadataImage.EMPTY};
        Object loader = loader(published);
        Method load = named(loader.getClass(), "loadBatch"), value = null;
        Object leader = load.getParameterTypes()[1].getField("UNKNOWN").get(null);
        try (FileChannel channel = FileChannel.open(file)) {
            for (Object batch : batches(channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()))) {
                if ((Boolean) call(batch, "isControlBatch")) {
                    continue;
                }
                List<ApiMessageAndVersion> messages = new ArrayList<>();
                for (Object record : (Iterable<?>) batch) {
                    if (value == null) {
                        value = record.getClass().getMethod("value");
                        value.setAccessible(true);
                    }
                    ByteBuffer buffer = (ByteBuffer) value.invoke(record);
                    messages.add(SERDE.read(new ByteBufferAccessor(buffer), buffer.remaining()));
                }
                int size = (Integer) call(batch, "sizeInBytes");
                load.invoke(loader, Batch.data((Long) call(batch, "baseOffset"), (Integer) call(batch, "partitionLeaderEpoch"),
                    (Long) call(batch, "maxTimestamp"), size, messages), leader);
                records += messages.size();
                read += size;
                if (read >= READ_BYTES) {
                    flush(loader, leader);
                    read = 0;
                }
            }
        }
        flush(loader, leader);
        long taken = (machine.getProcessCpuTime() - started) / 1_000_000;
        long partitions = published[0].topics().topicsById().values().stream().mapToLong(topic -> topic.partitions().size()).sum();
        return "OK " + records + " " + partitions + " " + taken;
    }

    /** What the loader is made of: a time, a log, somebody who takes images, somebody who takes faults. */
    private static Object argument(Class<?> type, MetadataImage[] published) throws Exception {
        switch (type.getSimpleName()) {
            case "LogContext": return type.getConstructor().newInstance();
            case "Time": return type.getField("SYSTEM").get(null);
            case "SupportedConfigChecker": return type.getField("TRUE").get(null);
            default: return java.lang.reflect.Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, given) -> {
                if (method.getName().equals("update")) {
                    published[0] = (MetadataImage) given[1];
                    return null;
                }
                if (method.getName().equals("handleFault") && method.getParameterCount() == 2) {
                    throw new IllegalStateException(given[0] + ": " + given[1]);
                }
                return method.isDefault() ? java.lang.reflect.InvocationHandler.invokeDefault(self, method, given) : null;
            });
        }
    }

    private static Batch<ApiMessageAndVersion> loaded(Object batch) throws Exception {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        for (Object record : (Iterable<?>) batch) {
            ByteBuffer value = (ByteBuffer) call(record, "value");
            records.add(SERDE.read(new ByteBufferAccessor(value), value.remaining()));
        }
        return Batch.data((Long) call(batch, "baseOffset"), (Integer) call(batch, "partitionLeaderEpoch"),
            (Long) call(batch, "maxTimestamp"), (Integer) call(batch, "sizeInBytes"), records);
    }

    private static MetadataImage snapshot(Path folder, long offset, int epoch) throws Exception {
        Class<?> files = Class.forName("org.apache.kafka.snapshot.FileRawSnapshotReader");
        Method open = named(files, "open");
        Object id = open.getParameterTypes()[1].getConstructor(long.class, int.class).newInstance(offset, epoch);
        Object raw = open.invoke(null, folder, id);
        Method of = named(Class.forName("org.apache.kafka.snapshot.RecordsSnapshotReader"), "of");
        Object buffers = of.getParameterTypes()[2].getField("NO_CACHING").get(null);
        List<Object> arguments = new ArrayList<>(List.of(raw, SERDE, buffers, 8 * 1024 * 1024, true));
        if (of.getParameterCount() > arguments.size()) {
            arguments.add(of.getParameterTypes()[arguments.size()].getConstructor().newInstance());
        }
        MetadataDelta delta = delta(MetadataImage.EMPTY);
        try (AutoCloseable reader = (AutoCloseable) of.invoke(null, arguments.toArray())) {
            Iterator<?> batches = (Iterator<?>) reader;
            while (batches.hasNext()) {
                for (Object record : ((Batch<?>) batches.next()).records()) {
                    replay(delta, ((ApiMessageAndVersion) record).message());
                }
            }
        }
        return applied(delta);
    }

    private static Map<String, Object> parts(MetadataImage image) throws Exception {
        Map<String, Object> parts = new TreeMap<>();
        for (Method method : MetadataImage.class.getMethods()) {
            Class<?> type = method.getReturnType();
            if (method.getParameterCount() == 0 && type.getName().startsWith("org.apache.kafka.image.")
                && type.getSimpleName().endsWith("Image")) {
                parts.put(method.getName(), method.invoke(image));
            }
        }
        return parts;
    }

    // --- what differs between releases ---

    private static MetadataDelta delta(MetadataImage image) throws Exception {
        try {
            return MetadataDelta.class.getConstructor(MetadataImage.class).newInstance(image);
        } catch (NoSuchMethodException e) {
            return new MetadataDelta.Builder().setImage(image).build();
        }
    }

    private static void replay(MetadataDelta delta, ApiMessage message) throws Exception {
        try {
            MetadataDelta.class.getMethod("replay", ApiMessage.class).invoke(delta, message);
        } catch (NoSuchMethodException e) {
            MetadataDelta.class.getMethod("replay", long.class, int.class, ApiMessage.class).invoke(delta, 0L, 0, message);
        }
    }

    private static MetadataImage applied(MetadataDelta delta) throws Exception {
        Method apply = named(MetadataDelta.class, "apply");
        if (apply.getParameterCount() == 0) {
            return (MetadataImage) apply.invoke(delta);
        }
        Object provenance = apply.getParameterTypes()[0].getField("EMPTY").get(null);
        return (MetadataImage) apply.invoke(delta, provenance);
    }

    /** In 3.3 an image writes into a consumer of lists, later into a writer with options. */
    private static List<ApiMessageAndVersion> records(MetadataImage image) throws Exception {
        Method write = named(MetadataImage.class, "write");
        List<ApiMessageAndVersion> records = new ArrayList<>();
        if (write.getParameterCount() == 1) {
            Consumer<List<ApiMessageAndVersion>> consumer = records::addAll;
            write.invoke(image, consumer);
            return records;
        }
        Class<?> builder = Class.forName("org.apache.kafka.image.writer.ImageWriterOptions$Builder");
        Object options = builder.getConstructor(MetadataImage.class).newInstance(image);
        Consumer<Object> ignore = loss -> { };
        builder.getMethod("setLossHandler", Consumer.class).invoke(options, ignore);
        Object writer = Class.forName("org.apache.kafka.image.writer.RecordListWriter").getConstructor().newInstance();
        write.invoke(image, writer, builder.getMethod("build").invoke(options));
        for (Object record : (List<?>) call(writer, "records")) {
            records.add((ApiMessageAndVersion) record);
        }
        return records;
    }

    private static Iterable<?> batches(byte[] data) throws Exception {
        return batches(ByteBuffer.wrap(data));
    }

    private static Iterable<?> batches(ByteBuffer data) throws Exception {
        Class<?> type;
        try {
            type = Class.forName("org.apache.kafka.common.record.internal.MemoryRecords");
        } catch (ClassNotFoundException e) {
            type = Class.forName("org.apache.kafka.common.record.MemoryRecords");
        }
        Object records = type.getMethod("readableRecords", ByteBuffer.class).invoke(null, data);
        return (Iterable<?>) type.getMethod("batches").invoke(records);
    }

    private static Method named(Class<?> type, String name) {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name) && !method.isBridge()) {
                return method;
            }
        }
        throw new IllegalStateException(type + " has no " + name);
    }

    private static Object call(Object target, String name) throws Exception {
        Method method = target.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(target);
    }
}
