package org.apache.kafka.raft;

import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

import org.apache.kafka.common.utils.Time;

/** Virtual time, and chance that depends on nothing but the run, the node, the purpose and the time. */
final class Clock implements Time {
    private static final StackWalker STACK = StackWalker.getInstance();
    private static final int BACKOFF = 1;
    private static final int JITTER = 3;
    private static final int BACKOFF_BASE_MS = 50; // of 3.9.2; the other bound of its back-off is a power of two
    private static final long BEGIN = 1_700_000_000_000L; // -1 stands for a time that is not known, and is long ago
    long now = 0;

    @Override
    public long milliseconds() {
        return BEGIN + now;
    }

    @Override
    public long nanoseconds() {
        return milliseconds() * 1_000_000;
    }

    @Override
    public void sleep(long ms) {
        throw new UnsupportedOperationException("nothing sleeps in virtual time");
    }

    @Override
    public void waitObject(Object lock, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("nothing waits in virtual time");
    }

    /** The numbers of one node. Every draw is put on the trace with what it is for. */
    Random chance(long seed, int node, List<String> trace) {
        return new Random(0) {
            @Override
            public int nextInt(int bound) {
                int purpose = purpose();
                purpose = purpose == BACKOFF && bound == BACKOFF_BASE_MS ? JITTER : purpose;
                trace.add("D " + purpose + " " + bound);
                return Math.floorMod(mixed(seed, node, purpose, now), bound);
            }
        };
    }

    private static int purpose() {
        return STACK.walk(frames -> frames.map(frame -> switch (frame.getMethodName()) {
            case "randomElectionTimeoutMs" -> 0;
            case "binaryExponentialElectionBackoffMs" -> 1;
            case "findReadyBootstrapServer" -> 2;
            default -> -1;
        }).filter(found -> found >= 0).findFirst().orElseThrow());
    }

    /** As `tests/lab/judge/chance.py` mixes them. */
    static long mixed(long seed, int node, int purpose, long now) {
        long mixed = seed * 0x9E3779B97F4A7C15L + node * 0xD1B54A32D192ED03L + purpose * 0x8CB92BA72F3D8DD7L + now;
        mixed = (mixed ^ (mixed >>> 30)) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
        return (mixed ^ (mixed >>> 31)) >>> 33;
    }
}
