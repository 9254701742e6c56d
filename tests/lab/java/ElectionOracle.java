package kafkactl.lab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Kafka's own builder of partition changes. One question a line on stdin, one answer a line on stdout.
 *
 * <pre>
 * LEVEL ELR MIN_ISR PARTITION ACCEPTABLE ISR REPLICAS REMOVING ADDING ELECTION UNCLEAN RECOVERY
 *     PARTITION is a framed PartitionRecord in hex; lists are "." where empty and "-" where they are left alone; RECOVERY
 *     is -1 where it is. Answer: "none", or the framed PartitionChangeRecord in hex.
 * </pre>
 *
 * Builder, registration and metadata version go through reflection, because the releases declare them differently.
 */
public final class ElectionOracle {
    private static final String CONTROLLER = "org.apache.kafka.controller.PartitionChangeBuilder";
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    private ElectionOracle() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line.split(" ")));
            System.out.flush();
        }
    }

    private static String answer(String[] words) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(words[3]));
        PartitionRecord record =
            (PartitionRecord) SERDE.read(new ByteBufferAccessor(bytes), bytes.remaining()).message();
        List<Integer> acceptable = list(words[4]);
        IntPredicate accepts = acceptable::contains;
        boolean elr = Boolean.parseBoolean(words[1]);
        Object builder = builder(record, accepts, Short.parseShort(words[0]), Integer.parseInt(words[2]), elr);
        Class<?> type = builder.getClass();
        call(type, builder, "setEligibleLeaderReplicasEnabled", elr);
        call(type, builder, "setTargetIsr", list(words[5]));
        call(type, builder, "setTargetReplicas", list(words[6]));
        call(type, builder, "setTargetRemoving", list(words[7]));
        call(type, builder, "setTargetAdding", list(words[8]));
        for (Object election : Class.forName(CONTROLLER + "$Election").getEnumConstants()) {
            if (election.toString().equalsIgnoreCase(words[9])) {
                call(type, builder, "setElection", election);
            }
        }
        call(type, builder, "setUncleanShutdownReplicas", list(words[10]));
        if (!words[11].equals("-1")) {
            Class<?> state = Class.forName("org.apache.kafka.metadata.LeaderRecoveryState");
            Object of = state.getMethod("of", byte.class).invoke(null, Byte.parseByte(words[11]));
            call(type, builder, "setTargetLeaderRecoveryState", of);
        }
        defaultDirectories(type, builder);
        Optional<?> made = (Optional<?>) type.getMethod("build").invoke(builder);
        return made.isPresent() ? hex((ApiMessageAndVersion) made.get()) : "none";
    }

    private static Object builder(PartitionRecord record, IntPredicate accepts, short level, int minIsr, boolean elr)
            throws Exception {
        Object partition = Class.forName("org.apache.kafka.metadata.PartitionRegistration")
            .getConstructor(PartitionRecord.class).newInstance(record);
        Object version = Class.forName("org.apache.kafka.server.common.MetadataVersion")
            .getMethod("fromFeatureLevel", short.class).invoke(null, level);
        Constructor<?> made = Class.forName(CONTROLLER).getConstructors()[0];
        List<Object> given = new ArrayList<>();
        boolean numbered = false;
        for (Class<?> parameter : made.getParameterTypes()) {
            if (parameter == boolean.class) {
                given.add(made.getParameterCount() == 5 || elr); // of five it says that recovery is supported
            } else if (parameter == int.class) {
                given.add(numbered ? minIsr : record.partitionId());
                numbered = true;
            } else if (parameter == Uuid.class) {
                given.add(record.topicId());
            } else {
                given.add(parameter == IntPredicate.class ? accepts : parameter.isInstance(version) ? version : partition);
            }
        }
        return made.newInstance(given.toArray());
    }

    private static void defaultDirectories(Class<?> type, Object builder) throws Exception {
        for (Method method : type.getMethods()) {
            if (method.getName().equals("setDefaultDirProvider")) {
                Class<?> provider = method.getParameterTypes()[0];
                method.invoke(builder, Proxy.newProxyInstance(
                    provider.getClassLoader(), new Class<?>[] {provider}, (proxy, asked, ids) -> Uuid.ZERO_UUID));
            }
        }
    }

    /** Calls a setter that this release has, with a value that is given. */
    private static void call(Class<?> type, Object builder, String name, Object value) throws Exception {
        if (value == null) {
            return;
        }
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name)) {
                method.invoke(builder, value);
            }
        }
    }

    private static List<Integer> list(String word) {
        if (word.equals("-")) {
            return null;
        }
        List<Integer> found = new ArrayList<>();
        for (String id : word.equals(".") ? new String[0] : word.split(",")) {
            found.add(Integer.parseInt(id));
        }
        return found;
    }

    private static String hex(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer out = ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(out));
        return HexFormat.of().formatHex(out.array());
    }
}
