"""Renders chat templates for vouch/models/chat/rendering.py, in a process of its own that runs this file.

A template comes with a model. It runs in the sandbox that transformers gives it, which keeps it from files
and from Python, but not from loops without end or texts without limit. Here it has limits: so many seconds
of processor time for one rendering, after which the system ends the process, and MEMORY bytes.

First it says that it is ready. Then a line of JSON in: template, messages, answer, variables, seconds. One
out: text, or error and what it says. Standard library and transformers only: it is run by its path.
"""

import json
import os
import resource
import signal
import sys
from typing import Any

MEMORY = 1 << 30  # beyond what the process has when it begins
_PAGES = "/proc/self/statm"
LONGEST = 8 << 20  # characters of a rendered text


def main() -> None:
    """Answers until its input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", newline="\n")
    os.dup2(2, 1)  # whatever a library prints is no answer
    from transformers.utils.chat_template_utils import render_jinja_template

    _bound_memory()
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
        said = _answer(render_jinja_template, asked)
        answers.write(json.dumps(said) + "\n")
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
