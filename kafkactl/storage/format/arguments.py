"""Rules on what was asked for, before any disk is looked at: the node's roles, and who the first voters are.

Source: StorageTool.scala (runFormatCommand, createStandaloneDynamicVoters), KIP-853, KAFKA-17794, KAFKA-19489.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kafkactl.cluster.quorum.voters import LOCALHOST, DynamicVoter, address_key, parse_voters, standalone_voter
from kafkactl.core.findings import Finding, Severity, blocker, warning
from kafkactl.core.values import EVERY_ADDRESS, host_port
from kafkactl.protocol.catalog.releases import Release
from kafkactl.storage.config.logins import SCRAM, controller_mechanism
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.config.voter_addresses import unroutable_voters
from kafkactl.storage.model import FormatRequest, Source, VoterMode

_FLAGS = {
    VoterMode.STANDALONE: "--standalone",
    VoterMode.INITIAL_CONTROLLERS: "--initial-controllers",
    VoterMode.NO_INITIAL_CONTROLLERS: "--no-initial-controllers",
}


def check_mode(config: NodeConfig) -> Iterator[Finding]:
    """Report a ZooKeeper-mode broker: it creates its own meta.properties (version 0) at its first start."""
    if config.is_zookeeper_mode:
        yield blocker(
            "zookeeper-mode-node",
            f"file {config.file}",
            "The kafka configuration file appears to be for a legacy cluster (process.roles is empty). Formatting is"
            " only supported for clusters in KRaft mode",
        )


def check_voter_flags(request: FormatRequest, config: NodeConfig, release: Release) -> Iterator[Finding]:
    """Yield the three exclusive flags against the release, the roles and controller.quorum.voters, in Kafka's order."""
    mode = request.voter_mode
    if mode is not VoterMode.UNSPECIFIED and not release.voter_flags:
        yield blocker(
            "option-not-in-release",
            _FLAGS[mode],
            f"Kafka {release.version_text} has no {_FLAGS[mode]}; dynamic quorums came with 3.9",
            "Leave it out, and set controller.quorum.voters; or name the release with --kafka-version.",
        )
        return
    names_voters = mode in {VoterMode.STANDALONE, VoterMode.INITIAL_CONTROLLERS}
    if config.static_voters and names_voters and release.static_voters_exclude_voter_flags:
        yield blocker(
            "static-voters-with-voter-flag",
            _FLAGS[mode],
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or"
            " --standalone",
        )
    if mode is VoterMode.STANDALONE and "controller" not in config.roles:
        yield blocker("standalone-without-controller", "--standalone", "You can only use --standalone on a controller")
    if _needs_voter_flag(config, release) and mode is VoterMode.UNSPECIFIED:
        yield blocker(
            "voter-flag-missing",
            f"node {config.node_id}",
            "a controller without controller.quorum.voters: you must specify one of the following:"
            " --standalone, --initial-controllers, or --no-initial-controllers",
        )


def check_controller_login(
    request: FormatRequest, config: NodeConfig, voters: Sequence[DynamicVoter] | None
) -> Iterator[Finding]:
    """Check the controllers' SCRAM login: its users are in the log that the first leader writes.

    Several first voters, or users for a static quorum of several, are the founding of a cluster that never has a
    leader; a static controller without users may replace one of a quorum that runs.
    """
    mechanism = controller_mechanism(config)
    count = len(config.static_voters or voters or ())
    if "controller" not in config.roles or mechanism not in SCRAM or count < 2:
        return
    is_founding = bool(voters or request.scram or request.credentials)
    yield Finding(
        id="scram-between-controllers",
        severity=Severity.BLOCKER if is_founding else Severity.WARNING,
        subject=f"node {config.node_id}",
        message=f"{count} voters log in to each other with {mechanism}, whose users are in the metadata log: no first"
        " leader is ever elected, also where the users are among the bootstrap records",
    )


def _needs_voter_flag(config: NodeConfig, release: Release) -> bool:
    return release.voter_flags and "controller" in config.roles and not config.static_voters


def first_voters(
    request: FormatRequest, config: NodeConfig, release: Release, source: Source
) -> tuple[DynamicVoter, ...] | None:
    """Return the voters of the first voter set; None if the flags name none.

    Raises InputError if the text of --initial-controllers, or the listener behind --standalone, is not a voter.
    """
    if not release.voter_flags:
        return None
    if request.voter_mode is VoterMode.INITIAL_CONTROLLERS:
        return parse_voters(request.initial_controllers)
    endpoint = config.controller_endpoint()
    if request.voter_mode is VoterMode.STANDALONE and endpoint is not None:
        own = standalone_voter(
            node_id=config.node_id,
            host=endpoint.host or None,
            port=endpoint.port,
            directory_id=source.directory_id(config.metadata_log_dir),
        )
        return (own,)
    return None


def warn_of_voters(
    voters: Sequence[DynamicVoter], config: NodeConfig, mode: VoterMode, release: Release
) -> Iterator[Finding]:
    """Report voters, static or of --initial-controllers, that can be formatted and with which a node or the quorum
    fails later.
    """
    for problem in unroutable_voters(config, release):
        yield warning(
            problem.id,
            f"node {config.node_id}",
            f"{problem.key} names the host 0.0.0.0: the node ends at its start ({problem.words})",
            problem.next_step,
        )
    if mode is not VoterMode.INITIAL_CONTROLLERS:
        return
    for voter in voters:
        if voter.directory_id.is_reserved:
            yield warning(
                "reserved-directory-id",
                f"voter {voter.node_id}",
                f"the directory id {voter.directory_id} of voter {voter.node_id} is reserved: the node will not start",
            )
        if voter.port == 0 or voter.host.strip("[]") in EVERY_ADDRESS:
            yield warning(
                "voter-without-address",
                f"voter {voter.node_id}",
                f"voter {voter.node_id} has no usable address ({voter.host!r}, port {voter.port}): no other node can"
                " reach it",
            )
    shared = Counter(voter.directory_id for voter in voters)
    for directory_id, count in shared.items():
        if count > 1:
            ids = [voter.node_id for voter in voters if voter.directory_id == directory_id]
            yield warning(
                "shared-directory-id",
                f"directory id {directory_id}",
                f"the voters {', '.join(map(str, ids))} share the directory id {directory_id}",
                voters=ids,
            )
    yield from _warn_of_own_voter(voters, config)


def _warn_of_own_voter(voters: Sequence[DynamicVoter], config: NodeConfig) -> Iterator[Finding]:
    if "controller" not in config.roles:
        return
    own = next((voter for voter in voters if voter.node_id == config.node_id), None)
    if own is None:
        yield warning(
            "node-not-among-voters",
            f"node {config.node_id}",
            f"this controller is not among the initial controllers ({', '.join(str(v.node_id) for v in voters)}): it"
            " will be an observer",
        )
        return
    endpoint = config.controller_endpoint()
    # Names may differ for valid reasons (a host without advertised listener); the port may not.
    if endpoint is None:
        return
    if address_key(endpoint.host or own.host, endpoint.port) != address_key(own.host, own.port):
        listed, listening = host_port(own.host, own.port), host_port(endpoint.host or LOCALHOST, endpoint.port)
        yield warning(
            "voter-endpoint-differs",
            f"voter {own.node_id}",
            f"--initial-controllers says {listed} for this node, its listener {endpoint.listener} is {listening}",
            "Other controllers will dial the address in the list: make both the same.",
            listed=listed,
            listener=listening,
        )
