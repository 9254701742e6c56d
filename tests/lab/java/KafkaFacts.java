package kafkactl.lab;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeMap;

/**
 * Prints what the enumerations of the Kafka on the class path say: levels of metadata.version, features, error
 * codes, types of control records. One fact a line, words separated by blanks.
 *
 * Everything goes through reflection, because the releases name these classes and methods differently.
 */
public final class KafkaFacts {
    private static final String COMMON = "org.apache.kafka.server.common.";

    private KafkaFacts() { }

    public static void main(String[] arguments) throws Exception {
        metadataVersions(Class.forName(COMMON + "MetadataVersion"));
        for (String name : new String[] {"Feature", "Features"}) {
            Class<?> type = find(COMMON + name);
            if (type != null && type.isEnum()) {
                features(type);
            }
        }
        errors(Class.forName("org.apache.kafka.common.protocol.Errors"));
        for (String place : new String[] {"", "internal."}) {
            Class<?> type = find("org.apache.kafka.common.record." + place + "ControlRecordType");
            if (type != null) {
                controlRecords(type);
            }
        }
    }

    private static void metadataVersions(Class<?> type) throws Exception {
        for (Object version : type.getEnumConstants()) {
            Method isProduction = method(type, "isProduction");
            System.out.println("metadata.version " + get(version, "featureLevel") + " " + version + " "
                + get(version, "didMetadataChange") + " " + (isProduction == null || (Boolean) isProduction.invoke(version)));
        }
    }

    private static void features(Class<?> type) throws Exception {
        for (Object feature : (Iterable<?>) type.getField("PRODUCTION_FEATURES").get(null)) {
            String name = (String) get(feature, "featureName");
            System.out.println("feature " + name + " " + get(feature, "latestProduction") + " " + get(feature, "latestTesting"));
            for (Object level : (Object[]) get(feature, "featureVersions")) {
                Map<?, ?> needs = new TreeMap<>((Map<?, ?>) get(level, "dependencies"));
                System.out.println("level " + name + " " + get(level, "featureLevel") + " "
                    + get(get(level, "bootstrapMetadataVersion"), "featureLevel") + " "
                    + needs.toString().replace(" ", ""));
            }
        }
    }

    private static void errors(Class<?> type) throws Exception {
        Class<?> retriable = Class.forName("org.apache.kafka.common.errors.RetriableException");
        for (Object error : type.getEnumConstants()) {
            System.out.println("error " + get(error, "code") + " " + ((Enum<?>) error).name() + " "
                + retriable.isInstance(get(error, "exception")));
        }
    }

    /** The number of a type is in a private field. */
    private static void controlRecords(Class<?> type) throws Exception {
        Field number = type.getDeclaredField("type");
        number.setAccessible(true);
        for (Object constant : type.getEnumConstants()) {
            System.out.println("control " + number.get(constant) + " " + ((Enum<?>) constant).name());
        }
    }

    private static Object get(Object target, String name) throws Exception {
        Method found = method(target.getClass(), name);
        if (found == null) {
            throw new NoSuchMethodException(target.getClass() + "." + name);
        }
        try {
            return found.invoke(target);
        } catch (InvocationTargetException error) {
            throw new IllegalStateException(target + "." + name, error.getCause());
        }
    }

    private static Method method(Class<?> type, String name) {
        try {
            Method found = type.getMethod(name);
            found.setAccessible(true);
            return found;
        } catch (NoSuchMethodException absent) {
            return null;
        }
    }

    private static Class<?> find(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }
}
