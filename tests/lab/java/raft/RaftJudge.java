package org.apache.kafka.raft;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.message.AddRaftVoterRequestData;
import org.apache.kafka.common.message.AddRaftVoterResponseData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchSnapshotResponseData;
import org.apache.kafka.common.message.RemoveRaftVoterRequestData;
import org.apache.kafka.common.message.RemoveRaftVoterResponseData;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;
import org.apache.kafka.snapshot.SnapshotWriter;

/**
 * Real replicas of the metadata log under command: the classes of one release, virtual time, no network of their own.
 *
 * One command a line on stdin, one answer a line on stdout: the state of the node that was commanded, and behind a tab
 * each what it did, in its order. What is sent is called COMMAND KIND DESTINATION:KEY:NTH, without blanks: of the n-th
 * command since "new", Q or R, the n-th of its kind; by this the world delivers it, late, twice or never. So commands
 * need not wait for answers.
 *
 * <pre>
 * new SEED ELECTION FETCH BACKOFF LINGER REQUEST RETRY FETCH_WAIT CLUSTER_ID     times in milliseconds
 * disk NODE DIRECTORY ID:DIRECTORY,...     an empty disk, formatted with initial voters; "-" is without
 * back NODE WRITES END                     undo all but the first writes of the last process; cut the log
 * start PROCESS NODE NOW STATIC SERVERS    lists of ids; "-" is empty
 * receive PROCESS NOW MESSAGE              what was sent arrives
 * broken PROCESS NOW MESSAGE               no answer will come to this request
 * wake PROCESS NOW
 * append PROCESS NOW RECORDS
 * resign PROCESS NOW
 * shutdown PROCESS NOW TIMEOUT
 * snapshot PROCESS NOW END EPOCH
 * add PROCESS NOW CORRELATION ID DIRECTORY
 * remove PROCESS NOW CORRELATION ID DIRECTORY
 *
 * STATE EPOCH LEADER VOTED WATERMARK START END LAST_EPOCH VOTERS TIMEOUT, or fault, or stopped; then of each
 *     D PURPOSE BOUND                      a random number was drawn
 *     A BASE-END@EPOCH ...  F  T OFFSET  S EPOCH LEADER VOTED DIRECTORY  N END EPOCH  B END EPOCH  C END EPOCH
 *     Q DESTINATION KEY VERSION BYTES          a request was sent
 *     R DESTINATION KEY VERSION BYTES BATCHES  a response was sent; CODE MESSAGE for a change of voters
 *     X EXCEPTION
 * </pre>
 *
 * BYTES are without correlation ids, which follow the order of a HashSet where several voters are asked, and without records, pieces of snapshots and their sizes. This class is in Kafka's package for the constructor
 * that takes a queue and a Random.
 */
public final class RaftJudge {
    private static final int CLIENT = -1000;
    private static final int TEXT = 90; // bytes of a record, of which about 100 are in a batch
    final Clock clock = new Clock();
    final List<String> trace = new ArrayList<>();
    private final Map<String, Object[]> messages = new HashMap<>();
    private int commands;
    private final Map<Integer, JudgedDisk> disks = new HashMap<>();
    private final List<JudgedClient> clients = new ArrayList<>();
    long seed;
    String clusterId;
    int fetchMaxWaitMs;
    QuorumConfig config;
    private int appends;

    private RaftJudge() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false, StandardCharsets.US_ASCII);
        RaftJudge judge = new RaftJudge();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("new")) {
                judge = new RaftJudge();
            }
            String answer;
            try {
                answer = judge.answer(words);
            } catch (Exception | LinkageError error) {
                error.printStackTrace();
                answer = "ERROR " + error.toString().replace('\n', ' ').replace('\t', ' ');
            }
            out.print(answer + "\n");
            if (!in.ready()) {
                out.flush();
            }
        }
    }

    InetSocketAddress address(int node) {
        return InetSocketAddress.createUnresolved("controller-" + node, 9093);
    }

    private String answer(String[] words) throws Exception {
        commands++;
        switch (words[0]) {
            case "new" -> begin(words);
            case "disk" -> format(Integer.parseInt(words[1]), Uuid.fromString(words[2]), words[3]);
            case "back" -> disks.get(Integer.parseInt(words[1])).back(Integer.parseInt(words[2]), Long.parseLong(words[3]));
            default -> {
                return command(words);
            }
        }
        return "OK";
    }

    private void begin(String[] words) {
        seed = Long.parseLong(words[1]);
        List<String> names = List.of("election.timeout.ms", "fetch.timeout.ms", "election.backoff.max.ms",
            "append.linger.ms", "request.timeout.ms", "retry.backoff.ms");
        Map<String, String> given = new HashMap<>();
        for (String name : names) {
            given.put("controller.quorum." + name, words[2 + names.indexOf(name)]);
        }
        config = new QuorumConfig(new AbstractConfig(QuorumConfig.CONFIG_DEF, given, false));
        fetchMaxWaitMs = Integer.parseInt(words[8]);
        clusterId = words[9];
    }

    private void format(int node, Uuid directory, String voters) throws Exception {
        JudgedDisk disk = new JudgedDisk(directory, trace);
        if (!voters.equals("-")) {
            VotersRecord record = new VotersRecord();
            for (String voter : voters.split(",")) {
                String[] parts = voter.split(":");
                int id = Integer.parseInt(parts[0]);
                VotersRecord.EndpointCollection endpoints = new VotersRecord.EndpointCollection();
                endpoints.add(new VotersRecord.Endpoint().setName("CONTROLLER").setHost(address(id).getHostString())
                    .setPort(address(id).getPort()));
                record.voters().add(new VotersRecord.Voter().setVoterId(id).setVoterDirectoryId(Uuid.fromString(parts[1]))
                    .setEndpoints(endpoints).setKRaftVersionFeature(new VotersRecord.KRaftVersionFeature()
                        .setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1)));
            }
            try (RecordsSnapshotWriter<String> writer = new RecordsSnapshotWriter.Builder()
                    .setTime(clock)
                    .setKraftVersion(KRaftVersion.KRAFT_VERSION_1)
                    .setVoterSet(Optional.of(VoterSet.fromVotersRecord(record)))
                    .setRawSnapshotWriter(disk.writer(new OffsetAndEpoch(0, 0)))
                    .build(new TextSerde())) {
                writer.freeze();
            }
        }
        disk.formatted();
        disks.put(node, disk);
    }

    private String command(String[] words) throws Exception {
        trace.clear();
        int process = Integer.parseInt(words[1]);
        if (words[0].equals("start")) {
            clock.now = Long.parseLong(words[3]);
            int node = Integer.parseInt(words[2]);
            JudgedClient started = new JudgedClient(this, node, disks.get(node), ids(words[4]), ids(words[5]));
            clients.add(started);
            return told(started);
        }
        clock.now = Long.parseLong(words[2]);
        JudgedClient client = clients.get(process);
        switch (words[0]) {
            case "receive" -> receive(client, messages.get(words[3]));
            case "broken" -> client.disconnect((JudgedClient.Sent) messages.get(words[3])[2]);
            case "wake" -> client.run(() -> { });
            case "append" -> client.run(() -> {
                String text = String.format("%-" + TEXT + "s", "append " + appends++);
                client.client.prepareAppend(
                    client.client.quorum().epoch(), Collections.nCopies(Integer.parseInt(words[3]), text));
                client.client.schedulePreparedAppend();
            });
            case "resign" -> client.run(() -> client.client.resign(client.client.quorum().epoch()));
            case "shutdown" -> client.run(() -> KafkaRaftClient.class.getMethod("shutdown", int.class)
                .invoke(client.client, Integer.parseInt(words[3])));
            case "snapshot" -> client.run(() -> snapshot(client, Long.parseLong(words[3]), Integer.parseInt(words[4])));
            case "add", "remove" -> client.receive(CLIENT, Integer.parseInt(words[3]), change(words), null);
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        }
        return told(client);
    }

    private String told(JudgedClient client) throws Exception {
        return client.shown() + "\t" + String.join("\t", trace).replace('\n', ' ');
    }

    private static List<Integer> ids(String word) {
        return word.equals("-") ? List.of() : Arrays.stream(word.split(",")).map(Integer::valueOf).toList();
    }

    private void receive(JudgedClient client, Object[] message) {
        JudgedClient.Sent asked = (JudgedClient.Sent) message[2];
        ApiMessage data = (ApiMessage) message[1];
        if (message[0].equals("Q")) {
            JudgedClient sender = (JudgedClient) message[3];
            int correlation = asked.request().correlationId();
            if (data.apiKey() == ApiKeys.API_VERSIONS.id) {
                answerVersions(client, sender.node, asked);
            } else {
                client.receive(sender.node, correlation, data, asked);
            }
        } else {
            client.receive(asked, data);
        }
    }

    /** ApiVersions is answered by the server around the client. */
    private void answerVersions(JudgedClient client, int source, JudgedClient.Sent asked) {
        ApiVersionsResponseData.SupportedFeatureKeyCollection features =
            new ApiVersionsResponseData.SupportedFeatureKeyCollection();
        features.add(new ApiVersionsResponseData.SupportedFeatureKey().setName("kraft.version")
            .setMinVersion((short) 0).setMaxVersion((short) 1));
        record("R", source, new ApiVersionsResponseData().setSupportedFeatures(features), asked, client);
        client.run(() -> { });
    }

    private void snapshot(JudgedClient client, long end, int epoch) throws Exception {
        OffsetAndEpoch id = new OffsetAndEpoch(end, epoch);
        Optional<SnapshotWriter<String>> writer = client.client.createSnapshot(id, clock.milliseconds());
        if (writer.isPresent()) {
            writer.get().freeze();
            writer.get().close();
        }
        client.log.deleteBeforeSnapshot(id);
    }

    private ApiMessage change(String[] words) {
        int id = Integer.parseInt(words[4]);
        Uuid directory = Uuid.fromString(words[5]);
        if (words[0].equals("remove")) {
            return new RemoveRaftVoterRequestData().setClusterId(clusterId).setVoterId(id).setVoterDirectoryId(directory);
        }
        AddRaftVoterRequestData.ListenerCollection listeners = new AddRaftVoterRequestData.ListenerCollection();
        listeners.add(new AddRaftVoterRequestData.Listener().setName("CONTROLLER").setHost(address(id).getHostString())
            .setPort(address(id).getPort()));
        return new AddRaftVoterRequestData().setClusterId(clusterId).setVoterId(id).setVoterDirectoryId(directory)
            .setTimeoutMs((int) TimeUnit.SECONDS.toMillis(2)).setListeners(listeners);
    }

    // --- what was sent -------------------------------------------------------------------------------------------------

    void sent(JudgedClient sender, JudgedClient.Sent sent) {
        RaftRequest.Outbound request = sent.request();
        record("Q", request.destination().id(), request.data(), sent, sender);
    }

    void answered(
        JudgedClient sender, int source, RaftResponse.Outbound response, Throwable error, JudgedClient.Sent asked
    ) {
        if (error != null) {
            trace.add("X " + error);
        } else {
            record("R", source, response.data(), asked, sender);
        }
    }

    private void record(
        String kind, int destination, ApiMessage data, JudgedClient.Sent asked, JudgedClient sender
    ) {
        String name = commands + kind + destination + ":" + data.apiKey() + ":";
        int nth = 0;
        while (messages.containsKey(name + nth)) {
            nth++;
        }
        messages.put(name + nth, new Object[] {kind, data, asked, sender});
        short version = ApiKeys.forId(data.apiKey()).latestVersion();
        trace.add(kind + " " + destination + " " + data.apiKey() + " " + version + " "
            + (said(data) == null ? bytes(data, version) : said(data)));
    }

    private static String said(ApiMessage data) {
        if (data instanceof AddRaftVoterResponseData added) {
            return added.errorCode() + " " + added.errorMessage();
        }
        return data instanceof RemoveRaftVoterResponseData removed
            ? removed.errorCode() + " " + removed.errorMessage() : null;
    }

    /** The response without its piece and where it lies; `duplicate` fails on a piece, which is no MemoryRecords. */
    private static FetchSnapshotResponseData withoutPiece(FetchSnapshotResponseData data) {
        FetchSnapshotResponseData bare = new FetchSnapshotResponseData().setThrottleTimeMs(data.throttleTimeMs())
            .setErrorCode(data.errorCode()).setNodeEndpoints(data.nodeEndpoints());
        data.topics().forEach(topic -> {
            FetchSnapshotResponseData.TopicSnapshot copy = new FetchSnapshotResponseData.TopicSnapshot().setName(topic.name());
            topic.partitions().forEach(partition -> copy.partitions().add(new FetchSnapshotResponseData.PartitionSnapshot()
                .setIndex(partition.index()).setErrorCode(partition.errorCode()).setSnapshotId(partition.snapshotId())
                .setCurrentLeader(partition.currentLeader()).setUnalignedRecords(MemoryRecords.EMPTY)));
            bare.topics().add(copy);
        });
        return bare;
    }

    private static String bytes(ApiMessage data, short version) {
        ApiMessage bare = data;
        StringBuilder batches = new StringBuilder();
        if (data instanceof FetchResponseData fetch) {
            FetchResponseData copy = fetch.duplicate();
            copy.responses().forEach(topic -> topic.partitions().forEach(partition -> {
                if (partition.records() instanceof MemoryRecords records) {
                    records.batches().forEach(batch -> batches.append(' ').append(batch.baseOffset()).append('-')
                        .append(batch.nextOffset()).append('@').append(batch.partitionLeaderEpoch()));
                }
                partition.setRecords(MemoryRecords.EMPTY);
            }));
            bare = copy;
        } else if (data instanceof FetchSnapshotResponseData fetch) {
            bare = withoutPiece(fetch);
        }
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(bare.size(cache, version));
        bare.write(new ByteBufferAccessor(buffer), cache, version);
        return HexFormat.of().formatHex(buffer.array(), 0, buffer.position()) + batches;
    }
}
