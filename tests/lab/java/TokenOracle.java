package kafkactl.lab;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.security.oauthbearer.JwtRetriever;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule;

/**
 * Fetches a token as Kafka's client does. One question a line on stdin ("token" and hex of a properties file, in which
 * "option.NAME" is an option of the login line), one answer a line on stdout: OK and the token, or ERROR and why.
 */
public final class TokenOracle {
    private TokenOracle() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(HexFormat.of().parseHex(line.split(" ", -1)[1])).replace("\n", "\\n"));
            System.out.flush();
        }
    }

    private static String answer(byte[] bytes) {
        try {
            Properties given = new Properties();
            given.load(new ByteArrayInputStream(bytes));
            return "OK " + token(given);
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return "ERROR " + cause.getClass().getSimpleName() + ": " + cause.getMessage();
        }
    }

    private static String token(Properties given) throws Exception {
        Map<String, Object> configs = new HashMap<>();
        Map<String, Object> options = new HashMap<>();
        StringBuilder files = new StringBuilder();
        for (String name : given.stringPropertyNames()) {
            String value = given.getProperty(name);
            if (name.startsWith("option.")) {
                options.put(name.substring("option.".length()), value);
            } else {
                configs.put(name, value);
            }
            if (name.endsWith(".file")) {
                files.append(files.length() == 0 ? "" : ",").append(value);
            }
        }
        String prefix = "org.apache.kafka.sasl.oauthbearer.allowed.";
        System.setProperty(prefix + "urls", given.getProperty("sasl.oauthbearer.token.endpoint.url"));
        System.setProperty(prefix + "files", files.toString());
        Map<String, Object> parsed = new ConfigDef().withClientSaslSupport().parse(configs);
        Class<?> kind = (Class<?>) parsed.get("sasl.oauthbearer.jwt.retriever.class");
        try (JwtRetriever retriever = (JwtRetriever) kind.getDeclaredConstructor().newInstance()) {
            retriever.configure(parsed, "OAUTHBEARER", List.of(new AppConfigurationEntry(
                OAuthBearerLoginModule.class.getName(), AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, options)));
            return retriever.retrieve();
        }
    }
}
