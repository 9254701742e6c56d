"""The reference codec: any message at any version, written to be compared with the specification, not to be fast.

A value is a dict keyed by the definition's field names (`"ClusterId"`). Structs are dicts, arrays lists, uuids
`kafkactl.core.values.Uuid`, byte strings and records `bytes`. A decoded dict holds every field of the definition; a
field that its version does not have, or a tagged field that was not sent, holds its default, as in Kafka's own classes.
Tagged fields that the definition does not know are kept under `"_tags"` (tag -> bytes); the key is absent where there
are none. An encoder takes a missing field for its default and refuses a key that is not a field.

Rules: `clients/src/main/resources/common/message/README.md` of Kafka, KIP-482, and the behaviour of its generated
classes (`generator/.../MessageDataGenerator.java`): a tagged field is written only if it differs from its default;
a field that a version lacks must hold its default unless it is ignorable; a nullable struct is led by a byte, -1 for
null; a tag that is defined for other versions only is an error. Definitions cannot nest without end (a struct
cannot contain itself), so neither can data. Beyond Kafka: tags must ascend and a tagged field must fill its size.
"""

from __future__ import annotations

from kafkactl.protocol.decode import decode_message
from kafkactl.protocol.encode import encode_message
from kafkactl.protocol.form import TAGS, Message, default_value, is_default

__all__ = ["TAGS", "Message", "decode_message", "default_value", "encode_message", "is_default"]
