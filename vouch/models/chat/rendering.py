"""Chat templates rendered within bounds, by a process of its own: vouch/models/chat/template_worker.py.

The process knows no secrets: of the environment it gets what Python needs to start.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from vouch.models.chat import template_worker

SECONDS = 10.0  # of processor time for one rendering, which takes less than a hundredth
_KNOWN = (
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
    """A template does not come to an end: no next question can be asked either."""


class _Worker:
    """The process. One rendering at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self._ready = False

    def start(self) -> "subprocess.Popen[str]":
        """Begins the process where there is none."""
        if self._process is None:
            environment = {name: os.environ[name] for name in _KNOWN if name in os.environ}
            self._process = subprocess.Popen(
                [sys.executable, "-P", template_worker.__file__],
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
                    f"the process that renders chat templates does not start; {template_worker.__file__} run "
                    "by Python says why"
                )
            if not line.endswith("\n"):
                self.close()
                raise Endless(
                    f"the model's chat template does not come to an end within {SECONDS:g} s; name another "
                    "one as `template` in models.lock"
                )
            found: dict[str, str] = json.loads(line)
            return found

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
    said = _worker.ask(
        {
            "template": template,
            "messages": messages,
            "variables": dict(variables),
            "answer": answer,
            "seconds": SECONDS,
        }
    )
    if "text" in said:
        return said["text"]
    if said["error"] == "MemoryError":
        raise MemoryError(said["says"] or "its chat template takes too much memory")
    raise Failed(said["says"])
