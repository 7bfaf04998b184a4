"""The one kind of error that is meant for people, without secrets; and errors of libraries in one line.

Tables of changed names, old to new, are here as well. If you rename a key of params.yaml, a command, or
another name that people write (a column of a file of decisions, the code of a variation), add a line. Then

- a params.yaml with the old key is refused in one line that gives the new one (vouch/params/check.py),
- `vouch use` and `vouch plan` read profiles with old keys and write new ones (vouch/cli/use.py),
- an old command is answered with the new one (vouch/cli/main.py),
- every message about an unknown name gives the new one (`did_you_mean`),
- a variant that a template no longer has is answered with the key to write (vouch/prompts/template.py).
"""

import errno
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

KEYS: dict[str, str] = {
    "embed.pictures": "embed.images",
    "paper.absent": "paper.others",
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
    "--all": "--wide",
    "right_without_picture": "correct_without_image",
}
"""All other names that people write: columns, variations, scores, options of commands."""

VARIANTS: dict[str, str] = {
    "spoken": "write `outputs: [letters, likelihood, text]` into the dataset's entry instead",
}
"""Variants of prompt templates that a key replaces, each with what to do."""


_LISTED = 20  # valid names that a message lists
MOST = 20  # problems of a file that are listed
LONGEST = 2000  # characters of an error, which may quote names of any length
_END = 400  # of these characters, kept for the end, which says what to do
_NO_THREAD = (  # words of Python, Arrow and Rust, in errors of many kinds, some about intact data
    "can't start new thread",
    "Failed to launch worker thread",
    "thread pool has not been initialized",
)
NO_THREAD = (
    "no further thread may be started; end other programs, or allow more (`ulimit -u`, a container's pids)"
)
SHORTEST = 8  # characters; a shorter value (EMPTY, none) is a placeholder or an ordinary word
_SECRET = re.compile(  # also joined to another word (PGPASSWORD); PWD by itself is the folder
    r"(?:^|_)(?:KEYS?|PASS|SSHPASS|AUTH|CREDENTIALS?|CONNECTION_STRING"
    r"|[A-Z0-9]*(?:APIKEY|ACCESSKEY|PRIVATEKEY|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE))(?:_|$)"
    r"|\w_(?:PWD|PAT)$",
    re.IGNORECASE,
)
_REACHES = re.compile(r"^(?:UV|PIP)_|_PROXY$", re.IGNORECASE)  # variables that say where packages come from
_OF_INDEX = re.compile(r"^UV_INDEX_\w+_(?:USERNAME|PASSWORD)$")  # by which uv signs in to a package index
_USER = re.compile(r"(?<=://)[^\s/'\"@]*(?=@)")
_QUERY = re.compile(
    r"(?<=[?&])([\w-]*(?:key|token|secret|password|signature|credential|sig)=)[^\s&'\"]+", re.I
)
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


class UserError(Exception):
    """One line that says what is wrong, where (file, row, key) and what to do about it.

    Stages and the command line print it as it is, without a traceback, and exit with 1. It may quote names
    and values from outside: control characters and secrets do not reach the terminal, and the middle of a
    very long line is left out. problems: if a file has several, each on a line below.
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
    """The error about a file's problems: a single one in the same line, several as a list."""
    if len(problems) == 1:
        return UserError(f"{where}: {problems[0]}")
    more = [f"and {len(problems) - MOST} more"] if len(problems) > MOST else []
    return UserError(f"{where}: {len(problems)} problems", [*problems[:MOST], *more])


def did_you_mean(name: str, known: list[str]) -> str:
    """`did you mean a? valid: a, b, c` for an unknown name; a long list is cut, an empty one says `none`."""
    listed = sorted(known)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return f"{meant(name, known)}valid: {', '.join(listed[:_LISTED]) or 'none'}{more}"


def check_name(kind: str, name: str, known: Collection[str], where: object = "params.yaml") -> None:
    """Raises UserError for an unknown name, with the name that may be meant."""
    if name not in known:
        raise UserError(f"{where}: no {kind} {name[:80]}; {did_you_mean(name, list(known))}")


def meant(name: str, known: Iterable[str]) -> str:
    """`it is now a; ` for a name that was changed, `did you mean a? ` for a similar one, otherwise empty."""
    import difflib

    known = list(known)
    if NAMES.get(name) in known:
        return f"it is now {NAMES[name]}; "
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}? " if close else ""


def without_threads(error: BaseException) -> bool:
    """Whether an error comes from a limit on threads and processes, even if it blames a file."""
    return any(said in str(error) for said in _NO_THREAD)


def refused_by_system(error: OSError) -> str:
    """The system's message, with the file if it is known; for a full disk, also what to do about it."""
    name = error.filename2 or error.filename  # in a rename, the first is a temporary name of ours
    where = f"{name}: " if name else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{where}no space left on the disk, or of your quota; make room, then run it again"
    return f"{where}{error.strerror or error}"


def raised_for_us(error: BaseException) -> bool:
    """Whether an exception is an error, and not a person or the system ending the process.

    A panic in Rust code, as in tokenizers over a regular expression without end, is an error in a model's
    file, although its class is not an Exception.
    """
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def reason(error: BaseException) -> str:
    """An error in one line, without addresses in memory: they differ from run to run."""
    return _ADDRESS.sub("", " ".join(str(error).split()))[:200]


def holds_secret(name: str) -> bool:
    """Whether the name of a variable says key, token, secret, password or the like."""
    return _SECRET.search(name) is not None


def without_secrets(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for a program of others: no variable that holds a secret, or an address with a user.

    Addresses of package indexes and proxies stay as they are, and so does what uv signs in to an index with,
    because nothing could be installed without.
    """
    return {
        name: value
        for name, value in environment.items()
        if _OF_INDEX.match(name)
        or (not holds_secret(name) and (_REACHES.search(name) or not _USER.search(value)))
    }


def hidden(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """A text without secrets: values of variables whose names mark them as such, and those in addresses.

    `https://user:password@host/?token=x` becomes `https://[hidden]@host/?token=[hidden]`.
    """
    for name, value in environment.items():
        if len(value) >= SHORTEST and value in text and holds_secret(name):
            text = text.replace(value, f"[{name}]")
    return _QUERY.sub(r"\1[hidden]", _USER.sub("[hidden]", text))


# Messages of libraries below torch, which come as a plain RuntimeError.
_ALLOCATION_FAILED = (
    "DefaultCPUAllocator",
    "can't allocate memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out."""
    torch: Any = sys.modules.get("torch")  # not loaded just to ask: an error of torch means it is loaded
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
    """Renames a key, in place. If the new key exists already, removes the old one and returns False.

    document: nested dicts, or a document of ruamel.yaml, whose comments and order of keys stay.
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
