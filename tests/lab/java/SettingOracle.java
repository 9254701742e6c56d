import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/**
 * Reads settings as a node of its release does. Each line of the input is `server`, `topic` or `tokens` and a text in the
 * form of a properties file, its line breaks written as \n; each line of the output is empty, or the error. Of `tokens`
 * it is `true` or `false`: whether a node with this file has delegation tokens.
 */
public class SettingOracle {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] parts = line.split("\t", 2);
            Properties settings = new Properties();
            settings.load(new StringReader(parts[1].replace("\\n", "\n")));
            out.println(answer(parts[0], settings).replace("\n", " "));
        }
        out.flush();
    }

    private static String answer(String kind, Properties settings) throws ReflectiveOperationException {
        try {
            if (kind.equals("tokens"))
                return String.valueOf(hasTokens(server(settings)));
            if (kind.equals("server"))
                server(settings);
            else
                topics().getMethod("fromProps", Map.class, Properties.class)
                    .invoke(null, new HashMap<>(), settings);
            return "";
        } catch (InvocationTargetException error) {
            return String.valueOf(error.getCause());
        }
    }

    private static Object server(Properties settings) throws ReflectiveOperationException {
        return Class.forName("kafka.server.KafkaConfig").getMethod("fromProps", Properties.class, boolean.class)
            .invoke(null, settings, false);
    }

    /** The answer moved out of the class of all settings with 4.1. */
    private static Object hasTokens(Object config) throws ReflectiveOperationException {
        try {
            return config.getClass().getMethod("tokenAuthEnabled").invoke(config);
        } catch (NoSuchMethodException moved) {
            Class<?> tokens = Class.forName("org.apache.kafka.server.config.DelegationTokenManagerConfigs");
            return tokens.getMethod("tokenAuthEnabled").invoke(tokens.getConstructors()[0].newInstance(config));
        }
    }

    /** It was in Scala up to 3.5. */
    private static Class<?> topics() throws ClassNotFoundException {
        try {
            return Class.forName("org.apache.kafka.storage.internals.log.LogConfig");
        } catch (ClassNotFoundException old) {
            return Class.forName("kafka.log.LogConfig");
        }
    }
}
