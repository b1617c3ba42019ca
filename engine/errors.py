"""Every error that evalbench raises on purpose, in one hierarchy.

    EvalbenchError                what happened · why · what to do next
    ├── UsageError                the user asked for something impossible (exit 1)
    │   ├── SpecError             a field of the run specification
    │   ├── DataError             a data file or data set; names file and line
    │   ├── NotApproved           a run would cost money and was not approved
    │   ├── RunChanged            resume would mix two different things
    │   └── SystemLimit           this machine cannot do it now: full disk, open files (exit 5)
    ├── RunBusy                   another engine drives this run (exit 1)
    ├── RunNotFound               no such run (exit 1)
    ├── RunUnfinished             a run has not finished (yet)
    ├── KeyUnavailable            a provider's key is needed and not available (exit 5)
    ├── JournalError              the run's file cannot be used
    │   ├── JournalFull           no space left; nothing was corrupted
    │   └── JournalTooNew         written by a newer evalbench
    └── ProviderError             a model could not answer; see the classes below

``ProviderError`` classes tell the dispatcher how to handle the error, so that providers do not
decide on retries and dispatchers do not parse provider messages:

    ProviderError
    ├── TransientError            worth retrying the same call
    │   ├── RateLimited           429; may carry ``retry_after``
    │   ├── Overloaded            the provider is full (503, 529, capacity)
    │   ├── ServerFault           5xx, malformed body
    │   ├── ConnectionFailed      never reached the server, or cut off
    │   └── DeadlineExceeded      no complete answer within the attempt's time
    ├── CallRejected              this call can never succeed; its sample fails
    │   └── ContextTooLong        prompt and answer do not fit the model
    ├── RunFatal                  no call of this run can succeed
    │   ├── BadKey · NoCredit · NoSuchModel · AccessDenied · QuotaExhausted
    │   ├── ResultsNotFetched     batches have ended, but their results cannot be fetched
    │   └── WorkerFailed          the local model worker cannot be kept running
    └── OutOfMemory               a local batch did not fit; a smaller one may
"""

from __future__ import annotations

import errno
import os
import resource
import time
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

_DEEPEST = 20
"""Maximum length of a chain of exceptions that is examined."""


class EvalbenchError(Exception):
    """Base class. ``str()`` is the text for the user: what happened, then why, then the hint.

    Args:
        what: one sentence, without a final period, saying what went wrong.
        why: the cause, if known and not obvious.
        hint: what to do next.
    """

    exit_code = 1

    def __init__(self, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint

    @property
    def summary(self) -> str:
        """What happened and why, in one line and without the hint."""
        return f"{self.what}: {self.why}" if self.why else self.what

    def __str__(self) -> str:
        text = self.what
        if self.why:
            text += f"\n  why: {self.why}"
        if self.hint:
            text += f"\n  try: {self.hint}"
        return text


class UsageError(EvalbenchError):
    """Something in the user's request cannot be done as written."""


class SpecError(UsageError):
    """A field of the run specification is wrong. ``field`` is its name as the user writes it."""

    def __init__(self, field: str, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.field = field


class DataError(UsageError):
    """A data file is missing or malformed. ``path`` and 1-based ``line`` say where, if known."""

    def __init__(
        self, what: str, *, path: str = "", line: int | None = None, why: str = "", hint: str = ""
    ) -> None:
        where = f"{path}, row {line}: " if path and line else f"{path}: " if path else ""
        super().__init__(where + what, why=why, hint=hint)
        self.path = path
        self.line = line


class RunChanged(UsageError):
    """Spec, benchmark, template or data have changed since the run was started."""


class NotApproved(UsageError):
    """A program asked for a run that costs money, without a budget or approval.

    ``low`` and ``high`` are the possible cost in US dollars; None if unknown.
    """

    def __init__(
        self,
        what: str,
        *,
        why: str = "",
        hint: str = "",
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        super().__init__(what, why=why, hint=hint)
        self.low = low
        self.high = high


class SystemLimit(UsageError):
    """This machine cannot do it right now; see :func:`system_limit`."""

    exit_code = 5


class SandboxMissing(EvalbenchError):
    """A model's code would be run, and no sandbox is available."""

    exit_code = 5


class RunBusy(EvalbenchError):
    """Another engine holds this run's lock."""


class RunNotFound(EvalbenchError):
    """No run folder matches the given id."""


class RunUnfinished(EvalbenchError):
    """A run is not complete: it is running, was stopped, or is paused. ``state`` says which."""

    def __init__(self, what: str, *, why: str = "", hint: str = "", state: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.state = state


class KeyUnavailable(EvalbenchError):
    """A provider's key was not found. ``state`` is the keychain's answer, if it was queried."""

    exit_code = 5

    def __init__(self, what: str, *, why: str = "", hint: str = "", state: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.state = state


class JournalError(EvalbenchError):
    """The run's journal cannot be read or written."""

    exit_code = 5


class JournalFull(JournalError):
    """The disk (or quota) is full. Acknowledged data is safe; free space and resume."""


class JournalTooNew(JournalError):
    """The journal's schema is newer than this evalbench supports."""

    exit_code = 1


class ProviderError(EvalbenchError):
    """A model did not answer.

    Args:
        status: HTTP status, if there was one.
        retry_after: seconds that the provider asked to wait, if it did.
        possibly_billed: whether the provider may have done (and charged for) the work.
        body: the raw error body, decoded, for the journal; never contains a key.
        request_id: the provider's id, for support requests.

    A provider may set ``limits`` (:class:`evalbench.engine.calls.RateLimits`) and ``param``, the
    name of the requested parameter that was refused.
    """

    exit_code = 5
    limits: object = None
    param: str = ""

    def __init__(
        self,
        what: str,
        *,
        why: str = "",
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        possibly_billed: bool = False,
        body: str = "",
        request_id: str = "",
    ) -> None:
        super().__init__(what, why=why, hint=hint)
        self.status = status
        self.retry_after = retry_after
        self.possibly_billed = possibly_billed
        self.body = body
        self.request_id = request_id


class TransientError(ProviderError):
    """The same call may succeed later."""


class RateLimited(TransientError):
    """Too many requests or tokens for this key right now."""


class Overloaded(TransientError):
    """The provider has no capacity right now."""


class ServerFault(TransientError):
    """The provider failed (5xx) or sent an invalid response body."""


class ConnectionFailed(TransientError):
    """The connection could not be established or was cut off."""


class DeadlineExceeded(TransientError):
    """No complete answer arrived within the attempt's deadline."""


class CallRejected(ProviderError):
    """The provider refuses this particular call (bad request); asking again changes nothing."""


class ContextTooLong(CallRejected):
    """The prompt plus room for the answer exceeds the model's context."""


class RunFatal(ProviderError):
    """No call of this run can succeed until the user acts."""


class BadKey(RunFatal):
    """The provider does not accept the key."""


class NoCredit(RunFatal):
    """The account has no credit left."""


class NoSuchModel(RunFatal):
    """The model does not exist, has been retired, or is not offered here."""


class AccessDenied(RunFatal):
    """The key is valid but may not use this model or region."""


class QuotaExhausted(RunFatal):
    """A quota that does not refill during the run (per day, per month) is used up."""


class ResultsNotFetched(RunFatal):
    """Batches have ended, but their results cannot be fetched; asking again may be billed twice."""


class WorkerFailed(RunFatal):
    """The local worker cannot load the model or keeps dying."""


class OutOfMemory(ProviderError):
    """A batch did not fit in the device's memory; the dispatcher retries with a smaller one."""


NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_LIMITS = {
    **dict.fromkeys(
        NO_SPACE,
        ("no space is left on the disk", "the disk or your quota is full", "free some space"),
    ),
    errno.EMFILE: (
        "too many files are open",
        "this process may have {files} files and connections open at once (ulimit -n)",
        "raise the limit, for example with ulimit -n 4096, or lower --concurrency",
    ),
    errno.ENFILE: (
        "too many files are open on this machine",
        "all programs together have reached its limit",
        "end other programs, or raise the limit (fs.file-max)",
    ),
    errno.EROFS: (
        "the disk is read only",
        "",
        "choose another place with --run-dir or EVALBENCH_HOME",
    ),
    errno.EIO: ("the disk failed", "", "look into the system's log (dmesg), or use another disk"),
    errno.ENOMEM: ("this machine is out of memory", "", "end other programs, then try again"),
}
"""By errno: what is wrong, details, and a hint."""


def system_limit(error: BaseException, what: str = "") -> SystemLimit | None:
    """Recognise a limit of this machine in an exception: a full disk, too many open files etc.

    The only place where errno values are turned into text.

    Args:
        error: any exception; its causes are checked too.
        what: what could not be done (default: the limit itself).

    Returns:
        None if the exception is about something else.
    """
    link: Any = error
    for _ in range(_DEEPEST):
        if link is None:
            return None
        # Other modules' errors, such as those of ssl, have other numbers.
        own = isinstance(link, OSError) and type(link).__module__ == "builtins"
        if own and (found := _limit_of(link, what)):
            return found
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return None


def _limit_of(error: OSError, what: str) -> SystemLimit | None:
    if str(error.strerror).startswith("No usable temporary directory"):
        try:
            # Python reports this for any failure to create a temporary file.
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as failure:
            return _limit_of(failure, what)
        nowhere = "no folder for temporary files can be written to"
        hint = "set TMPDIR to a folder that can be written to, on a disk with room"
        return SystemLimit(what or nowhere, why=str(error.strerror), hint=hint)
    if error.errno not in _LIMITS:
        return None
    limit, more, hint = _LIMITS[error.errno]
    place = f": {error.filename}" if isinstance(error.filename, str) else ""
    if more:
        place += ": " + more.format(files=resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return SystemLimit(what or limit, why=os.strerror(error.errno) + place, hint=hint)


def error_to_json(error: EvalbenchError) -> dict[str, str]:
    """An error of this hierarchy as JSON, for sending through a pipe."""
    extra = {name: getattr(error, name) for name in ("field",) if hasattr(error, name)}
    return {
        "class": type(error).__name__,
        "what": error.what,
        "why": error.why,
        "hint": error.hint,
        **extra,
    }


def error_from_json(body: Mapping[str, str]) -> EvalbenchError:
    """Inverse of :func:`error_to_json`."""
    kind = globals().get(body["class"])
    if not (isinstance(kind, type) and issubclass(kind, EvalbenchError)):
        kind = EvalbenchError
    text = {"why": body["why"], "hint": body["hint"]}
    if issubclass(kind, SpecError):
        return SpecError(body.get("field", ""), body["what"], **text)
    error: EvalbenchError = kind(body["what"], **text)
    return error


def counted(number: float, what: str) -> str:
    """``1 answer``, ``14,042 answers``, ``3 replies``; sums that are not whole keep two digits."""
    shown = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.2f}"
    return f"{shown} {what if number == 1 else plural(what)}"


def plural(what: str) -> str:
    """``answers``, ``replies``, ``batches``, ``epochs``: of the last word, by the regular rules."""
    if what.endswith("y") and what[-2:-1] not in "aeiou":
        return f"{what[:-1]}ies"
    hisses = what.endswith(("ch", "sh", "s", "x")) and not what.endswith("epoch")
    return f"{what}es" if hisses else f"{what}s"


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint such as ``did you mean mmlu?`` with the closest names, or all of a short list."""
    names = sorted(known)
    close = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    if 0 < len(names) <= 12:
        return "known: " + ", ".join(names)
    return ""


def resume_after(seconds: float) -> str:
    """The hint for a wait that is too long for a run."""
    return f"resume the run after {local_time(seconds)}; what was answered is kept"


def local_time(seconds: float) -> str:
    """The local time in this many seconds, with the date if it is not today."""
    now = time.time()
    then = time.localtime(now + seconds)
    today = time.localtime(now)[:3] == then[:3]
    return time.strftime("%H:%M" if today else "%Y-%m-%d %H:%M", then)
