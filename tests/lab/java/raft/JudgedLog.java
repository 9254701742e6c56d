package org.apache.kafka.raft;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.snapshot.RawSnapshotWriter;

/**
 * A metadata log on a {@link JudgedDisk}: the methods of ReplicatedLog (RaftLog since 4.1), found by their names.
 *
 * Epochs are kept as by LeaderEpochFileCache, and looked up as by KafkaMetadataLog.
 */
final class JudgedLog {
    private final JudgedDisk disk;
    private final TreeMap<Integer, Long> epochs = new TreeMap<>();
    private LogOffsetMetadata highWatermark;

    JudgedLog(JudgedDisk disk) {
        this.disk = disk;
        this.highWatermark = new LogOffsetMetadata(disk.start);
        for (JudgedDisk.Stored batch : disk.batches) {
            enter(batch.epoch(), Math.max(batch.base(), disk.start));
        }
        latestSnapshotId().ifPresent(id -> {
            if (isBeyondEnd(id)) {
                truncateToLatestSnapshot();
            }
        });
    }

    private void enter(int epoch, long offset) {
        if (!epochs.isEmpty() && epochs.lastKey() >= epoch) {
            return;
        }
        epochs.values().removeIf(first -> first >= offset);
        epochs.put(epoch, offset);
    }

    private LogAppendInfo append(Records records, int epoch, boolean leads) {
        if (records.sizeInBytes() == 0) {
            throw new IllegalArgumentException("Attempt to append an empty record set");
        }
        long first = disk.end();
        long next = first;
        List<JudgedDisk.Stored> taken = new ArrayList<>();
        for (RecordBatch batch : records.batches()) {
            if (batch.baseOffset() != next) {
                throw new IllegalStateException("a batch at " + batch.baseOffset() + " cannot follow " + next);
            }
            int of = leads ? epoch : batch.partitionLeaderEpoch();
            if (of > epoch) {
                break;
            }
            batch.ensureValid();
            enter(of, batch.baseOffset());
            taken.add(JudgedDisk.Stored.of(batch, of));
            next = batch.nextOffset();
        }
        if (!taken.isEmpty()) {
            disk.append(taken);
        }
        return new LogAppendInfo(first, next - 1);
    }

    public LogAppendInfo appendAsLeader(Records records, int epoch) {
        return append(records, epoch, true);
    }

    public LogAppendInfo appendAsFollower(Records records, int epoch) {
        return append(records, epoch, false);
    }

    /** Up to 4.0 a read is of what the configuration allows. */
    public LogFetchInfo read(long offset, Isolation isolation) {
        return read(offset, isolation, KafkaRaftClient.MAX_BATCH_SIZE_BYTES);
    }

    /** The batches from an offset on that fit whole, and one if there is any; a log may add a part of the next. */
    public LogFetchInfo read(long offset, Isolation isolation, int maxBytes) {
        long end = isolation == Isolation.COMMITTED ? highWatermark.offset() : disk.end();
        if (offset > disk.end() || offset < disk.start) {
            throw new IllegalStateException(offset + " is outside of the log, " + disk.start + " to " + disk.end());
        }
        List<JudgedDisk.Stored> found = new ArrayList<>(disk.from(offset));
        found.removeIf(batch -> batch.end() > end);
        int room = maxBytes;
        for (int fitting = 0; fitting < found.size(); fitting++) {
            room -= found.get(fitting).bytes().remaining();
            if (room < 0 && fitting > 0) {
                found.subList(fitting, found.size()).clear();
            }
        }
        ByteBuffer bytes = ByteBuffer.allocate(found.stream().mapToInt(batch -> batch.bytes().remaining()).sum());
        found.forEach(batch -> bytes.put(batch.bytes().duplicate()));
        bytes.flip();
        return new LogFetchInfo(MemoryRecords.readableRecords(bytes), new LogOffsetMetadata(offset));
    }

    public int lastFetchedEpoch() {
        return epochs.isEmpty() ? latestSnapshotId().map(OffsetAndEpoch::epoch).orElse(0) : epochs.lastKey();
    }

    public OffsetAndEpoch endOffsetForEpoch(int epoch) {
        if (!epochs.isEmpty() && epochs.lastKey() == epoch) {
            return new OffsetAndEpoch(disk.end(), epoch);
        }
        Map.Entry<Integer, Long> later = epochs.higherEntry(epoch);
        if (later == null) {
            return new OffsetAndEpoch(disk.end(), lastFetchedEpoch());
        }
        Integer floor = epochs.floorKey(epoch);
        int found = floor == null ? epoch : floor;
        Optional<OffsetAndEpoch> earliest = earliestSnapshotId();
        if (found == epoch && earliest.isPresent() && earliest.get().offset() == later.getValue()) {
            return earliest.get();
        }
        return new OffsetAndEpoch(later.getValue(), found);
    }

    public LogOffsetMetadata endOffset() {
        return new LogOffsetMetadata(disk.end());
    }

    public LogOffsetMetadata highWatermark() {
        return highWatermark;
    }

    public long startOffset() {
        return disk.start;
    }

    public void initializeLeaderEpoch(int epoch) {
        enter(epoch, disk.end());
    }

    public void truncateTo(long offset) {
        if (offset < highWatermark.offset()) {
            throw new IllegalArgumentException("Attempt to truncate to " + offset + ", below " + highWatermark);
        }
        epochs.values().removeIf(first -> first >= offset);
        disk.truncate(offset);
    }

    private boolean isBeyondEnd(OffsetAndEpoch id) {
        int latest = epochs.isEmpty() ? 0 : epochs.lastKey();
        return id.epoch() > latest || (id.epoch() == latest && id.offset() > disk.end());
    }

    public boolean truncateToLatestSnapshot() {
        Optional<OffsetAndEpoch> latest = latestSnapshotId();
        if (latest.isEmpty() || !isBeyondEnd(latest.get())) {
            return false;
        }
        epochs.clear();
        disk.startAt(latest.get());
        highWatermark = new LogOffsetMetadata(disk.start);
        return true;
    }

    public void updateHighWatermark(LogOffsetMetadata to) {
        highWatermark = to;
    }

    public boolean deleteBeforeSnapshot(OffsetAndEpoch id) {
        while (epochs.size() > 1 && epochs.get(epochs.higherKey(epochs.firstKey())) <= id.offset()) {
            epochs.pollFirstEntry();
        }
        if (!epochs.isEmpty() && epochs.firstEntry().getValue() < id.offset()) {
            epochs.put(epochs.firstKey(), id.offset());
        }
        disk.clean(id);
        return true;
    }

    public void flush(boolean forced) {
        disk.flushed();
    }

    public boolean maybeClean() {
        return false;
    }

    public TopicPartition topicPartition() {
        return new TopicPartition("__cluster_metadata", 0);
    }

    public Uuid topicId() {
        return Uuid.METADATA_TOPIC_ID;
    }

    public Optional<RawSnapshotWriter> createNewSnapshot(OffsetAndEpoch id) {
        return createNewSnapshotUnchecked(id);
    }

    public Optional<RawSnapshotWriter> createNewSnapshotUnchecked(OffsetAndEpoch id) {
        return disk.snapshots.containsKey(id) ? Optional.empty() : Optional.of(disk.writer(id));
    }

    public Optional<RawSnapshotReader> readSnapshot(OffsetAndEpoch id) {
        return Optional.ofNullable(disk.reader(id));
    }

    public Optional<RawSnapshotReader> latestSnapshot() {
        return latestSnapshotId().flatMap(this::readSnapshot);
    }

    public Optional<OffsetAndEpoch> latestSnapshotId() {
        return disk.snapshots.isEmpty() ? Optional.empty() : Optional.of(disk.snapshots.lastKey());
    }

    public Optional<OffsetAndEpoch> earliestSnapshotId() {
        return disk.snapshots.isEmpty() ? Optional.empty() : Optional.of(disk.snapshots.firstKey());
    }

    public void onSnapshotFrozen(OffsetAndEpoch id) { }

    public void close() { }
}
