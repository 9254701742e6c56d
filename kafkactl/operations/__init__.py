"""The use cases, which are the public API: one function a verb, typed values in and out, no click, no printing."""
