"""A driver without a model: what it does with a question is the question's first word."""

import json
import math
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import vouch_driver
from vouch_driver import Again, Question, Refused


class Model(vouch_driver.Model):
    def __init__(self, start):
        super().__init__(start)
        self.batch = start.settings.get("batch", 1)
        if start.settings.get("stubborn"):  # ends neither by TERM nor with its input
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            vouch_driver.os = SimpleNamespace(**{**vars(os), "getpgrp": lambda: -1, "_exit": lambda _: None})
        word, _, rest = start.settings.get("start", "").partition(" ")
        if word:
            getattr(self, word)(rest)

    def answers(self, questions):
        """Out of order."""
        return super().answers(list(reversed(questions)))

    def letters(self, question):
        word, _, rest = question.text.partition(" ")
        getattr(self, word, lambda _: None)(rest or question)
        return {
            "logits": [float(len(question.text) + n) for n in range(len(question.labels))],
            "letter_mass": {0.9} if word == "mistypes" else 0.9,
            "entropy": 0.5,
        }

    def text(self, question: Question):
        shown = [Path(path).read_bytes()[:4].decode("latin1") for path in question.images]
        seen = json.dumps([question.system, question.turns, question.response, question.stop, shown])
        return {
            "text": seen,
            "logprobs": [-0.5] * question.max_tokens,
            "entropies": [0.25] * question.max_tokens,
            "eos": 0,
        }

    def says(self, lines):
        """Lines of its own; then nothing more."""
        vouch_driver._speaker._out.write(lines + "\n")
        vouch_driver._speaker._out.flush()
        time.sleep(60)

    def floods(self, _):
        self.says('{"id": 1, "text": "' + "x" * (9 << 20) + '"}')

    def stops_in_a_line(self, _):
        os.write(vouch_driver._speaker._out.fileno(), b'{"id": 1, "logi')
        os._exit(3)

    def closes(self, _):
        os.close(vouch_driver._speaker._out.fileno())
        time.sleep(60)

    def prints(self, _):
        for stream in (1, 2):
            os.write(stream, b'{"id": 1, "refused": "no"}\n' * 5000)
        print(input.__name__, Path("/dev/stdin").exists())

    def fills(self, _):
        os.write(1, b"the first words\n")
        for _ in range(64):
            os.write(1, b"more " * 10_000)
        os.write(1, b"\nthe last words\n")
        os._exit(3)

    def beats(self, count):
        for _ in range(int(count)):
            time.sleep(0.4)
            vouch_driver._speaker._last = -math.inf
            vouch_driver.beat()

    def touches(self, path):
        Path(path).touch()

    def refuses(self, rest):
        raise Refused("too\nlong")

    def refuses_wordlessly(self, _):
        raise Refused

    def again(self, rest):
        raise Again("no memory")

    def raises(self, rest):
        raise ValueError("a bug")

    def dies(self, _):
        print("the last words")
        os._exit(3)

    def crashes(self, _):
        os.kill(os.getpid(), signal.SIGSEGV)

    def dies_once(self, path):
        if not Path(path).exists():
            Path(path).touch()
            os._exit(3)

    def hangs(self, _):
        time.sleep(600)

    def leaks(self, _):
        kept = []
        while True:
            kept.append(bytearray(os.urandom(1 << 20)) * 32)
            time.sleep(0.01)

    def forks(self, path):
        """Leaves a process in its group, and one in a group and a session of its own, whose parent is gone."""
        for alone in (False, True):
            if os.fork() == 0:
                if alone:
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                with open(path, "a") as file:
                    file.write(f"{os.getpid()}\n")
                time.sleep(600)
        while not Path(path).exists() or len(Path(path).read_text().split()) < 2:
            time.sleep(0.01)

    def forks_and_hangs(self, path):
        self.forks(path)
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(600)


assert not {"SECRET_KEY", "VOUCH_PROGRAM_START"} & set(os.environ)
assert os.environ["HF_HUB_OFFLINE"] == "1" and os.environ["HOME"] == os.environ["TMPDIR"] == os.getcwd()
