"""Answers of `kafkactl dryrun` in a few words, for reports."""

from __future__ import annotations

from typing import Any

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></svg></style><script>1</script>",
    "{{ 7 * 7 }} {% raw %}",
    "&lt;b&gt; & ' \"",
    "colour \x1b[31mred \x00 \x7f",
    "turned \u202e round",
    "a" * 249,
    "]]> --> <!-- -",
    "ключ 鍵 🔑",
    "orders\n✔ done: nothing else to do",
    "Z" + "\u0353\u0357\u0310" * 60,
    "soft\u00adhyphen no\u200bwidth",
)


def finding(name: str, severity: str) -> dict[str, Any]:
    return {
        "id": name,
        "severity": severity,
        "subject": name,
        "message": f"the message of {name}",
        "evidence": {},
        "next_step": f"do {name}",
    }


def answer(
    *,
    scenario: str = "broker-loss",
    verdict: str = "ok",
    findings: list[dict[str, Any]] | None = None,
    assumptions: list[str] | None = None,
    topic: str = "a",
    changes: int = 1,
    paths: list[str] | None = None,
) -> dict[str, Any]:
    change = {
        "topic": topic,
        "partition": 0,
        "leader_before": 1,
        "leader_after": -1,
        "isr_before": [1],
        "isr_after": [],
        "elr_after": [1],
        "last_known_elr_after": [],
        "leader_epoch_after": 2,
        "recovering_after": False,
        "replicas_after": [1, 2],
        "certain": True,
        "alternatives": [],
    }
    return {
        "scenario": scenario,
        "engine": "local",
        "source": {"paths": paths or ["/log"], "cluster_id": None, "first_offset": 0, "last_offset": 9, "records": 10},
        "after": [],
        "input": {"brokers": [1]},
        "verdict": verdict,
        "findings": findings or [],
        "assumptions": assumptions or [],
        "effects": {
            "partitions": {"total": 9, "leader_changes": 1, "offline": 1, "under_min_isr": 2, "at_min_isr": 3},
            "changes": [change] * min(changes, 1_000),
            "changes_total": changes,
            "records_appended": {"count": 3, "bytes": 200, "by_type": {"PartitionChangeRecord": 3}},
            "majority": None,
            "tolerates": None,
            "features": [],
            "results": [],
            "steps": [],
            "server_error": None,
            "worst": [{"brokers": [1, 2], "offline": 3, "under_min_isr": 4, "leader_changes": 5}],
            "sets": 10,
            "counts": {f"{topic}{number}": number for number in range(40)},
            "state": {"topics": 3},
            "image_sha256": "0" * 64,
            "voters": {"before": list(range(3000, 3011)), "after": list(range(3000, 3011))},
            "alive": {"before": list(range(3000, 3011)), "after": [3001]},
        }
        | {"majority": {"before": 6, "after": 6}, "tolerates": {"before": 5, "after": 0}},
    }
