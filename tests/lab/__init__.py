"""The lab: released Kafka and ZooKeeper on loopback, for tests that must be right about Kafka.

What it guards: every claim this project makes about Kafka is checked against the released jars, run by
real JVMs, and no run leaves a process, a port or a half-filled cache behind. What is below the line knows
nothing of kafkactl; clusters are formatted by it, and asked through its client.

cluster    several nodes of any release and quorum, which reports when they are complete; cluster_fixtures shares them
scene      what kafkactl predicts of a cluster against what it then does; scenes_* are the tables
----
releases   the table of Kafka releases; a new release is one line
maven      jars of a release, resolved once into a cache outside the tree
java       which Java runs them
storage_tool   Kafka's own command-line tools, served by one JVM that stays up
node, zookeeper   processes that are started, watched, paused, killed
config     the smallest server.properties that works, by release and kind of node
ports, pool   free loopback ports; all processes of the suite, and their end
"""
