"""Chat templates and tokenizers of a model folder, run by processes with limits.

A chat template runs in the sandbox that transformers gives it, which keeps it from files and from Python, but
not from endless loops or endless texts. The Rust library under a tokenizer ends its process if memory runs
out, and a regular expression or a list of replacements may take any amount of time. So separate processes
render templates and try a tokenizer.json on one text. The system ends them after SECONDS of processor time,
and they get MEMORY bytes.

They run this file by its path, so it imports nothing but the standard library at its top. The renderer first
says that it is ready; then a line of JSON comes in (template, messages, answer, variables, seconds) and one
goes out: text, or error and its message. The trial of a tokenizer prints a line of JSON. Neither knows
secrets: from the environment they get only what Python needs to start.
"""

import atexit
import json
import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

SECONDS = 10.0  # a rendering takes less than a hundredth of one, the largest tokenizers two
MEMORY = 1 << 30  # bytes: tokenizers take a quarter; a renderer's own, at its beginning, are not counted
LONGEST = 8 << 20  # characters of a rendered text
_PAGES = "/proc/self/statm"
_ENVIRONMENT = (
    *("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "HOME", "HF_HOME"),
    *("LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT"),
)


class Failed(ValueError):
    """A template raised an error."""


class Endless(OSError):
    """A template does not end, so no other question can be asked either."""


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}


class _Renderer:
    """The process that renders. One rendering at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self._ready = False

    def start(self) -> "subprocess.Popen[str]":
        """Starts the process if there is none."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="ascii",
                env={**_environment(), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
            )
        return self._process

    def ask(self, request: Mapping[str, Any]) -> dict[str, str]:
        """The process's answer. Raises Endless if it ends instead, OSError if it does not start."""
        with self._lock:
            process = self.start()
            assert process.stdin is not None and process.stdout is not None
            try:
                self._ready = self._ready or process.stdout.readline() == "ready\n"
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except BrokenPipeError:
                line = ""
            if not self._ready:
                self.close()
                raise OSError(
                    f"the process that renders chat templates does not start; {__file__} run "
                    "by Python says why"
                )
            if not line.endswith("\n"):
                self.close()
                raise Endless(
                    f"the model's chat template does not come to an end within {SECONDS:g} s; name another "
                    "one as `template` in models.lock"
                )
            reply: dict[str, str] = json.loads(line)
            return reply

    def close(self) -> None:
        """Ends the process."""
        process, self._process, self._ready = self._process, None, False
        if process is not None:
            process.kill()
            process.communicate()


_renderer = _Renderer()
atexit.register(_renderer.close)


def start_renderer() -> None:
    """Starts the process, so that it is ready for the first question."""
    _renderer.start()


def render(
    template: str, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, str], answer: bool
) -> str:
    """Messages up to where the model answers, or with `answer` those of a finished conversation.

    variables: special tokens and others that the template may print. Raises Failed with what the template
    raised, MemoryError, and Endless.
    """
    given = {"template": template, "messages": messages, "variables": dict(variables), "answer": answer}
    reply = _renderer.ask({**given, "seconds": SECONDS})
    if "text" in reply:
        return reply["text"]
    if reply["error"] == "MemoryError":
        raise MemoryError(reply["says"] or "its chat template takes too much memory")
    raise Failed(reply["says"])


GROWTH = 50  # times as many characters or tokens as a text has characters; UTF-8 has four bytes at most
_WORDS = "The quick brown fox jumps over the lazy dog; VEXING QUIZ (é, 数, 🙂)?\n"
_TRIED = "".join(map(chr, range(32, 127))) + _WORDS * 20
LARGEST_ID = 1 << 24  # of a token; vocabularies have some hundred thousand


def check_tokenizer(folder: Path) -> None:
    """Raises UserError if a tokenizer would let a text grow without bound, or would end this process."""
    from vouch.pipeline.errors import UserError
    from vouch.tables.answered import SECOND

    for path in (folder / "tokenizer.json", folder / SECOND / "tokenizer.json"):
        problem = _problem(path) if path.is_file() else None
        if problem:
            raise UserError(f"{path}: {problem}; correct tokenizer.json")


def _problem(path: Path) -> str | None:
    """The problem of a tokenizer.json, None if a process that tries it finds none."""
    tried = subprocess.run(
        [sys.executable, "-P", __file__, str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**_environment(), "TOKENIZERS_PARALLELISM": "false"},
        check=False,
    )
    length = len(_TRIED)
    try:
        report = json.loads(tried.stdout)
    except ValueError:
        return f"needs more than {SECONDS:g} s or {MEMORY >> 30} GB for a text of {length:,} characters"
    if "panic" in report:
        return f"fails at a plain text ({report['panic']})"
    if report.get("growth", 0) > GROWTH:
        return f"replaces a character by {report['growth']:,}"
    for kind in ("characters", "tokens"):
        if report.get(kind, 0) > GROWTH * length:
            return f"makes {report[kind]:,} {kind} of a text of {length:,}"
    if report.get("largest", 0) >= LARGEST_ID:
        return f"has a token with the id {report['largest']:,}"
    return None


# All code below runs in the separate processes.


def _render_lines() -> None:
    """Renders until its input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", newline="\n")
    os.dup2(2, 1)  # keeps what libraries print out of the answers
    from transformers.utils.chat_template_utils import render_jinja_template

    if os.path.exists(_PAGES):  # Linux; other systems do not tell how much there is to begin with
        pages = int(Path(_PAGES).read_text("ascii").split()[0])
        _bound_memory(resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY)
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
        answers.write(json.dumps(_rendered(render_jinja_template, asked)) + "\n")
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        answers.flush()


def _rendered(render: Any, asked: dict[str, Any]) -> dict[str, str]:
    try:
        texts, _ = render(
            conversations=[asked["messages"]],
            chat_template=asked["template"],
            add_generation_prompt=not asked["answer"],
            **asked["variables"],
        )
        text = str(texts[0])
        if len(text) > LONGEST:
            return {"error": "MemoryError", "says": f"it writes {len(text):,} characters"}
    except BaseException as error:  # a template can raise whatever it likes
        return {"error": type(error).__name__, "says": str(error)[:1000]}
    return {"text": text}


def _try_tokenizer(path: str) -> dict[str, Any]:
    """How many tokens and characters a text becomes and the largest id, or why Rust panicked."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS) + 1))
    _bound_memory(resource.RLIMIT_DATA, MEMORY)
    from tokenizers import Tokenizer

    try:
        whole = json.loads(Path(path).read_text("utf-8"))
        growth = max(_growth(whole.get(part)) for part in ("normalizer", "decoder"))
        del whole
        if growth > GROWTH:
            return {"growth": growth}
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_padding()  # as transformers does, which has its own
        tokenizer.no_truncation()
        normalized = tokenizer.normalizer.normalize_str(_TRIED) if tokenizer.normalizer else _TRIED
        return {
            "characters": len(normalized),
            "tokens": len(tokenizer.encode(_TRIED).ids),
            "largest": max(tokenizer.get_vocab().values(), default=0),
        }
    except Exception:  # whoever loads it gets the same, and says so
        return {}
    except BaseException as error:  # a panic in Rust, which writes many lines
        return {"panic": str(error)[:200]}


def _growth(steps: Any) -> int:
    """How many characters the replacements of a normalizer or decoder make of one, in the worst case."""
    if isinstance(steps, list):
        return math.prod(map(_growth, steps))
    if not isinstance(steps, dict):
        return 1
    grows = len(steps.get("content", "")) if steps.get("type") == "Replace" else 1
    return max(1, grows) * _growth(list(steps.values()))


def _bound_memory(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(_try_tokenizer(sys.argv[1])))
    else:
        _render_lines()
