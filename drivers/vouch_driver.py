"""What a driver needs to answer Vouch: docs/add-a-model.md, "A model with code of its own".

    Start, Question    what a driver is given
    Model              what it defines; `Refused` and `Again` are the two ways to give no answer
    TorchModel         the same for a model that continues a text: makes letters, likelihoods and texts
    main               the process: `python vouch_driver.py DRIVER.py FD`, as Vouch runs it

Requests come in on standard input and answers go out on the file descriptor FD, a line of JSON each. What a
model prints is no answer. When the input ends, this process ends at once with all that it started. Only the
standard library is imported, torch where it is used; Python 3.8 is enough.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from queue import Queue
from typing import Any, Iterable, Iterator, Sequence

OUTPUTS = ("letters", "likelihood", "text")
BEAT_SECONDS = 1.0  # least time between two heartbeats
_TAG = re.compile(r"<[^<>\s][^<>]*>$")
_PLACE = re.compile(r"<image \d+>")


class Refused(Exception):
    """The question has no answer from this model, now or later. Vouch remembers that."""


class Again(Exception):
    """The question has no answer at present (memory ran out); the next run asks again."""


@dataclass(frozen=True)
class Start:
    """What a model is opened with.

    folder: its weights. parts: name -> folder of further models that it is built of. code: folder of the
    authors' code, the first entry of sys.path. dtype: float32, bfloat16 or float16. device: auto, cpu, cuda
    or split. settings: those of `program` in models.lock.
    """

    folder: str
    parts: dict[str, str]
    code: str | None
    dtype: str
    device: str
    threads: int
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """One question. output: the kind of answer that is wanted, one of OUTPUTS.

    turns: earlier (question, answer) pairs. response: how the answer begins, or None. images: paths of PNG
    files. labels: option labels to read (letters). options: texts to score (likelihood). max_tokens, stop,
    temperature, seed: of a text; temperature 0 is greedy decoding. `<image 1>` in a text is the place of the
    first image; without such places all images come before the first text.
    """

    id: int
    output: str
    system: str | None
    turns: Sequence[tuple[str, str]]
    text: str
    response: str | None
    images: Sequence[str]
    labels: Sequence[str] = ()
    options: Sequence[str] = ()
    max_tokens: int = 0
    stop: str = ""
    temperature: float = 0.0
    seed: int = 0


PROBE = Question(0, "letters", None, (), "Which?\nA. one\nB. two", None, ("probe.png",), ("A", "B"))


class Model:
    """What a driver defines under the name `Model`: how a model is opened, and how it answers.

    batch: how many questions it may be sent before it answers one.
    """

    batch = 1
    device = "cpu"

    def __init__(self, start: Start) -> None:
        """Opens all but the weights: tokenizer and processor."""
        self.start = start

    def load(self) -> None:
        """Loads the weights, and sets `device`."""

    @property
    def outputs(self) -> list[str]:
        """The kinds of answers that it gives: those whose methods are defined."""
        return [name for name in OUTPUTS if getattr(type(self), name) is not getattr(Model, name)]

    def probe(self) -> dict[str, Any]:
        """The text that the model reads for PROBE, and the token ids of its labels; empty if unknown."""
        return {}

    def letters(self, question: Question) -> dict[str, Any]:
        """{"logits": one per label, "letter_mass", "entropy"}."""
        raise Refused("this model gives no letters")

    def likelihood(self, question: Question) -> dict[str, Any]:
        """{"nll": one per option in nats, "tokens": one per option}."""
        raise Refused("this model gives no likelihoods")

    def text(self, question: Question) -> dict[str, Any]:
        """{"text", "logprobs", "entropies", "eos"}; the last three may be None."""
        raise Refused("this model gives no texts")

    def answers(self, questions: Sequence[Question]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The answers to some questions as (id, answer), in any order; override it to answer several at
        once."""
        for question in questions:
            yield question.id, answered(self, question)


def without_places(text: str, mark: str) -> str:
    """A text of a question without the places of its images, for a model that is shown them first.

    mark: what stands for an image in the model's prompts, or empty. Raises Refused if the text itself has it.
    """
    if mark and mark in text:
        raise Refused(f"the question has {mark}, by which this model's code finds its images")
    return _PLACE.sub("", text)


def beat() -> None:
    """Tells Vouch that the model is making progress; call it within long work, never from a timer."""
    _speaker.beat()


class TorchModel(Model):
    """A model that continues a text. A driver says how a prompt is written, and calls the authors' code.

    It sets `tokenizer` in `__init__` and `model` in `load`. A letter is read where the model would write it,
    by the rule of vouch/models/chat/chat.py: prompt and letter are tokenised as one text, and each letter
    must be one token there.
    """

    spelling: str | None = None  # between a prompt and an answer's first word; None: by the prompt's end
    end = ""  # what the conversation writes after an answer, if that is not the end-of-sequence token
    tokenizer: Any
    model: Any

    def prompt(self, question: Question) -> str:
        """The text that the model reads, `question.response` included, up to where its answer begins."""
        raise NotImplementedError

    def between(self, prompt: str) -> str:
        """What stands between a prompt and an answer's first word: nothing, or a space."""
        if self.spelling is not None:
            return self.spelling
        return "" if not prompt or prompt[-1].isspace() or _TAG.search(prompt) else " "

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; only where its end differs from another text's matters."""
        return list(self.tokenizer(text)["input_ids"])

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """Arguments of the model's forward pass for a prompt and its images; `input_ids` among them."""
        return {"input_ids": self.tensor([self.encode(prompt)])}

    def edited(self, inputs: dict[str, Any], dropped: int, added: list[int]) -> dict[str, Any]:
        """The arguments for a prompt whose last tokens are dropped, and others added.

        Whatever has a value for each token (a mask, types) goes on with its last one.
        """
        import torch

        count = inputs["input_ids"].shape[-1]
        changed = dict(inputs)
        for name, value in inputs.items():
            if isinstance(value, torch.Tensor) and tuple(value.shape) == (1, count):
                new = value[:, -1:].repeat(1, len(added))
                kept = value[:, : count - dropped]
                if name == "input_ids":
                    new = self.tensor([added]).to(value.dtype)
                elif name == "position_ids":
                    new = kept[:, -1:] + self.tensor([range(1, len(added) + 1)])
                changed[name] = torch.cat([kept, new], dim=1)
        return changed

    def logits(self, inputs: dict[str, Any]) -> Any:
        """Logits (positions, vocabulary) of a forward pass; the last row is that after the last token."""
        return self.model(**inputs).logits[0]

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """Tokens that the model writes, as transformers' `generate` returns them; at least the new ones."""
        return self.model.generate(**inputs, **options)

    def tensor(self, values: Any) -> Any:
        """A tensor on the model's device."""
        import torch

        return torch.tensor(values, device=self.device)

    def choose_device(self) -> tuple[str, Any]:
        """The device, and torch's dtype; sets threads and all else that could change bits."""
        import torch

        wanted = self.start.device
        device = wanted if wanted in ("cpu", "cuda") else "cuda" if torch.cuda.is_available() else "cpu"
        torch.set_num_threads(self.start.threads)
        torch.set_grad_enabled(False)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
        return device, getattr(torch, self.start.dtype)

    def letter_ids(self, prompt: str, labels: Sequence[str]) -> tuple[int, list[int], list[int], list[int]]:
        """How many tokens the prompt loses at its end, which take their place, the one token of each label
        after them, and those of the labels in the other spelling if it has them there. Raises Refused."""
        known, space = self.encode(prompt), self.between(prompt)
        whole = [self.encode(prompt + space + label) for label in labels]
        before = _common_start([ids[:-1] for ids in whole])
        read = [ids[len(before) :] for ids in whole]
        unknown = getattr(self.tokenizer, "unk_token_id", None)
        for label, ids in zip(labels, read):
            if len(ids) != 1 or read.count(ids) > 1 or ids[0] == unknown:
                listed = ", ".join(labels)
                raise Refused(f"{listed} are not one token each after {prompt[-12:]!r} ({label} is not)")
        other = [self.encode(prompt + ("" if space else " ") + label) for label in labels]
        others = sorted({ids[-1] for ids in other if ids[:-1] == before} - {ids[0] for ids in read})
        kept = len(_common_start([known, before]))
        single = [ids[0] for ids in read]
        return len(known) - kept, before[kept:], single, others if len(others) == len(labels) else []

    def probe(self) -> dict[str, Any]:
        """See Model.probe."""
        prompt = self.prompt(PROBE)
        try:
            _, _, read, _ = self.letter_ids(prompt, PROBE.labels)
        except Refused:
            return {"prompt": prompt, "letters": {}}
        return {"prompt": prompt, "letters": {label: [one] for label, one in zip(PROBE.labels, read)}}

    def letters(self, question: Question) -> dict[str, Any]:
        """See Model.letters."""
        prompt = self.prompt(question)
        dropped, added, read, other = self.letter_ids(prompt, question.labels)
        row = self.logits(self.edited(self.inputs(question, prompt), dropped, added))[-1].float()
        known = row.log_softmax(-1)
        masses = [float(known[ids].exp().sum()) for ids in (read, other)]
        return {
            "logits": row[read].tolist(),
            "spelling": self.between(prompt),
            "letter_mass": min(1.0, sum(masses)),
            "nll": max(0.0, -float(known.max())),
            "entropy": max(0.0, float(_entropy(known))),
            "flags": ["other_spelling"] if masses[1] > masses[0] else [],
        }

    def likelihood(self, question: Question) -> dict[str, Any]:
        """See Model.likelihood."""
        prompt = self.prompt(question)
        known, space = self.encode(prompt), self.between(prompt)
        whole = [self.encode(prompt + space + option) for option in question.options]
        start = len(_common_start([known, *whole]))
        inputs, nll, tokens = self.inputs(question, prompt), [], []
        for ids in whole:
            new = ids[start:]
            if not new:
                raise Refused("an option has no token of its own after the prompt")
            logits = self.logits(self.edited(inputs, len(known) - start, new))
            rows = logits[-len(new) - 1 : -1].float().log_softmax(-1)
            nll.append(max(0.0, -math.fsum(float(row[token]) for row, token in zip(rows, new))))
            tokens.append(len(new))
            beat()
        return {"nll": nll, "tokens": tokens}

    def text(self, question: Question) -> dict[str, Any]:
        """See Model.text."""
        import torch

        writing = _Writing(self.tokenizer, question.stop, self.end)
        sampled = question.temperature > 0
        options: dict[str, Any] = {"do_sample": sampled, "num_beams": 1, "repetition_penalty": 1.0}
        if sampled:
            torch.manual_seed(question.seed)
            options.update(temperature=question.temperature, top_k=0, top_p=1.0)
        inputs = self.inputs(question, self.prompt(question))
        lists = {"logits_processor": [writing.note], "stopping_criteria": [writing.ended]}
        tokens = self.generate(inputs, max_new_tokens=question.max_tokens, **lists, **options)
        return writing.answer([int(one) for one in tokens[0]][-len(writing.rows) :])


class _Writing:
    """Follows a text as it is written. rows: log-probabilities of the vocabulary, one row a step. The text
    ends before `end`, but after `stop`."""

    def __init__(self, tokenizer: Any, stop: str, end: str) -> None:
        self._tokenizer, self._end = tokenizer, end
        self._stops = [text for text in (stop, end) if text]
        self.rows: list[Any] = []

    def note(self, tokens: Any, scores: Any) -> Any:
        """A logits processor that changes nothing."""
        self.rows.append(scores[0].float().log_softmax(-1))
        beat()
        return scores

    def ended(self, tokens: Any, scores: Any, **others: Any) -> Any:
        """A stopping criterion: whether the text holds its stop."""
        import torch

        done = bool(self._stops) and self._stopped(self._tokenizer.decode(tokens[0][-len(self.rows) :]))
        return torch.tensor([done] * len(tokens), device=tokens.device)

    def _stopped(self, text: str) -> bool:
        return any(stop in text for stop in self._stops)

    def answer(self, tokens: list[int]) -> dict[str, Any]:
        """The text of the tokens, and their numbers up to the end of the text."""
        ends = {getattr(self._tokenizer, "eos_token_id", None)}
        eos = next((index for index, token in enumerate(tokens) if token in ends), None)
        whole = self._tokenizer.decode(tokens[:eos], skip_special_tokens=True)
        if eos is None and self._stopped(self._tokenizer.decode(tokens)):  # the stop may be a special token
            eos = len(tokens) - 1
        if self._end:
            whole = whole.split(self._end)[0]
        count = len(tokens) if eos is None else eos + 1
        pairs = list(zip(self.rows, tokens))[:count]
        return {
            "text": whole,
            "logprobs": [float(row[token]) for row, token in pairs],
            "entropies": [float(_entropy(row)) / math.log(len(row)) for row, _ in pairs],
            "eos": eos,
        }


def _entropy(known: Any) -> Any:
    """Of log-probabilities, nats; impossible tokens add nothing."""
    return -(known.exp() * known.clamp(min=-1e30)).sum()


def _common_start(texts: Sequence[list[int]]) -> list[int]:
    same = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*texts))
    return [tokens[0] for tokens in same]


def answered(model: Model, question: Question) -> dict[str, Any]:
    """The answer to one question, or why there is none."""
    try:
        return dict(getattr(model, question.output)(question))
    except (Refused, Again) as problem:
        kind = "refused" if isinstance(problem, Refused) else "again"
        return {kind: _in_a_line(problem) or "its driver gives no reason"}
    except Exception as problem:  # the model's code can raise whatever it likes
        return {"again": _named(problem)}


def _in_a_line(problem: object) -> str:
    return " ".join(str(problem).split())[:500]


def _named(problem: Exception) -> str:
    """An error in one line, with its kind."""
    return f"{type(problem).__name__}: {_in_a_line(problem)}"


class _Speaker:
    """The way out: a line of JSON for each message. Heartbeats are numbered, at most one a BEAT_SECONDS."""

    def __init__(self) -> None:
        self._out: Any = None
        self._lock = threading.Lock()
        self._beats, self._last = 0, 0.0

    def open(self, descriptor: int) -> None:
        self._out = os.fdopen(descriptor, "w", encoding="ascii", newline="\n")
        os.set_inheritable(descriptor, False)

    def say(self, **message: Any) -> None:
        with self._lock:
            self._out.write(json.dumps(message, allow_nan=False) + "\n")
            self._out.flush()
            self._last = time.monotonic()

    def beat(self) -> None:
        if self._out is not None and time.monotonic() - self._last >= BEAT_SECONDS:
            self._beats += 1
            self.say(beat=self._beats)


_speaker = _Speaker()


def main() -> None:
    """Opens the driver's model and answers until the input ends."""
    driver = Path(sys.argv[1])
    _speaker.open(int(sys.argv[2]))
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a model that reads its input gets none
    _speaker.say(versions=versions())
    hello = json.loads(requests.readline() or sys.exit(0))  # comes if the packages are as pinned
    waiting: Queue[Question] = Queue()
    threading.Thread(target=_listen, args=(requests, waiting), daemon=True).start()
    try:
        model = opened(driver, hello)
        ready = {"outputs": model.outputs, "device": model.device, "batch": model.batch}
        _speaker.say(ready=1, **ready, probe=model.probe())
    except Exception as problem:
        traceback.print_exc()  # before Vouch can end this process
        _speaker.say(fatal=_named(problem))
        sys.exit(1)
    while True:
        for name, answer in model.answers(_some(waiting, model.batch)):
            try:
                _speaker.say(id=name, **answer)
            except (TypeError, ValueError) as problem:  # a number that is not finite, or that is a tensor
                _speaker.say(id=name, again=_named(problem))


def opened(driver: Path, hello: dict[str, Any]) -> Model:
    """The model of a driver, with its weights if they are wanted."""
    names = ("folder", "parts", "code", "dtype", "device", "threads", "settings")
    start = Start(**{name: hello[name] for name in names})
    own = str(Path(__file__).resolve().parent)
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != own]
    sys.path[:0] = [start.code] if start.code else []
    sys.modules.setdefault("vouch_driver", sys.modules[__name__])
    spec = importlib.util.spec_from_file_location("driver", driver)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["driver"] = module
    # for modules beside the driver, and only while it is loaded: it may have the name of an authors' package
    sys.path.append(str(driver.parent))
    spec.loader.exec_module(module)
    sys.path.remove(str(driver.parent))
    model: Model = module.Model(start)
    if hello["weights"]:
        model.load()
    return model


def _listen(requests: Iterable[str], waiting: Queue[Question]) -> None:
    """Notes requests; at the end of the input, ends this process and all that it started."""
    for line in requests:
        asked = json.loads(line)
        asked["turns"] = [(question, answer) for question, answer in asked["turns"]]
        waiting.put(Question(**asked))
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _some(waiting: Queue[Question], most: int) -> list[Question]:
    """The questions that wait, at least one."""
    questions = [waiting.get()]
    while len(questions) < most and not waiting.empty():
        questions.append(waiting.get())
    return questions


def versions() -> dict[str, str]:
    """The packages of this environment, and Python's version."""
    from importlib.metadata import distributions

    known = {str(one.metadata["Name"]): str(one.version) for one in distributions() if one.metadata["Name"]}
    return {**known, "python": "{}.{}.{}".format(*sys.version_info[:3])}


if __name__ == "__main__":
    main()
