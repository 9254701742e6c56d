package org.apache.kafka.raft;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.snapshot.RawSnapshotWriter;

/**
 * The metadata directory of one node, in memory: batches, snapshots, quorum-state, and what it was after each write.
 *
 * A write is counted, so that a crash between two of them can be carried out afterwards: {@link #back}.
 */
final class JudgedDisk {
    /** A batch as it lies in a log. */
    record Stored(long base, long end, int epoch, ByteBuffer bytes) {
        static Stored of(RecordBatch batch, int epoch) {
            ByteBuffer bytes = ByteBuffer.allocate(batch.sizeInBytes());
            ((MutableRecordBatch) batch).writeTo(bytes);
            bytes.flip();
            return new Stored(batch.baseOffset(), batch.nextOffset(), epoch, bytes);
        }
    }

    /** All that is on the disk at one moment; the parts are never changed in place. */
    private record Content(
        List<Stored> batches, long start, TreeMap<OffsetAndEpoch, ByteBuffer> snapshots, Optional<ElectionState> election
    ) { }

    private final List<Content> history = new ArrayList<>();
    private final List<String> trace;
    final Uuid directory;
    List<Stored> batches = List.of();
    long start = 0;
    TreeMap<OffsetAndEpoch, ByteBuffer> snapshots = new TreeMap<>();
    Optional<ElectionState> election = Optional.empty();

    JudgedDisk(Uuid directory, List<String> trace) {
        this.directory = directory;
        this.trace = trace;
        history.add(content());
    }

    private Content content() {
        return new Content(batches, start, snapshots, election);
    }

    private void written(String what) {
        history.add(content());
        trace.add(what);
    }

    /** Undo all but the first writes since the node was formatted or last went back, and cut the log to an end. */
    void back(int writes, long end) {
        Content found = history.get(writes);
        start = found.start();
        snapshots = found.snapshots();
        election = found.election();
        batches = new ArrayList<>(found.batches());
        batches.removeIf(batch -> batch.end() > end);
        history.clear();
        history.add(content());
    }

    long end() {
        return batches.isEmpty() ? start : batches.get(batches.size() - 1).end();
    }

    void append(List<Stored> more) {
        List<Stored> all = new ArrayList<>(batches);
        all.addAll(more);
        batches = all;
        StringBuilder said = new StringBuilder("A");
        for (Stored batch : more) {
            said.append(' ').append(batch.base()).append('-').append(batch.end()).append('@').append(batch.epoch());
        }
        written(said.toString());
    }

    void flushed() {
        written("F");
    }

    void truncate(long offset) {
        List<Stored> kept = new ArrayList<>(batches);
        kept.removeIf(batch -> batch.end() > offset);
        batches = kept;
        written("T " + offset);
    }

    void startAt(OffsetAndEpoch id) {
        batches = List.of();
        start = id.offset();
        snapshots = new TreeMap<>(snapshots.tailMap(id, true));
        written("B " + id.offset() + " " + id.epoch());
    }

    void clean(OffsetAndEpoch id) {
        List<Stored> kept = new ArrayList<>(batches);
        kept.removeIf(batch -> batch.end() <= id.offset());
        batches = kept;
        start = id.offset();
        snapshots = new TreeMap<>(snapshots.tailMap(id, true));
        written("C " + id.offset() + " " + id.epoch());
    }

    void elect(ElectionState state) {
        election = Optional.of(state);
        Uuid voted = state.optionalVotedKey().flatMap(ReplicaKey::directoryId).orElse(Uuid.ZERO_UUID);
        written("S " + state.epoch() + " " + state.leaderIdOrSentinel() + " "
            + state.optionalVotedKey().map(ReplicaKey::id).orElse(-1) + " " + voted);
    }

    RawSnapshotReader reader(OffsetAndEpoch id) {
        ByteBuffer bytes = snapshots.get(id);
        if (bytes == null) {
            return null;
        }
        return new RawSnapshotReader() {
            @Override
            public OffsetAndEpoch snapshotId() {
                return id;
            }

            @Override
            public long sizeInBytes() {
                return bytes.remaining();
            }

            @Override
            public UnalignedRecords slice(long position, int size) {
                int length = Math.min(size, bytes.remaining() - Math.toIntExact(position));
                return new UnalignedMemoryRecords(bytes.slice(Math.toIntExact(position), length));
            }

            @Override
            public Records records() {
                return MemoryRecords.readableRecords(bytes.duplicate());
            }
        };
    }

    RawSnapshotWriter writer(OffsetAndEpoch id) {
        List<ByteBuffer> parts = new ArrayList<>();
        boolean[] frozen = {false};
        return new RawSnapshotWriter() {
            @Override
            public OffsetAndEpoch snapshotId() {
                return id;
            }

            @Override
            public long sizeInBytes() {
                return parts.stream().mapToInt(ByteBuffer::remaining).sum();
            }

            @Override
            public void append(MemoryRecords records) {
                add(records.buffer());
            }

            @Override
            public void append(UnalignedMemoryRecords records) {
                add(records.buffer());
            }

            private void add(ByteBuffer part) {
                ByteBuffer copy = ByteBuffer.allocate(part.remaining());
                copy.put(part.duplicate()).flip();
                parts.add(copy);
            }

            @Override
            public boolean isFrozen() {
                return frozen[0];
            }

            @Override
            public void freeze() {
                frozen[0] = true;
                ByteBuffer whole = ByteBuffer.allocate(Math.toIntExact(sizeInBytes()));
                parts.forEach(part -> whole.put(part.duplicate()));
                whole.flip();
                snapshots = new TreeMap<>(snapshots);
                snapshots.put(id, whole);
                written("N " + id.offset() + " " + id.epoch());
            }

            @Override
            public void close() { }
        };
    }

    /** Forget how the disk came to be what it is: it was just formatted. */
    void formatted() {
        history.clear();
        history.add(content());
        trace.clear();
    }

    List<Stored> from(long offset) {
        List<Stored> found = new ArrayList<>();
        for (Stored batch : batches) {
            if (batch.end() > offset) {
                found.add(batch);
            }
        }
        return Collections.unmodifiableList(found);
    }
}
