package kafkactl.lab;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TimeZone;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * What Java and Kafka make of text. One question a line on stdin (a word and hex of bytes or UTF-8), one answer a
 * line on stdout: OK and what came out, texts as hex of UTF-8, or ERROR and the innermost exception's text.
 */
public final class InputOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static final Pattern COMMA = Pattern.compile("\\s*,\\s*");

    private InputOracle() { }

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        PrintStream out = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            out.println(answer(words[0], HEX.parseHex(words[1])).replace("\n", "\\n"));
            out.flush();
        }
    }

    private static String answer(String question, byte[] bytes) {
        try {
            return ("OK " + answered(question, bytes, new String(bytes, StandardCharsets.UTF_8))).strip();
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while (cause instanceof InvocationTargetException || cause instanceof ExceptionInInitializerError) {
                cause = cause.getCause();
            }
            return "ERROR " + cause.getClass().getSimpleName() + ": " + cause.getMessage();
        }
    }

    private static String answered(String question, byte[] bytes, String text) throws Exception {
        switch (question) {
            case "properties": return entries(loaded(bytes));
            case "meta-properties": return metaProperties(loaded(bytes));
            case "store-bytes": return stored(text, true);
            case "store-text": return stored(text, false);
            case "trim": return hex(text.trim());
            case "split": return Arrays.stream(text.split(",")).map(InputOracle::hex).toList().toString();
            case "list": return Arrays.stream(COMMA.split(text.trim(), -1)).map(InputOracle::hex).toList().toString();
            case "int": return Integer.toString(Integer.parseInt(text));
            case "long": return Long.toString(Long.parseLong(text));
            case "short": return Short.toString(Short.parseShort(text));
            case "double": return Double.toHexString(Double.parseDouble(text.trim()));
            case "base64": return HEX.formatHex(Base64.getDecoder().decode(text));
            case "uuid": return uuid(text).toString();
            case "date": return hex(new Date(Long.parseLong(text)).toString());
            case "hash-order": return hashOrder(text);
            case "socket-host": return hex(new InetSocketAddress(text, 1).getHostString());
            case "voters": return hex(voters(text).toString());
            case "scram": return scram(text);
            case "kafka-config":
                return hex(Class.forName("kafka.server.KafkaConfig").getMethod("fromProps", Properties.class)
                    .invoke(null, loaded(bytes)).getClass().getSimpleName());
            default: throw new IllegalArgumentException(question);
        }
    }

    private static Properties loaded(byte[] bytes) throws Exception {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(bytes));
        return properties;
    }

    private static String entries(Properties properties) {
        StringBuilder text = new StringBuilder();
        for (String key : new TreeSet<>(properties.stringPropertyNames())) {
            text.append(hex16(key)).append('=').append(hex16(properties.getProperty(key))).append(' ');
        }
        return text.toString();
    }

    private static String metaProperties(Properties properties) throws Exception {
        Constructor<?> builder = Class.forName("org.apache.kafka.metadata.properties.MetaProperties$Builder")
            .getConstructor(Properties.class);
        Object read = call(builder.newInstance(properties), "build");
        Optional<?> clusterId = (Optional<?>) call(read, "clusterId");
        return call(read, "version") + " " + clusterId.map(id -> hex((String) id)).orElse("none") + " "
            + call(read, "nodeId") + " " + call(read, "directoryId");
    }

    /** The line that Properties.store writes for `key NUL value`, without the comment and the end of the line. */
    private static String stored(String pair, boolean asBytes) throws Exception {
        Properties properties = new Properties();
        properties.setProperty(pair.substring(0, pair.indexOf('\0')), pair.substring(pair.indexOf('\0') + 1));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        if (asBytes) {
            properties.store(out, null);
        } else {
            OutputStreamWriter writer = new OutputStreamWriter(out, StandardCharsets.UTF_8);
            properties.store(writer, null);
            writer.flush();
        }
        byte[] written = out.toByteArray();
        int start = 0;
        while (written[start] != '\n') {
            start++;
        }
        return HEX.formatHex(Arrays.copyOfRange(written, start + 1, written.length - 1));
    }

    private static String hashOrder(String numbers) {
        Map<Integer, String> map = new HashMap<>();
        for (String number : numbers.split(",")) {
            map.put(Integer.parseInt(number), "");
        }
        return map.keySet().toString();
    }

    private static Object uuid(String text) throws Exception {
        return Class.forName("org.apache.kafka.common.Uuid").getMethod("fromString", String.class).invoke(null, text);
    }

    private static Object voters(String text) throws Exception {
        return Class.forName("org.apache.kafka.raft.DynamicVoters").getMethod("parse", String.class).invoke(null, text);
    }

    private static String scram(String argument) throws Exception {
        Method parse = Class.forName("org.apache.kafka.metadata.storage.ScramParser").getDeclaredMethod("parse", List.class);
        parse.setAccessible(true);
        Object record = call(((List<?>) parse.invoke(null, List.of(argument))).get(0), "message");
        return hex((String) call(record, "name")) + " " + call(record, "mechanism") + " " + call(record, "iterations") + " "
            + HEX.formatHex((byte[]) call(record, "salt")) + " " + HEX.formatHex((byte[]) call(record, "storedKey")) + " "
            + HEX.formatHex((byte[]) call(record, "serverKey"));
    }

    private static Object call(Object on, String method) throws ReflectiveOperationException {
        Method found = on.getClass().getMethod(method);
        found.setAccessible(true);
        return found.invoke(on);
    }

    private static String hex(String text) {
        return HEX.formatHex(text.getBytes(StandardCharsets.UTF_8));
    }

    /** UTF-16, for texts that may hold half a character. */
    private static String hex16(String text) {
        StringBuilder hex = new StringBuilder();
        for (char half : text.toCharArray()) {
            hex.append(HEX.toHexDigits(half));
        }
        return hex + (text.isEmpty() ? "-" : "");
    }
}
