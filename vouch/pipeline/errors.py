"""The one kind of error a person is meant to read."""

from vouch.pipeline.secrets import hidden

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


class UserError(Exception):
    """One line that says what is wrong, where (file, row, key) and what to do about it.

    Stages and the command line print it as it stands, without a traceback, and exit with 1. Names and
    values of others may be quoted in it: control characters and secrets do not reach the terminal, and of a
    very long line the middle is left out.
    """

    def __init__(self, message: str) -> None:
        line = hidden(" ".join(message.split()))
        if len(line) > LONGEST:
            line = f"{line[: LONGEST - _END - 5]} ... {line[-_END:]}"
        super().__init__(
            "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
        )


def did_you_mean(name: str, known: list[str]) -> str:
    """`did you mean a? valid: a, b, c` for an unknown name. An empty list says `none`."""
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{hint}valid: {', '.join(sorted(known)) or 'none'}"


def without_threads(error: BaseException) -> bool:
    """Whether an error comes of a limit on threads and processes, whatever it says of files."""
    return any(said in str(error) for said in _NO_THREAD)
