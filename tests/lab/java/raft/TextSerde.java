package org.apache.kafka.raft;

import java.nio.charset.StandardCharsets;

import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.server.common.serialization.RecordSerde;

/** Records of the judged log: texts. */
final class TextSerde implements RecordSerde<String> {
    @Override
    public int recordSize(String text, ObjectSerializationCache cache) {
        return text.getBytes(StandardCharsets.US_ASCII).length;
    }

    @Override
    public void write(String text, ObjectSerializationCache cache, Writable out) {
        out.writeByteArray(text.getBytes(StandardCharsets.US_ASCII));
    }

    @Override
    public String read(Readable in, int size) {
        return new String(in.readArray(size), StandardCharsets.US_ASCII);
    }
}
