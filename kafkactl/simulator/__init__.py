"""A quorum of controllers in one process: seeded, in virtual time, with every fault that an operator fears.

The rules of Raft are `kafkactl.simulator.raft`; here are time, network, disks and clocks around it, and what must never
happen.
"""
