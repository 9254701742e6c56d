"""Limits of a metadata log's batch: above any batch that Kafka writes, below the memory of a host.

Kafka bounds a metadata batch by its bytes alone: 8 MiB (`KafkaRaftClient.MAX_BATCH_SIZE_BYTES`; since 4.1
`internal.metadata.max.batch.size.in.bytes`, "only for testing"). The 10,000 records that a controller hands over at
once are not a bound, as `BatchAccumulator` puts what comes within its linger time into one batch, and all of a snapshot
into batches of 8 MiB. The smallest record, a NoOpRecord, takes 11 bytes, so a batch has at most 762,600 of them.
"""

from __future__ import annotations

from typing import Final

MOST_BATCH_BYTES: Final = 16 * 1024 * 1024
MOST_BATCH_RECORDS: Final = 800_000
# Kafka never compresses its metadata log, so whatever is compressed comes from somewhere else.
MOST_DECOMPRESSED_BYTES: Final = 8 * 1024 * 1024
MOST_COMPRESSED_RECORDS: Final = 100_000
MOST_TIMES_DECOMPRESSED: Final = 16  # as large as it was, so that a small file does not take the time of a large one
ALWAYS_DECOMPRESSED_BYTES: Final = 64 * 1024  # whatever the ratio
