package org.apache.kafka.common.utils.internals;

/** Makes this package exist in releases that do not have it, so that one import serves all releases. */
final class UtilNames {
    private UtilNames() { }
}
