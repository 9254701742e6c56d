package org.apache.kafka.common.record.internal;

/** Makes this package exist in releases that do not have it, so that one import serves all releases. */
final class Names {
    private Names() { }
}
