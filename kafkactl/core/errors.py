"""The error tree, sorted by whose next move it is.

An error is for what has no answer: words that cannot be understood, a file that cannot be read, bytes that do not
decode. Whatever a planner can say about a disk or a cluster is a `Finding` (kafkactl.core.findings), and a refusal is
an answer made of findings. Every error carries a stable id in words; `kafkactl explain ID` shows cause, consequence and
remedy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

from kafkactl.core.remedies import remedy_of

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding


class ErrorAnswer(TypedDict):
    """The one object on stderr if a command has no answer (`-o json`)."""

    kind: Literal["error"]
    schema_version: Literal[1]
    """Rises when a field goes or changes its meaning."""
    id: str
    """The word to match on; run `kafkactl explain ID` for details."""
    message: str
    cause: str | None
    next_step: str | None
    exit_code: int
    findings: list[Finding]
    """Reasons of the error if there are several: the message is the first."""


class KafkactlError(Exception):
    """Base of everything the library raises on purpose. The class itself cannot be raised.

    `message` says what was found and what was expected, `cause` (optional) the underlying reason, `next_step`
    (optional) what to try if that is more than the catalogue's remedy of the id. None of them may hold a secret.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        id: str,  # the word scripts match on; see `kafkactl explain`
        cause: str | None = None,
        next_step: str | None = None,
    ) -> None:
        if type(self) is KafkactlError:
            raise TypeError("KafkactlError is a family, not an error: raise one of its members")
        super().__init__(message)
        self.message = message
        self.id = id
        self.cause = cause
        self.next_step = next_step

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts to pickle: an error of a task is raised by the process that waits for it."""
        return _restored, (type(self), self.args, self.__dict__)

    @property
    def advice(self) -> str:
        """Return the action to take: the given next step, or the remedy of the id (schemas/explain)."""
        return self.next_step or remedy_of(self.id)

    def to_dict(self) -> dict[str, Any]:
        """Return the error object of `-o json`."""
        found: ErrorAnswer = {
            "kind": "error",
            "schema_version": 1,
            "id": self.id,
            "message": self.message,
            "cause": self.cause,
            "next_step": self.advice,
            "exit_code": self.exit_code,
            "findings": [],
        }
        return {**found}


def _restored(kind: type[KafkactlError], arguments: tuple[Any, ...], values: dict[str, Any]) -> KafkactlError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(values)
    return error


class InputError(KafkactlError):
    """The operator's words or an input file cannot be understood."""

    exit_code = 2


class RefusedError(KafkactlError):
    """Refusal of a valid request for which there is no plan with a finding (a lock that is held, for example)."""

    exit_code = 3


class FailedError(KafkactlError):
    """Error of an operation that was tried: no space, no permission, an I/O error."""

    exit_code = 1


class UnreachableError(KafkactlError):
    """Missing answer, or refused access."""

    exit_code = 4


class UnknownOutcomeError(KafkactlError):
    """Unknown outcome of a request, or a timeout."""

    exit_code = 6


def limit_behind(error: Exception) -> UnknownOutcomeError | None:
    """Return the `timed-out` of --timeout that `error` was raised in the handling of, if any.

    The limit is raised wherever the command is, and code that it meets there may fail while it undoes its work:
    threading.Thread.start raises KeyError if the thread runs already.
    """
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, UnknownOutcomeError) and found.id == "timed-out":
            return found
        found = found.__context__
    return None


class SchemaError(KafkactlError):
    """A definition of ours is wrong: a bug of kafkactl, not of the operator."""


class DecodeError(KafkactlError):
    """Bytes do not match their definition.

    `offset` is the position in bytes within `file` (or within the given buffer if there is no file), `path` the
    field path such as `VotersRecord.Voters[2].Endpoints`.
    """

    def __init__(
        self,
        message: str,
        *,
        id: str,
        offset: int,
        path: str = "",
        file: str | None = None,
        next_step: str | None = None,
    ) -> None:
        self.reason = message
        self.offset = offset
        self.path = path
        self.file = file
        where = [part for part in (file, f"byte {offset}", path) if part]
        super().__init__(f"{', '.join(where)}: {message}", id=id, next_step=next_step)

    def within(self, file: str) -> DecodeError:
        """Return the error with the name of the file in which it was found."""
        return DecodeError(
            self.reason, id=self.id, offset=self.offset, path=self.path, file=file, next_step=self.next_step
        )


class InputDecodeError(DecodeError):
    """Decode error of an input file that the operator provides, a .properties file for example."""

    exit_code = 2


class EncodeError(KafkactlError):
    """A value does not fit its definition; `path` is the field path."""

    def __init__(self, message: str, *, id: str, path: str = "") -> None:
        self.path = path
        super().__init__(f"{path}: {message}" if path else message, id=id)
