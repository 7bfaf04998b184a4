"""The one kind of error a person is meant to read, without secrets; and errors of others in one line.

Changed names, old to new, are here as well. Whoever renames a key of params.yaml, a command, or
another name that people write (a column of a file of decisions, the code of a variation) adds a line. Then

- a params.yaml with the old key is refused in one line that gives the new one (vouch/params/check.py),
- `vouch use` and `vouch plan` read profiles with old keys and write new ones (vouch/cli/use.py),
- an old command is answered with the new one (vouch/cli/main.py),
- every message about an unknown name says what it is called now (`did_you_mean`).
"""

import errno
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

KEYS: dict[str, str] = {
    "embed.pictures": "embed.images",
    "datasets.*.settings.picture": "datasets.*.settings.image",
    "datasets.*.settings.pictures": "datasets.*.settings.images",
}
"""Keys of params.yaml by their path, such as "embed.pictures": "embed.images". `*` stands for any one name:
"datasets.*.style": "datasets.*.template"."""

COMMANDS: dict[str, str] = {}
"""Commands, such as "sync": "store sync"."""

NAMES: dict[str, str] = {
    "mark": "label",
    "marks": "labels",
    "picture": "image",
    "pictures": "images",
    "--pictures": "--images",
    "right_without_picture": "correct_without_image",
}
"""All other names that people write: columns, variations, scores, options of commands."""


_LISTED = 20  # names that are valid
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
    """The message about a file's problems: one in its line, several as a list."""
    if len(problems) == 1:
        return UserError(f"{where}: {problems[0]}")
    more = [f"and {len(problems) - MOST} more"] if len(problems) > MOST else []
    return UserError(f"{where}: {len(problems)} problems", [*problems[:MOST], *more])


def did_you_mean(name: str, known: list[str]) -> str:
    """`did you mean a? valid: a, b, c` for an unknown name; of many the first. An empty list says `none`."""
    listed = sorted(known)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return f"{meant(name, known)}valid: {', '.join(listed[:_LISTED]) or 'none'}{more}"


def check_name(kind: str, name: str, known: Collection[str], where: object = "params.yaml") -> None:
    """Raises UserError for an unknown name, with the name that may be meant."""
    if name not in known:
        raise UserError(f"{where}: no {kind} {name[:80]}; {did_you_mean(name, list(known))}")


def meant(name: str, known: Iterable[str]) -> str:
    """`it is now a; ` for a name that was changed, `did you mean a? ` for one that is close, else nothing."""
    import difflib

    known = list(known)
    if NAMES.get(name) in known:
        return f"it is now {NAMES[name]}; "
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}? " if close else ""


def without_threads(error: BaseException) -> bool:
    """Whether an error comes from a limit on threads and processes, whatever it says about files."""
    return any(said in str(error) for said in _NO_THREAD)


def refused_by_system(error: OSError) -> str:
    """What the system said, with the file if it is known; for a full disk, what to do about it."""
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


# What libraries below torch say in a plain RuntimeError.
_ALLOCATION_FAILED = (
    "DefaultCPUAllocator",
    "can't allocate memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out."""
    torch: Any = sys.modules.get("torch")  # without it no error is torch's, and no stage loads it to ask
    if isinstance(error, MemoryError) or (torch and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _ALLOCATION_FAILED)


def renamed_keys(values: Any, table: Mapping[str, str] | None = None) -> Iterator[tuple[str, str]]:
    """The old keys in the content of a params file, each with the new one. table: KEYS by default."""
    for old, new in (KEYS if table is None else table).items():
        for path in _paths(values, old.split("."), ()):
            names = iter(name for name, part in zip(path, old.split("."), strict=True) if part == "*")
            yield ".".join(path), ".".join(next(names) if part == "*" else part for part in new.split("."))


def _paths(values: Any, pattern: list[str], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of the keys that fit a pattern."""
    if not pattern:
        yield path
    elif isinstance(values, dict):
        for name in list(values) if pattern[0] == "*" else [pattern[0]]:
            if name in values:
                yield from _paths(values[name], pattern[1:], (*path, str(name)))


def rename_key(document: Any, old: str, new: str) -> bool:
    """Gives a value its new key, in place. If the new key is there already, removes the old one: False.

    document: nested dicts, or what ruamel.yaml read, whose comments and order of keys stay.
    """
    *parents, last = old.split(".")
    *new_parents, new_last = new.split(".")
    level: Any = _level(document, parents)
    position, value = list(level).index(last), level.pop(last)
    target: Any = _level(document, new_parents)
    if not isinstance(target, dict) or new_last in target:
        return False
    comments: Any = getattr(level, "ca", None)  # ruamel.yaml keeps them by key
    if target is level and comments is not None:
        comment = comments.items.pop(last, None)
        mapping: Any = level  # ruamel.yaml's, which knows positions
        mapping.insert(position, new_last, value)
        if comment is not None:
            comments.items[new_last] = comment
    else:
        target[new_last] = value
    return True


def _level(document: Any, path: list[str]) -> Any:
    """The value at a path; a missing level becomes an empty mapping."""
    level = document
    for name in path:
        level = level.setdefault(name, type(document)()) if isinstance(level, dict) else None
    return level
