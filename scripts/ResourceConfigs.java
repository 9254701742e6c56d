import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;

/**
 * Prints what a release of Kafka defines as configurations of each kind of resource: one line a key with the kind, the
 * name and the type, separated by tabs. Topics and brokers as in the schema with which controllers redact records
 * (KafkaConfigSchema); the other definitions by the class that holds them, which not every release has.
 */
public class ResourceConfigs {
    private static final List<String[]> DEFINITIONS = List.of(
        new String[] {"broker", "kafka.server.DynamicConfig$Broker$"},
        new String[] {"broker", "org.apache.kafka.server.config.DynamicConfig$Broker"},
        new String[] {"client-metrics", "kafka.metrics.ClientMetricsConfigs"},
        new String[] {"client-metrics", "kafka.server.metrics.ClientMetricsConfigs"},
        new String[] {"client-metrics", "org.apache.kafka.server.metrics.ClientMetricsConfigs"},
        new String[] {"group", "org.apache.kafka.coordinator.group.GroupConfig"}
    );

    public static void main(String[] arguments) throws Exception {
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) hidden(schema(), "configDefs")).entrySet())
            print(entry.getKey().toString().toLowerCase(), entry.getValue());
        for (String[] wanted : DEFINITIONS) {
            Class<?> holder;
            try {
                holder = Class.forName(wanted[1]);
            } catch (ClassNotFoundException absent) {
                continue;
            }
            print(wanted[0], definition(holder));
        }
    }

    private static Object schema() throws ReflectiveOperationException {
        return Class.forName("kafka.server.KafkaRaftServer").getMethod("configSchema").invoke(null);
    }

    private static Object definition(Class<?> holder) throws ReflectiveOperationException {
        for (Field field : holder.getDeclaredFields()) {
            if (!field.getType().getSimpleName().equals("ConfigDef"))
                continue;
            field.setAccessible(true);
            return field.get(Modifier.isStatic(field.getModifiers()) ? null : holder.getField("MODULE$").get(null));
        }
        throw new IllegalStateException(holder + " has no definition");
    }

    private static void print(String kind, Object definition) throws ReflectiveOperationException {
        Map<?, ?> keys = (Map<?, ?>) definition.getClass().getMethod("configKeys").invoke(definition);
        for (Map.Entry<?, ?> entry : keys.entrySet())
            System.out.println(kind + "\t" + entry.getKey() + "\t" + hidden(entry.getValue(), "type"));
    }

    private static Object hidden(Object of, String field) throws ReflectiveOperationException {
        Field found = of.getClass().getDeclaredField(field);
        found.setAccessible(true);
        return found.get(of);
    }
}
