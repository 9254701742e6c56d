"""Edit of the file of contexts: the lines that must change, and no other; whole on the disk or not at all.

Invariant: what the operator wrote into the file, comments and order, stays. Text is edited line by line and then read
again: if it does not say what was requested, nothing is written. The staged file is made exclusively and so is the
lock, too: of two who write at once one is refused, and no change is lost.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from kafkactl.core.errors import FailedError, InputError, RefusedError
from kafkactl.files.contexts import ADDRESS_KEYS, CONTEXT_KEYS, Context, Contexts, load_contexts, parse_contexts
from kafkactl.files.filesystem import Filesystem, OsFilesystem
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.leftover_sync import make_found, sync_found_file, sync_found_name

_MODE = 0o600
_FOLDER_MODE = 0o700  # a context decides where a login goes
_HEADER = re.compile(r"\s*\[")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTEXT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*")
Change = Callable[[Contexts], Contexts]


def with_context(contexts: Contexts, name: str, changes: Mapping[str, str | None]) -> Contexts:
    """Return the contexts with some keys of one set, or unset (None). Addresses of one kind unset the others.

    A missing context is created. Raises InputError `invalid-context-name`.
    """
    if not _CONTEXT_NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot name a context", id="invalid-context-name")
    changes = dict(changes)
    if any(changes.get(key) for key in ADDRESS_KEYS):
        changes = dict.fromkeys(ADDRESS_KEYS) | changes
    changed = replace(contexts.by_name.get(name, Context()), **changes)
    return replace(contexts, by_name={**contexts.by_name, name: changed})


def without_context(contexts: Contexts, name: str) -> Contexts:
    """Return the contexts without this one, which is also no longer current. Raise InputError `unknown-context`."""
    contexts.context(name)
    kept = {key: value for key, value in contexts.by_name.items() if key != name}
    return replace(contexts, by_name=kept, current=None if contexts.current == name else contexts.current)


def change_contexts(
    path: Path, change: Change, *, dry_run: bool = False, files: Filesystem | None = None
) -> tuple[Contexts, Contexts]:
    """Change the file; the contexts before and after. If both are equal nothing is written.

    Raises InputError (that of `load_contexts` and of `change`, `contexts-file-not-editable`), RefusedError
    `contexts-file-busy`, FailedError `contexts-file-not-written`.
    """
    path = path.resolve()  # a link stays one
    before = load_contexts(path)
    after = change(before)
    if dry_run:
        return before, after
    files = files or OsFilesystem()
    if before == after:
        _settle(path, files)
        return before, after
    staged = path.with_name(f".{path.name}.new")
    try:
        make_found(path.parent, files, mode=_FOLDER_MODE)
        descriptor = _create(staged, files)
        try:
            before = load_contexts(path)  # the staged file is created exclusively, so no other edit is under way
            after = change(before)
            _write(descriptor, _edited_file(path, before, after), files)
            files.rename(str(staged), str(path))
        except BaseException:
            with contextlib.suppress(OSError):
                files.unlink(str(staged))
            raise
        files.fsync_directory(str(path.parent))
    except OSError as error:
        raise _not_written(path, error) from error
    return before, after


def _settle(path: Path, files: Filesystem) -> None:
    """Sync a file with unchanged content: a run that was killed before its last sync may have written it."""
    if not path.exists():
        return
    try:
        sync_found_file(path, files)
        sync_found_name(path, files)
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> FailedError:
    return FailedError(f"{path} could not be written: {error.strerror or error}", id="contexts-file-not-written")


def edited(text: str, before: Contexts, after: Contexts) -> str:
    """Return the text of a file, made to say `after` by changing the lines that differ from `before`."""
    lines = text.splitlines()
    for name in before.by_name:
        if name not in after.by_name:
            _drop_table(lines, name)
    for name, context in after.by_name.items():
        was = before.by_name.get(name)
        if was is None:
            _add_table(lines, name, context)
        else:
            for key in CONTEXT_KEYS:
                if getattr(was, key) != (value := getattr(context, key)):
                    _set_key(lines, _region(lines, name), key, value)
    if before.current != after.current:
        _set_key(lines, _region(lines, None), "current", after.current)
    return "".join(f"{line}\n" for line in lines)


def _edited_file(path: Path, before: Contexts, after: Contexts) -> bytes:
    text = read_whole(path, InputKind.CONTEXTS).decode("utf-8") if path.exists() else ""
    data = edited(text, before, after).encode("utf-8")
    try:
        says_it = parse_contexts(data, file=after.file) == after
    except InputError:
        says_it = False
    if not says_it:
        raise InputError(f"{path} is written in a way that cannot be edited here", id="contexts-file-not-editable")
    return data


def _region(lines: list[str], name: str | None) -> tuple[int, int]:
    """Return the first and the end line of a context's keys; without a context, of the keys above the first table."""
    headers = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    if name is None:
        return 0, headers[0] if headers else len(lines)
    at = next((number for number in headers if _is_header_of(lines[number], name)), None)
    if at is None:
        return len(lines), len(lines)
    return at + 1, next((number for number in headers if number > at), len(lines))


def _is_header_of(line: str, name: str) -> bool:
    return re.match(rf"\s*\[\s*contexts\s*\.\s*(?:{re.escape(name)}|{_quoted_pattern(name)})\s*\]", line) is not None


def _quoted_pattern(name: str) -> str:
    return rf"[\"']{re.escape(name)}[\"']"


def _set_key(lines: list[str], region: tuple[int, int], key: str, value: str | None) -> None:
    begin, end = region
    at = next((n for n in range(begin, end) if re.match(rf"\s*[\"']?{key}[\"']?\s*=", lines[n])), None)
    new = [] if value is None else [f"{key} = {_text(value)}"]
    if at is not None:
        lines[at : at + 1] = new
        return
    while end > begin and not lines[end - 1].strip():
        end -= 1
    apart = [""] if new and begin == 0 and end < len(lines) and _HEADER.match(lines[end]) else []
    lines[end:end] = new + apart


def _add_table(lines: list[str], name: str, context: Context) -> None:
    shown = name if _BARE.fullmatch(name) else _text(name)
    lines += [""] if lines and lines[-1].strip() else []
    lines.append(f"[contexts.{shown}]")
    lines += [f"{key} = {_text(value)}" for key, value in context.given().items()]


def _drop_table(lines: list[str], name: str) -> None:
    begin, end = _region(lines, name)
    del lines[begin - 1 : end]


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # a JSON text is a basic string of TOML


def _create(staged: Path, files: Filesystem) -> int:
    try:
        return files.create(str(staged), _MODE)
    except FileExistsError:
        raise RefusedError(
            f"{staged} is there: another kafkactl changes the contexts now, or was interrupted while it did",
            id="contexts-file-busy",
        ) from None


def _write(descriptor: int, data: bytes, files: Filesystem) -> None:
    try:
        left = data
        while left:
            taken = files.write(descriptor, left)
            if taken <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            left = left[taken:]
        files.fsync(descriptor)
    finally:
        files.close(descriptor)
