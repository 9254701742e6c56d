"""Configuration files from before a roll, which the journal keeps: nodes without their new file, and the old files.

The folder of a roll has `ID.properties` for each node whose file was replaced, so it is itself a folder for --rendered.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection

from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.observation import RollNode
from kafkactl.roll.releases import is_same, version_in


def lacks_file(case: RollCase, node: RollNode) -> bool:
    """Return True if a node has another file than the rendered one, or was not restarted since it got that one."""
    wanted = case.request.rendered.get(node.id)
    if wanted is None:
        return False
    if node.config is not None and node.config != wanted:
        return True
    return case.record is not None and case.record.is_under_way and node.id in case.record.unapplied


def command_with_old_file(case: RollCase, node: RollNode) -> str:
    """Return the next step if the goal refuses the present file of a node: the same roll with the files from before.

    It is empty if the file is a rendered one, or the journal has no file with which the node ran the goal.
    """
    kept = {} if case.record is None else case.record.kept_files(case.request.to)
    if case.goal is None or node.id in case.request.rendered or node.id not in kept:
        return ""
    file = kept[node.id]
    version = version_in(file.release)
    if version is None or not is_same(version, case.goal):
        return ""
    verb = "rollback" if case.way is Way.DOWNGRADE else "run"
    words = [f"--to {case.request.to}"]
    for option, ids in (("--only", case.request.only), ("--skip", case.request.skip)):
        if ids:
            words.append(f"{option} {','.join(map(str, sorted(ids)))}")
    words.append(f"--rendered {shlex.quote(file.folder)}")
    return f"Give the files back with which Kafka {version} ran: {case.request.command(verb, *words)}"


def rendered_words(case: RollCase, node_ids: Collection[int]) -> str:
    """Return the option that gives these nodes the files back which the present roll replaced; empty if it did not."""
    replaced = {} if case.record is None else case.record.replaced
    folders = {replaced[node_id].folder for node_id in node_ids if node_id in replaced}
    return f" --rendered {shlex.quote(folders.pop())}" if len(folders) == 1 else ""
