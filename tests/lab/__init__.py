"""The lab: released Kafka and ZooKeeper on loopback, for tests that must be right about Kafka.

What it guards: every claim this project makes about Kafka is checked against the released jars, run by
real JVMs, and no run leaves a process, a port or a half-filled cache behind. Nothing in here knows
anything about kafkactl; it is imported by the tests of any room.

releases   the table of Kafka releases; a new release is one line
maven      jars of a release, resolved once into a cache outside the tree
java       which Java runs them
storage_tool   Kafka's own command-line tools, served by one JVM that stays up
node, zookeeper   processes that are started, watched, paused, killed
config     the smallest server.properties that works, by release and kind of node
ports, pool   free loopback ports; all processes of the suite, and their end
"""
