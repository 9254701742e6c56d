package kafkactl.lab;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/** The layout of LocalTieredStorage, for releases whose test jar is not published or does not load. The folder is the setting `dir`. */
public final class FolderStorage implements RemoteStorageManager {
    private Path root;

    @Override
    public void configure(Map<String, ?> settings) {
        root = Path.of(String.valueOf(settings.get("dir")), "kafka-tiered-storage");
    }

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata metadata, LogSegmentData data)
            throws RemoteStorageException {
        try {
            Files.createDirectories(folder(metadata));
            copy(metadata, data.logSegment(), "log");
            copy(metadata, data.offsetIndex(), "index");
            copy(metadata, data.timeIndex(), "timeindex");
            copy(metadata, data.producerSnapshotIndex(), "snapshot");
            if (data.transactionIndex().isPresent()) {
                copy(metadata, data.transactionIndex().get(), "txnindex");
            }
            ByteBuffer epochs = data.leaderEpochIndex();
            byte[] bytes = new byte[epochs.remaining()];
            epochs.duplicate().get(bytes);
            Files.write(file(metadata, "leader_epoch_checkpoint"), bytes);
        } catch (IOException error) {
            throw new RemoteStorageException(error);
        }
        return Optional.empty();
    }

    private void copy(RemoteLogSegmentMetadata metadata, Path from, String suffix) throws IOException {
        Files.copy(from, file(metadata, suffix));
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        String name = name(metadata);
        if (!Files.isDirectory(folder(metadata))) {
            return;
        }
        try (Stream<Path> found = Files.list(folder(metadata))) {
            List<Path> own = found.filter(path -> path.getFileName().toString().startsWith(name)).toList();
            for (Path path : own) {
                Files.deleteIfExists(path);
            }
        } catch (IOException error) {
            throw new RemoteStorageException(error);
        }
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start) throws RemoteStorageException {
        return fetchLogSegment(metadata, start, Integer.MAX_VALUE - 1);
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start, int end)
            throws RemoteStorageException {
        byte[] all = read(metadata, "log");
        int until = Math.min(end + 1, all.length);
        return new ByteArrayInputStream(all, start, Math.max(0, until - start));
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) throws RemoteStorageException {
        String suffix = switch (type) {
            case OFFSET -> "index";
            case TIMESTAMP -> "timeindex";
            case PRODUCER_SNAPSHOT -> "snapshot";
            case TRANSACTION -> "txnindex";
            case LEADER_EPOCH -> "leader_epoch_checkpoint";
        };
        return new ByteArrayInputStream(read(metadata, suffix));
    }

    private byte[] read(RemoteLogSegmentMetadata metadata, String suffix) throws RemoteStorageException {
        Path file = file(metadata, suffix);
        if (!Files.exists(file)) {
            throw new RemoteResourceNotFoundException("no " + file);
        }
        try {
            return Files.readAllBytes(file);
        } catch (IOException error) {
            throw new RemoteStorageException(error);
        }
    }

    private Path folder(RemoteLogSegmentMetadata metadata) {
        TopicIdPartition partition = metadata.remoteLogSegmentId().topicIdPartition();
        return root.resolve(partition.topic() + "-" + partition.partition() + "-" + partition.topicId());
    }

    private Path file(RemoteLogSegmentMetadata metadata, String suffix) {
        return folder(metadata).resolve(name(metadata) + "." + suffix);
    }

    private static String name(RemoteLogSegmentMetadata metadata) {
        return String.format(Locale.ROOT, "%020d-%s", metadata.startOffset(), metadata.remoteLogSegmentId().id());
    }

    @Override
    public void close() {
    }
}
