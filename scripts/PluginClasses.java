import java.io.File;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Prints the public classes of a release that a setting of a node can name, one a line; the argument is its folder. */
public class PluginClasses {
    private static final List<String> KINDS = List.of(
        "kafka.metrics.KafkaMetricsReporter",
        "org.apache.kafka.common.config.provider.ConfigProvider",
        "org.apache.kafka.common.metrics.MetricsReporter",
        "org.apache.kafka.common.replica.ReplicaSelector",
        "org.apache.kafka.common.security.auth.AuthenticateCallbackHandler",
        "org.apache.kafka.common.security.auth.KafkaPrincipalBuilder",
        "org.apache.kafka.common.security.auth.Login",
        "org.apache.kafka.common.security.auth.SslEngineFactory",
        "org.apache.kafka.common.security.oauthbearer.JwtRetriever",
        "org.apache.kafka.common.security.oauthbearer.JwtValidator",
        "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor",
        "org.apache.kafka.coordinator.group.assignor.PartitionAssignor",
        "org.apache.kafka.server.authorizer.Authorizer",
        "org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager",
        "org.apache.kafka.server.log.remote.storage.RemoteStorageManager",
        "org.apache.kafka.server.policy.AlterConfigPolicy",
        "org.apache.kafka.server.policy.CreateTopicPolicy",
        "org.apache.kafka.server.quota.ClientQuotaCallback"
    );
    private static final ClassLoader LOADER = PluginClasses.class.getClassLoader();

    public static void main(String[] arguments) throws Exception {
        List<Class<?>> kinds = new ArrayList<>();
        for (String kind : KINDS)
            if (loaded(kind) != null)
                kinds.add(loaded(kind));
        TreeSet<String> found = new TreeSet<>();
        for (File file : new File(arguments[0]).listFiles())
            if (file.getName().matches("kafka[-_].*\\.jar"))
                try (JarFile jar = new JarFile(file)) {
                    for (JarEntry entry : Collections.list(jar.entries()))
                        if (entry.getName().endsWith(".class") && isPlugin(nameOf(entry), kinds))
                            found.add(nameOf(entry));
                }
        found.forEach(System.out::println);
    }

    private static String nameOf(JarEntry entry) {
        return entry.getName().replace(".class", "").replace('/', '.');
    }

    private static boolean isPlugin(String name, List<Class<?>> kinds) {
        Class<?> found = name.contains("$") ? null : loaded(name);
        if (found == null || found.isInterface() || Modifier.isAbstract(found.getModifiers()))
            return false;
        return Modifier.isPublic(found.getModifiers()) && kinds.stream().anyMatch(kind -> kind.isAssignableFrom(found));
    }

    private static Class<?> loaded(String name) {
        try {
            return Class.forName(name, false, LOADER);
        } catch (ClassNotFoundException | LinkageError absent) {
            return null;
        }
    }
}
