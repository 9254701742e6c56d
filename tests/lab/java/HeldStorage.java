package kafkactl.lab;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/**
 * Kafka's LocalTieredStorage with a hand on it: files in a control folder hold, refuse or lose copies and deletes.
 *
 * The folder is the setting `control.dir`; `store.class` names another store than LocalTieredStorage. While a file FAULT, or FAULT.TOPIC
 * for one topic, is there:
 * `hold-before-copy`, `hold-after-copy` keep a copy from beginning, or one that has been uploaded from ending;
 * `refuse-before-copy`, `refuse-after-copy` make it fail before or after the upload, `retry-after-copy` with the error that Kafka 4.2 retries;
 * `lose-copy` makes it succeed without doing anything; `custom-metadata` gives metadata of the store's own;
 * `refuse-delete` makes deletes fail, `lose-delete` makes them succeed without doing anything.
 * Each refusal is a line `FAULT TOPIC` in the file `refusals`: records show what a broker is about to do, not what it has tried.
 */
public final class HeldStorage implements RemoteStorageManager {
    private static final String KAFKAS = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage";
    private static final String RETRIABLE = "org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException";
    private RemoteStorageManager store;
    private Path control;

    @Override
    public void configure(Map<String, ?> settings) {
        control = Path.of(String.valueOf(settings.get("control.dir")));
        Object named = settings.get("store.class");
        try {
            store = (RemoteStorageManager) Class.forName(named == null ? KAFKAS : named.toString()).getConstructor().newInstance();
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException(error);
        }
        store.configure(settings);
    }

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata metadata, LogSegmentData data)
            throws RemoteStorageException {
        hold("hold-before-copy", metadata);
        refuse("refuse-before-copy", metadata);
        Optional<CustomMetadata> copied = Optional.empty();
        if (!has("lose-copy", metadata)) {
            copied = store.copyLogSegmentData(metadata, data);
        }
        hold("hold-after-copy", metadata);
        refuse("refuse-after-copy", metadata);
        if (has("retry-after-copy", metadata)) {
            throw retriable();
        }
        return has("custom-metadata", metadata) ? Optional.of(new CustomMetadata(new byte[] {1, 2, 3})) : copied;
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        refuse("refuse-delete", metadata);
        if (!has("lose-delete", metadata)) {
            store.deleteLogSegmentData(metadata);
        }
    }

    private void hold(String name, RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        while (has(name, metadata)) {
            try {
                Thread.sleep(50);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new RemoteStorageException("interrupted", error);
            }
        }
    }

    private void refuse(String name, RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        if (has(name, metadata)) {
            String line = name + " " + topic(metadata) + "\n";
            try {
                Files.writeString(control.resolve("refusals"), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException error) {
                throw new RemoteStorageException(error);
            }
            throw new RemoteStorageException("the lab wants " + name);
        }
    }

    /** Since 4.2; before that every error is as another. */
    private static RemoteStorageException retriable() {
        try {
            return (RemoteStorageException) Class.forName(RETRIABLE).getConstructor(String.class).newInstance("the lab wants a retry");
        } catch (ReflectiveOperationException error) {
            return new RemoteStorageException("the lab wants a retry");
        }
    }

    private boolean has(String name, RemoteLogSegmentMetadata metadata) {
        return Files.exists(control.resolve(name)) || Files.exists(control.resolve(name + "." + topic(metadata)));
    }

    private static String topic(RemoteLogSegmentMetadata metadata) {
        return metadata.remoteLogSegmentId().topicIdPartition().topic();
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start) throws RemoteStorageException {
        return store.fetchLogSegment(metadata, start);
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start, int end)
            throws RemoteStorageException {
        return store.fetchLogSegment(metadata, start, end);
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) throws RemoteStorageException {
        return store.fetchIndex(metadata, type);
    }

    @Override
    public void close() throws IOException {
        if (store != null) {
            store.close();
        }
    }
}
