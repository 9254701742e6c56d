"""KRaft, Kafka's dialect of Raft, as a pure state machine.

One object, `kafkactl.simulator.raft.node.Node`, is one replica of the metadata log: a voter or an observer. It reads no
clock, draws no random number and opens nothing. Its surroundings (`kafkactl.simulator`, or a test) hand over what
happens, always with the present time, and carry out what the node returns, in the order in which it is returned:

* a message (`simulator/raft/messages.py`) is sent,
* a write (`simulator/raft/disk.py`) is done, and waited for if it is synced,
* a draw (`simulator/raft/effects.py`) is answered with a random number,
* a note says what changed, for a timeline, or that the process ended.

Times are whole microseconds since any moment, as long as it is the same for all calls on one node. Between two calls
a node has one deadline, `Node.wake_at`, at which it has to be called again.

Sources: Kafka's `raft/src/main/java/org/apache/kafka/raft` at 3.7, 3.9 and 4.2; KIP-595, KIP-630, KIP-853, KIP-996.
"""
