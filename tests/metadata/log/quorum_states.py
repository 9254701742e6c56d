"""Contents of quorum-state, and what Kafka makes of them: the leader that it reads, or that it refuses."""

from __future__ import annotations

V0 = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1}],"data_version":0}'
)
V1 = '{"leaderId":1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'

READ: list[tuple[str, int]] = [
    (V0, 1),
    (V1, 1),
    (V1 + " trailing", 1),
    (V1 + "\nmore", 1),
    (V1 + "\rmore", 1),
    ("  " + V1, 1),
    (V1.replace('"leaderId":1', '"leaderId":-1'), -1),
    (V1.replace("5", "-5"), 1),
    (V1.replace('"data_version"', '"leaderId":7,"x":{},"data_version"'), 7),
    (V1.replace('AAA"', 'AAA=="'), 1),
    (V1.replace('version":1', 'version":1.9'), 1),
    (V1.replace('version":1', 'version":65537'), 1),
    (V0.replace('version":0', 'version":"1"'), 1),
    (V0.replace('version":0', 'version":null'), 1),
    (V0.replace("[{" + '"voterId":1' + "}]", "[]"), 1),
    (V0.replace('Offset":0', 'Offset":5000000000'), 1),
]

REFUSED: list[tuple[str, str]] = [
    ("", "quorum-state-empty"),
    ("\n", "quorum-state-not-object"),
    ("\n" + V1, "quorum-state-not-object"),
    ("[]", "quorum-state-not-object"),
    ("null", "quorum-state-not-object"),
    ("5", "quorum-state-not-object"),
    ("garbage", "quorum-state-not-json"),
    (V1[:-1], "quorum-state-not-json"),
    ("\ufeff" + V1, "quorum-state-not-json"),
    (V1.replace('"leaderId":1', '"leaderId":01'), "quorum-state-not-json"),
    (V1.replace('"leaderId":1', '"leaderId":NaN'), "quorum-state-not-json"),
    ("{}", "quorum-state-without-version"),
    ('{"data_version":9}', "quorum-state-unknown-version"),
    (V1.replace('version":1', 'version":-1'), "quorum-state-unknown-version"),
    (V1.replace('version":1', 'version":19000000000.5'), "quorum-state-unknown-version"),
    ('{"data_version":1}', "quorum-state-invalid-field"),
    ('{"data_version":0}', "quorum-state-invalid-field"),
    (V1.replace('version":1', 'version":"1"'), "quorum-state-invalid-field"),
    (V1.replace('version":1', 'version":true'), "quorum-state-invalid-field"),
    (V1.replace('"leaderId":1', '"leaderId":"1"'), "quorum-state-invalid-field"),
    (V1.replace('"leaderId":1', '"leaderId":1.0'), "quorum-state-invalid-field"),
    (V1.replace('"leaderId":1', '"leaderId":true'), "quorum-state-invalid-field"),
    (V1.replace('"leaderId":1', '"leaderId":3000000000'), "quorum-state-invalid-field"),
    (V1.replace('"AAAAAAAAAAAAAAAAAAAAAA"', '"xx"'), "quorum-state-invalid-field"),
    (V1.replace('"AAAAAAAAAAAAAAAAAAAAAA"', '""'), "quorum-state-invalid-field"),
    (V1.replace('"AAAAAAAAAAAAAAAAAAAAAA"', "5"), "quorum-state-invalid-field"),
    (V1.replace('"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",', ""), "quorum-state-invalid-field"),
    (V0.replace('"clusterId":""', '"clusterId":null'), "quorum-state-invalid-field"),
    (V0.replace('Offset":0', 'Offset":"12"'), "quorum-state-invalid-field"),
    (V0.replace('[{"voterId":1}]', "null"), "quorum-state-invalid-field"),
    (V0.replace('[{"voterId":1}]', "{}"), "quorum-state-invalid-field"),
    (V0.replace('[{"voterId":1}]', "[5]"), "quorum-state-invalid-field"),
    (V0.replace('[{"voterId":1}]', "[{}]"), "quorum-state-invalid-field"),
    (V0.replace('"currentVoters":[{"voterId":1}],', ""), "quorum-state-invalid-field"),
]
