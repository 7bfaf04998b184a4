"""The one kind of error a person is meant to read, without secrets; and errors of others in one line."""

import errno
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from vouch.pipeline.renamed import NAMES as RENAMED

NAMES = 20  # of those that are valid that are listed
MOST = 20  # problems of a file that are listed
LONGEST = 2000  # characters of an error: names of others may be as long as their files
_END = 400  # of them, for what to do about it
_NO_THREAD = (  # as Python, Arrow and Rust say it: errors of many kinds, and of data that are whole
    "can't start new thread",
    "Failed to launch worker thread",
    "thread pool has not been initialized",
)
NO_THREAD = (
    "no further thread may be started; end other programs, or allow more (`ulimit -u`, a container's pids)"
)
SHORTEST = 8  # characters; a shorter value (EMPTY, none) is a placeholder, and may be a word
_NAME = re.compile(  # also in one word with what it is of (PGPASSWORD); PWD alone is the folder
    r"(?:^|_)(?:KEY|PASS|SSHPASS|[A-Z0-9]*(?:APIKEY|TOKEN|SECRET|PASSWORD|PASSWD))(?:_|$)|\w_(?:PWD|PAT)$",
    re.IGNORECASE,
)
_USER = re.compile(r"(?<=://)[^\s/'\"@]*(?=@)")
_QUERY = re.compile(
    r"(?<=[?&])([\w-]*(?:key|token|secret|password|signature|credential|sig)=)[^\s&'\"]+", re.I
)
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


class UserError(Exception):
    """One line that says what is wrong, where (file, row, key) and what to do about it.

    Stages and the command line print it as it stands, without a traceback, and exit with 1. Names and
    values of others may be quoted in it: control characters and secrets do not reach the terminal, and of a
    very long line the middle is left out. problems: where a file has several, each on a line below.
    """

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        below = [f"  - {_line(problem)}" for problem in problems]
        super().__init__("\n".join([_line(message), *below]))


def _line(message: str) -> str:
    line = hidden(" ".join(message.split()))
    if len(line) > LONGEST:
        line = f"{line[: LONGEST - _END - 5]} ... {line[-_END:]}"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


def refusal(where: str, problems: Sequence[str]) -> UserError:
    """What is told of a file's problems: one in its line, several as a list."""
    if len(problems) == 1:
        return UserError(f"{where}: {problems[0]}")
    more = [f"and {len(problems) - MOST} more"] if len(problems) > MOST else []
    return UserError(f"{where}: {len(problems)} problems", [*problems[:MOST], *more])


def did_you_mean(name: str, known: list[str]) -> str:
    """`did you mean a? valid: a, b, c` for an unknown name; of many the first. An empty list says `none`."""
    listed = sorted(known)
    more = f" and {len(listed) - NAMES} more" if len(listed) > NAMES else ""
    return f"{meant(name, known)}valid: {', '.join(listed[:NAMES]) or 'none'}{more}"


def check_name(kind: str, name: str, known: Collection[str], where: object = "params.yaml") -> None:
    """Raises UserError for an unknown name, with the name that may be meant."""
    if name not in known:
        raise UserError(f"{where}: no {kind} {name[:80]}; {did_you_mean(name, list(known))}")


def meant(name: str, known: Iterable[str]) -> str:
    """`it is now a; ` for a name that was changed, `did you mean a? ` for one that is close, else nothing."""
    import difflib

    known = list(known)
    if RENAMED.get(name) in known:
        return f"it is now {RENAMED[name]}; "
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}? " if close else ""


def without_threads(error: BaseException) -> bool:
    """Whether an error comes of a limit on threads and processes, whatever it says of files."""
    return any(said in str(error) for said in _NO_THREAD)


def refused_by_system(error: OSError) -> str:
    """What the system said, with the file where it is known; of a full disk, what to do about it."""
    name = error.filename2 or error.filename  # of a rename the first is a temporary name of ours
    where = f"{name}: " if name else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{where}no space left on the disk, or of your quota; make room, then run it again"
    return f"{where}{error.strerror or error}"


def raised_for_us(error: BaseException) -> bool:
    """Whether an exception is an error, not a person or a system that ends the process.

    Rust code that panics, as tokenizers do over a regular expression without end, is an error of a model's
    file, though Python counts it among the others.
    """
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def reason(error: BaseException) -> str:
    """An error in one line, without addresses in memory: they differ from run to run."""
    return _ADDRESS.sub("", " ".join(str(error).split()))[:200]


def hidden(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """A text without the values of variables that are named as secrets, and without those of addresses.

    `https://user:password@host/?token=x` becomes `https://[hidden]@host/?token=[hidden]`.
    """
    for name, value in environment.items():
        if len(value) >= SHORTEST and value in text and _NAME.search(name):
            text = text.replace(value, f"[{name}]")
    return _QUERY.sub(r"\1[hidden]", _USER.sub("[hidden]", text))
