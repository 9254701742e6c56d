import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Prints the configurations of brokers of a release of Kafka: one line a key with its name and where it may be set while
 * a broker runs, separated by a tab. "no" is nowhere. "broker" is one broker alone, "cluster" also all brokers at once,
 * "listener" a listener of one broker, by the prefix listener.name.NAME., and "listener-of-all" a key of "cluster" that
 * may be set with that prefix for all brokers, too. Type and validator follow, but for "no".
 */
public class DynamicConfigs {
    private static final String[] HOLDERS = {
        "org.apache.kafka.server.config.DynamicBrokerConfig", "kafka.server.DynamicBrokerConfig$"
    };
    private static final String[] BROKERS = {
        "org.apache.kafka.server.config.DynamicConfig$Broker", "kafka.server.DynamicConfig$Broker$"
    };

    public static void main(String[] arguments) throws Exception {
        Class<?> holder = firstThatHas(HOLDERS, "ALL_DYNAMIC_CONFIGS");
        Class<?> brokers = firstThatHas(BROKERS, "nonDynamicProps");
        Set<String> dynamic = names(holder, "ALL_DYNAMIC_CONFIGS");
        Set<String> perBroker = names(holder, "PER_BROKER_CONFIGS");
        Set<String> security = names(holder, "DYNAMIC_SECURITY_CONFIGS");
        Set<String> ofListeners = names(holder, "CLUSTER_LEVEL_LISTENER_CONFIGS");
        for (String name : names(brokers, "nonDynamicProps"))
            System.out.println(name + "\tno");
        for (Map.Entry<?, ?> entry : keys(brokers).entrySet()) {
            String name = entry.getKey().toString();
            Object key = entry.getValue();
            String scope = security.contains(name) ? "listener" : ofListeners.contains(name) ? "listener-of-all"
                : perBroker.contains(name) ? "broker" : "cluster";
            System.out.println(name + "\t" + scope + "\t" + key.getClass().getField("type").get(key) + "\t"
                + key.getClass().getField("validator").get(key));
            dynamic.remove(name);
        }
        if (!dynamic.isEmpty())
            throw new IllegalStateException("dynamic, and not defined: " + dynamic);
    }

    private static Map<?, ?> keys(Class<?> brokers) throws ReflectiveOperationException {
        for (Field field : brokers.getDeclaredFields())
            if (field.getType().getSimpleName().equals("ConfigDef")) {
                field.setAccessible(true);
                Object definition = field.get(module(brokers, field.getModifiers()));
                return (Map<?, ?>) definition.getClass().getMethod("configKeys").invoke(definition);
            }
        throw new NoSuchFieldException(brokers + " has no definition");
    }

    /** 4.3 moved them out of Scala, whose names have no underscores. */
    private static Class<?> firstThatHas(String[] classes, String name) throws ClassNotFoundException {
        for (String text : classes) {
            try {
                Class<?> found = Class.forName(text);
                for (Field field : found.getDeclaredFields())
                    if (plain(field.getName()).equals(plain(name)))
                        return found;
                for (Method method : found.getDeclaredMethods())
                    if (plain(method.getName()).equals(plain(name)))
                        return found;
            } catch (ClassNotFoundException absent) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static Set<String> names(Class<?> holder, String name) throws ReflectiveOperationException {
        Set<String> found = new HashSet<>();
        for (Object item : collection(member(holder, name)))
            found.add(item.toString());
        return found;
    }

    private static Object member(Class<?> holder, String name) throws ReflectiveOperationException {
        for (Field field : holder.getDeclaredFields())
            if (plain(field.getName()).equals(plain(name))) {
                field.setAccessible(true);
                return field.get(module(holder, field.getModifiers()));
            }
        for (Method method : holder.getDeclaredMethods())
            if (plain(method.getName()).equals(plain(name)) && method.getParameterCount() == 0) {
                method.setAccessible(true);
                return method.invoke(module(holder, method.getModifiers()));
            }
        throw new NoSuchFieldException(holder + " " + name);
    }

    private static Object module(Class<?> holder, int modifiers) throws ReflectiveOperationException {
        return Modifier.isStatic(modifiers) ? null : holder.getField("MODULE$").get(null);
    }

    private static String plain(String name) {
        return name.replace("_", "").toLowerCase();
    }

    private static Collection<?> collection(Object names) throws ReflectiveOperationException {
        if (names instanceof Collection)
            return (Collection<?>) names;
        Class<?> converters = Class.forName("scala.jdk.javaapi.CollectionConverters");
        return (Collection<?>) converters.getMethod("asJavaCollection", Class.forName("scala.collection.Iterable"))
            .invoke(null, names);
    }
}
