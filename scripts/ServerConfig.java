import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;

/**
 * Prints what a release of Kafka defines as a node's configuration, in the order in which it is checked: one line a
 * key with name, type, default and validator, separated by tabs. NONE is a key that must be given, null no default.
 * With the argument "topic", the same of the configuration of topics.
 */
public class ServerConfig {
    public static void main(String[] arguments) throws Exception {
        boolean ofTopics = arguments.length > 0 && arguments[0].equals("topic");
        Map<?, ?> keys = (Map<?, ?>) call(ofTopics ? topicDefinition() : definition(), "configKeys");
        for (Map.Entry<?, ?> entry : keys.entrySet()) {
            Object key = entry.getValue();
            Object fallback = (Boolean) call(key, "hasDefault") ? field(key, "defaultValue") : "NONE";
            Object validator = field(key, "validator");
            String line = entry.getKey() + "\t" + field(key, "type") + "\t" + fallback + "\t" + described(validator);
            System.out.println(line.replace("\n", "\\n"));
        }
    }

    /** 3.7 moved it out of the class that holds the values, and 3.9 out of Scala. */
    private static Object definition() throws ReflectiveOperationException {
        try {
            return Class.forName("org.apache.kafka.server.config.AbstractKafkaConfig").getField("CONFIG_DEF").get(null);
        } catch (ClassNotFoundException absent) {
            Class<?> companion = Class.forName("kafka.server.KafkaConfig$");
            for (Field field : companion.getDeclaredFields()) {
                if (field.getType().getSimpleName().equals("ConfigDef")) {
                    field.setAccessible(true);
                    boolean isStatic = Modifier.isStatic(field.getModifiers());
                    return field.get(isStatic ? null : companion.getField("MODULE$").get(null));
                }
            }
            throw absent;
        }
    }

    /** As in the schema by which a controller knows the types of records. */
    private static Object topicDefinition() throws ReflectiveOperationException {
        Object schema = Class.forName("kafka.server.KafkaRaftServer").getMethod("configSchema").invoke(null);
        Field definitions = schema.getClass().getDeclaredField("configDefs");
        definitions.setAccessible(true);
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) definitions.get(schema)).entrySet())
            if (entry.getKey().toString().equals("TOPIC"))
                return entry.getValue();
        throw new IllegalStateException("no definition of topics");
    }

    /** The validator's class, its own words, and its fields by name. */
    private static String described(Object validator) throws IllegalAccessException {
        if (validator == null)
            return "";
        StringBuilder text = new StringBuilder(validator.getClass().getSimpleName());
        text.append("\twords=").append(validator);
        appendFields(validator, text);
        return text.toString();
    }

    private static void appendFields(Object of, StringBuilder text) throws IllegalAccessException {
        for (Field field : of.getClass().getDeclaredFields()) {
            boolean data = field.getType().isPrimitive() || field.getType().getName().startsWith("java.lang.")
                || field.getType().getName().startsWith("java.util.");
            boolean nested = field.getType().getSimpleName().equals("ValidString");
            if (Modifier.isStatic(field.getModifiers()) || !(data || nested))
                continue;
            field.setAccessible(true);
            if (nested)
                appendFields(field.get(of), text);
            else
                text.append("\t").append(field.getName()).append("=").append(field.get(of));
        }
    }

    private static Object call(Object on, String method) throws ReflectiveOperationException {
        return on.getClass().getMethod(method).invoke(on);
    }

    private static Object field(Object of, String name) throws ReflectiveOperationException {
        return of.getClass().getField(name).get(of);
    }
}
