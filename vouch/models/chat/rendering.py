"""Chat templates rendered within bounds, by a process of its own.

A template comes with a model. It runs in the sandbox that transformers gives it, which keeps it from files
and from Python, but not from endless loops or endless texts. So a second process renders it, with limits:
SECONDS of processor time for one rendering, after which the system ends the process, and MEMORY bytes. The
process knows no secrets: of the environment it gets what Python needs to start.

`render` asks the process. The process runs `main` of this file by its path, so the file imports nothing but
the standard library at its top. It first says that it is ready; then a line of JSON comes in (template,
messages, answer, variables, seconds) and one goes out: text, or error and what it says.
"""

import atexit
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

SECONDS = 10.0  # of processor time for one rendering, which takes less than a hundredth
MEMORY = 1 << 30  # bytes beyond what the process has when it begins
LONGEST = 8 << 20  # characters of a rendered text
_PAGES = "/proc/self/statm"
_ENVIRONMENT = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "TMPDIR",
    "SYSTEMROOT",
    "HF_HOME",
)


class Failed(ValueError):
    """A template raised something."""


class Endless(OSError):
    """A template does not end, so no other question can be asked either."""


class _Worker:
    """The process. One rendering at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self._ready = False

    def start(self) -> "subprocess.Popen[str]":
        """Begins the process where there is none."""
        if self._process is None:
            environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="ascii",
                env={**environment, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
            )
        return self._process

    def ask(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Its answer. Raises Endless where the process ends instead, OSError where it does not start."""
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


_worker = _Worker()
atexit.register(_worker.close)


def start() -> None:
    """Begins the process, so that it is there when the first question is."""
    _worker.start()


def render(
    template: str, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, str], answer: bool
) -> str:
    """Messages up to where the model answers, or with `answer` those of a finished conversation.

    variables: special tokens and others that the template may print. Raises Failed with what the template
    raised, MemoryError, and Endless.
    """
    reply = _worker.ask(
        {
            "template": template,
            "messages": messages,
            "variables": dict(variables),
            "answer": answer,
            "seconds": SECONDS,
        }
    )
    if "text" in reply:
        return reply["text"]
    if reply["error"] == "MemoryError":
        raise MemoryError(reply["says"] or "its chat template takes too much memory")
    raise Failed(reply["says"])


def main() -> None:
    """Answers until its input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", newline="\n")
    os.dup2(2, 1)  # keeps what libraries print out of the answers
    from transformers.utils.chat_template_utils import render_jinja_template

    _bound_memory()
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
        reply = _answer(render_jinja_template, asked)
        answers.write(json.dumps(reply) + "\n")
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        answers.flush()


def _bound_memory() -> None:
    if os.path.exists(_PAGES):  # Linux; elsewhere nothing tells how much there is to begin with
        with open(_PAGES, encoding="ascii") as pages:
            most = int(pages.read().split()[0]) * resource.getpagesize() + MEMORY
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _answer(render: Any, asked: dict[str, Any]) -> dict[str, str]:
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


if __name__ == "__main__":
    main()
