package kafkactl.lab;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.server.log.remote.storage.LocalTieredStorage;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/**
 * Kafka's LocalTieredStorage with a hand on it: files in a control folder hold, refuse or lose copies and deletes.
 *
 * The folder is the setting `control.dir`. While a file is there, `hold-after-copy` keeps a copy that has been uploaded from ending,
 * `refuse-delete` makes deletes fail, `lose-delete` makes them succeed without doing anything.
 */
public final class HeldStorage implements RemoteStorageManager {
    private final LocalTieredStorage store = new LocalTieredStorage();
    private Path control;

    @Override
    public void configure(Map<String, ?> settings) {
        control = Path.of(String.valueOf(settings.get("control.dir")));
        store.configure(settings);
    }

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata metadata, LogSegmentData data)
            throws RemoteStorageException {
        Optional<CustomMetadata> copied = store.copyLogSegmentData(metadata, data);
        while (has("hold-after-copy")) {
            try {
                Thread.sleep(50);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new RemoteStorageException("interrupted", error);
            }
        }
        return copied;
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        if (has("refuse-delete")) {
            throw new RemoteStorageException("the lab refuses deletes");
        }
        if (!has("lose-delete")) {
            store.deleteLogSegmentData(metadata);
        }
    }

    private boolean has(String name) {
        return Files.exists(control.resolve(name));
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
        store.close();
    }
}
