package org.apache.kafka.raft;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.utils.internals.*;
import org.apache.kafka.raft.internals.BatchMemoryPool;
import org.apache.kafka.raft.internals.KRaftControlRecordStateMachine;

/** One process: a real KafkaRaftClient, whose thread is the caller, between its log, its queue and its channel. */
final class JudgedClient {
    static final ListenerName LISTENER = new ListenerName("CONTROLLER");
    private static final MemoryPool POOL = new BatchMemoryPool(5, 8 * 1024 * 1024);
    private static final int MOST_POLLS = 20;
    private static final Method HANDLE_INBOUND = method(KafkaRaftClient.class, "handleInboundMessage");
    private static final Method HANDLE = method(KafkaRaftClient.class, "handle");
    private static final Optional<Field> INBOUND_COMPLETION = field(RaftRequest.Inbound.class, "completion");
    private static final Optional<Field> OUTBOUND_COMPLETION = field(RaftRequest.Outbound.class, "completion");
    private static final Field STATE = field(QuorumState.class, "state").orElseThrow();
    private static final Field PARTITION_STATE = field(KafkaRaftClient.class, "partitionState").orElseThrow();

    private record Queued(RaftMessage message, CompletableFuture<RaftMessage> future) { }

    private record Expiry(long deadline, CompletableFuture<?> future) { }

    /** A request that this process sent, with what completes it. */
    record Sent(RaftRequest.Outbound request, CompletableFuture<RaftResponse.Inbound> answer) { }

    final int node;
    final KafkaRaftClient<String> client;
    final JudgedLog log;
    private final Clock clock;
    private final RaftJudge judge;
    private final ArrayDeque<Queued> queue = new ArrayDeque<>();
    private final List<Expiry> expiries = new ArrayList<>();
    private int correlation = 1;
    private long timeout = 0;
    private boolean failed = false;

    JudgedClient(RaftJudge judge, int node, JudgedDisk disk, Collection<Integer> staticVoters, Collection<Integer> servers)
            throws Exception {
        this.judge = judge;
        this.clock = judge.clock;
        this.node = node;
        this.log = new JudgedLog(disk);
        this.client = made(disk, servers);
        Map<Integer, InetSocketAddress> configured = new HashMap<>();
        staticVoters.forEach(id -> configured.put(id, judge.address(id)));
        QuorumStateStore store = new QuorumStateStore() {
            @Override
            public Optional<ElectionState> readElectionState() {
                return disk.election;
            }

            @Override
            public void writeElectionState(ElectionState state, org.apache.kafka.server.common.KRaftVersion version) {
                disk.elect(ElectionState.fromQuorumStateData(state.toQuorumStateData(version.quorumStateVersion())));
            }

            @Override
            public java.nio.file.Path path() {
                return java.nio.file.Path.of("quorum-state");
            }

            @Override
            public void clear() {
                disk.election = Optional.empty();
            }
        };
        run(() -> {
            for (Method method : KafkaRaftClient.class.getMethods()) {
                if (method.getName().equals("initialize")) {
                    List<Object> given = new ArrayList<>(List.of(configured, store, new Metrics(clock)));
                    if (method.getParameterCount() == 4) {
                        given.add(proxied(method.getParameterTypes()[3], new Object()));
                    }
                    call(method, client, given.toArray());
                }
            }
        });
    }

    @SuppressWarnings("unchecked")
    private KafkaRaftClient<String> made(JudgedDisk disk, Collection<Integer> servers) throws Exception {
        for (Constructor<?> constructor : KafkaRaftClient.class.getDeclaredConstructors()) {
            Class<?>[] types = constructor.getParameterTypes();
            if (types.length == 18) {
                Endpoints listeners = Endpoints.fromInetSocketAddresses(Map.of(LISTENER, judge.address(node)));
                Collection<InetSocketAddress> bootstrap = servers.stream().map(judge::address).toList();
                constructor.setAccessible(true);
                return (KafkaRaftClient<String>) constructor.newInstance(
                    OptionalInt.of(node), disk.directory, new TextSerde(), proxied(types[3], new Channel()),
                    proxied(types[4], new Queue()), proxied(types[5], log), POOL, clock,
                    (ExpirationService) this::expiring, judge.fetchMaxWaitMs, true, judge.clusterId, bootstrap, listeners,
                    new SupportedVersionRange((short) 0, (short) 1), new LogContext("[" + node + "] "),
                    clock.chance(judge.seed, node, judge.trace), judge.config);
            }
        }
        throw new IllegalStateException("KafkaRaftClient has no constructor of 18 parameters");
    }

    // --- what the client calls: interfaces that differ between releases, by the names of their methods ---------------

    /** An interface of this release, whose methods are those of the target with the same name and number of arguments. */
    static Object proxied(Class<?> type, Object target) {
        Map<Method, Method> found = new HashMap<>();
        for (Method wanted : type.getMethods()) {
            for (Method offered : target.getClass().getDeclaredMethods()) {
                if (offered.getName().equals(wanted.getName())
                        && Arrays.equals(offered.getParameterTypes(), wanted.getParameterTypes())) {
                    offered.setAccessible(true);
                    found.put(wanted, offered);
                }
            }
        }
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            Method own = found.get(method);
            if (own != null) {
                return call(own, target, arguments);
            }
            return method.isDefault() ? InvocationHandler.invokeDefault(proxy, method, arguments) : null;
        });
    }

    private static Method method(Class<?> type, String name) {
        Method found = Arrays.stream(type.getDeclaredMethods())
            .filter(method -> method.getName().equals(name)).findFirst().orElseThrow();
        found.setAccessible(true);
        return found;
    }

    private static Optional<Field> field(Class<?> type, String name) {
        Optional<Field> found =
            Arrays.stream(type.getDeclaredFields()).filter(field -> field.getName().equals(name)).findFirst();
        found.ifPresent(field -> field.setAccessible(true));
        return found;
    }

    private static Object call(Method method, Object target, Object... arguments) throws Exception {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException wrapped) {
            if (wrapped.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw wrapped;
        }
    }

    private final class Queue {
        private final boolean returnsEntries = Arrays.stream(RaftMessageQueue.class.getMethods())
            .anyMatch(method -> method.getName().equals("poll") && method.getReturnType() == Optional.class);

        public Object poll(long timeoutMs) {
            timeout = timeoutMs;
            return returnsEntries ? Optional.empty() : null;
        }

        public Object add(RaftMessage message) {
            CompletableFuture<RaftMessage> future = new CompletableFuture<>();
            queue.add(new Queued(message, future));
            return future;
        }

        public boolean isEmpty() {
            return queue.isEmpty();
        }

        public void wakeup() { }
    }

    private final class Channel {
        public int newCorrelationId() {
            return ++correlation;
        }

        public Object send(RaftRequest.Outbound request) throws Exception {
            CompletableFuture<RaftResponse.Inbound> answer = completion(request);
            Sent known = new Sent(request, answer);
            judge.sent(JudgedClient.this, known);
            return answer;
        }

        public ListenerName listenerName() {
            return LISTENER;
        }
    }

    /** Up to 4.3 a request carries what completes it; since 4.4 the channel and the queue return it. */
    @SuppressWarnings("unchecked")
    private static <T> CompletableFuture<T> completion(RaftRequest request) throws Exception {
        Optional<Field> field = request instanceof RaftRequest.Inbound ? INBOUND_COMPLETION : OUTBOUND_COMPLETION;
        return field.isPresent() ? (CompletableFuture<T>) field.get().get(request) : new CompletableFuture<>();
    }

    private <T> CompletableFuture<T> expiring(long timeoutMs) {
        CompletableFuture<T> future = new CompletableFuture<>();
        expiries.add(new Expiry(clock.now + timeoutMs, future));
        return future;
    }

    // --- what the world calls ----------------------------------------------------------------------------------------

    interface Act {
        void run() throws Exception;
    }

    /** Do something on the thread of this process, then poll until it waits. */
    void run(Act act) {
        if (failed || (client != null && isStopped())) {
            return;
        }
        try {
            act.run();
            while (!queue.isEmpty()) {
                handle(queue.poll());
            }
            List<Expiry> due = expiries.stream().filter(expiry -> expiry.deadline <= clock.now).toList();
            expiries.removeAll(due);
            due.forEach(expiry -> expiry.future.completeExceptionally(new TimeoutException("expired")));
            timeout = 0;
            for (int polls = 0; polls < MOST_POLLS && timeout == 0 && client.isRunning(); polls++) {
                client.poll();
            }
        } catch (Exception fault) {
            failed = true;
            judge.trace.add("X " + fault);
        }
    }

    private void handle(Queued queued) throws Exception {
        if (HANDLE_INBOUND.getParameterCount() == 2) {
            call(HANDLE_INBOUND, client, queued.message, clock.milliseconds());
        } else {
            call(HANDLE_INBOUND, client, queued.message, queued.future, clock.milliseconds());
        }
    }

    /** A request arrives; its response is put on the trace when it is complete. */
    void receive(int source, int correlationId, ApiMessage data, Sent asked) {
        run(() -> {
            short version = ApiKeys.forId(data.apiKey()).latestVersion();
            RaftRequest.Inbound request = new RaftRequest.Inbound(LISTENER, correlationId, version, data, clock.milliseconds());
            CompletableFuture<RaftResponse.Outbound> answer = completion(request);
            CompletableFuture<RaftResponse.Outbound> given = handed(request, answer);
            given.whenComplete((response, error) -> {
                try {
                    judge.answered(this, source, response, error, asked);
                } catch (RuntimeException | Error unexpected) { // which the future would keep to itself
                    judge.trace.add("X " + unexpected);
                }
            });
        });
    }

    @SuppressWarnings("unchecked")
    private CompletableFuture<RaftResponse.Outbound> handed(
        RaftRequest.Inbound request, CompletableFuture<RaftResponse.Outbound> carried
    ) throws Exception {
        Object returned = call(HANDLE, client, request);
        return returned == null ? carried : ((java.util.concurrent.CompletionStage<RaftResponse.Outbound>) returned)
            .toCompletableFuture();
    }

    /** The answer to a request of this process arrives; one that is there already is dropped. */
    void receive(Sent asked, ApiMessage data) {
        run(() -> asked.answer().complete(
            new RaftResponse.Inbound(asked.request().correlationId(), data, asked.request().destination())));
    }

    /** No answer will come: what KafkaNetworkChannel makes of a connection that broke. */
    void disconnect(Sent asked) {
        ApiKeys key = ApiKeys.forId(asked.request().data().apiKey());
        receive(asked, RaftUtil.errorResponse(key, Errors.BROKER_NOT_AVAILABLE));
    }

    private boolean isStopped() {
        return failed || !client.isRunning();
    }

    String shown() throws Exception {
        if (isStopped()) {
            return failed ? "fault" : "stopped";
        }
        expiries.removeIf(expiry -> expiry.future.isDone());
        long wake = expiries.stream().mapToLong(expiry -> expiry.deadline - clock.now).reduce(timeout, Math::min);
        QuorumState quorum = client.quorum();
        EpochState state = (EpochState) STATE.get(quorum);
        VoterSet voters = ((KRaftControlRecordStateMachine) PARTITION_STATE.get(client)).lastVoterSet();
        Optional<ReplicaKey> voted = state.election().optionalVotedKey();
        String keys = voters.voterKeys().stream().sorted()
            .map(key -> key.id() + ":" + key.directoryId().map(Object::toString).orElse("-"))
            .collect(Collectors.joining(","));
        return String.join(" ", state.getClass().getSimpleName().replace("State", ""), "" + quorum.epoch(),
            "" + quorum.leaderIdOrSentinel(), "" + voted.map(ReplicaKey::id).orElse(-1),
            "" + client.highWatermark().orElse(-1), "" + log.startOffset(), "" + log.endOffset().offset(),
            "" + log.lastFetchedEpoch(), keys, "" + wake);
    }
}
