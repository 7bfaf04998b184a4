"""What a model would be given for a prompt: its tokens, or the request to its server. Nothing is asked.

The code is that of extract: `groups` and `Executor` make the question of a prompt, then `Preparer` makes its
tokens, with tokenizer and image processor alone, or `ServerEngine` the request.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any

from vouch.models.chat.chat import common_start
from vouch.models.config import ExtractConfig
from vouch.models.engine import Answered, Pack, Question, Refusal
from vouch.models.executor import Executor
from vouch.models.packs import KeyedPack, PromptTable, groups
from vouch.models.requests import Session
from vouch.models.unsupported import unsupported_outputs
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin
from vouch.tables.asked import LETTERS, OUTPUTS, ImageStore, images_path

if TYPE_CHECKING:
    from vouch.models.decoder.preparing import Prepared, Preparer

MOST = 1000  # packs among which a request type's first prompt is looked for
_SPACES = ("Ġ", "▁", " ")  # with which a vocabulary writes the space before a word


@dataclass(frozen=True)
class Probe:
    """The first prompt of a dataset that asks for `output`, as an engine gets it; or why it would not."""

    output: str
    prompt: str
    pack: Pack | None
    problem: str = ""


def asked(pin: Pin, config: ExtractConfig, dataset: str) -> list[Probe]:
    """One prompt of each request type. Raises UserError if there are no prompts."""
    session = Session(pin, config)
    asks = config.asks(pin.model, dataset)
    prompts = PromptTable(dataset, pin.model, session.max_tokens, asks, pin.sees)
    packs = chain.from_iterable(groups(prompts, {}, session.keys(dataset)))
    first = _first(islice(packs, MOST))
    store, recorder = ImageStore(images_path(dataset)), _Recorder()
    executor = Executor(lambda output, key: True, store.read, 1, store.decoded_bytes)
    problems = {
        slots[0].output: answered.answer.problem
        for answered, slots in executor.ask(recorder, first.values())
        if isinstance(answered.answer, Refusal)
    }
    return [
        Probe(
            *(output, pack.members[0].prompt["id"], recorder.packs.get(output)),
            "" if output in recorder.packs else problems.get(output, ""),  # the recorder answers none
        )
        for output, pack in first.items()
    ]


def _first(packs: Iterable[KeyedPack]) -> dict[str, KeyedPack]:
    """The first prompt of each request type, in a pack of its own."""
    first: dict[str, KeyedPack] = {}
    for pack in packs:
        if pack.output not in first and pack.members[0].problem is None:
            first[pack.output] = replace(pack, members=pack.members[:1])
        if len(first) == len(OUTPUTS):
            break
    return {output: first[output] for output in OUTPUTS if output in first}


class _Recorder:
    """An engine that keeps its packs and answers none."""

    device = "none"

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}
        self.packs: dict[str, Pack] = {}

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        self.packs |= {pack.output: pack for pack in packs}
        return iter(())


def requests(pin: Pin, pack: Pack) -> dict[str, Any]:
    """What a server would be sent: `requests`, or the `problem` why nothing would be. Raises UserError."""
    from vouch.models.server.client import connection
    from vouch.models.server.engine import Job, ServerEngine, jobs

    if pack.output in (unsupported := unsupported_outputs(pin)):
        return {"problem": unsupported[pack.output]}
    engine = ServerEngine(*connection(pin, os.environ), pin.reasoning, pin.template_kwargs)
    job = next(jobs([pack]))
    if not isinstance(job, Job):
        assert isinstance(job.answer, Refusal)
        return {"problem": job.answer.problem}
    bodies = [dict(request) for request in engine.requests(job)]
    return {"requests": [body | body.pop("extra_body", {}) for body in bodies]}


def tokens(preparer: "Preparer", pin: Pin, pack: Pack, config: ExtractConfig) -> dict[str, Any]:
    """What a model would read, for JSON.

    tokens: [{id, text, count}] with equal neighbours as one. prefix: tokens up to the end of the last image.
    rest, padded: tokens after it, and to how many a row is padded; null for a separate decoder, whose
    beginning is `decoder`. unknown: tokens of what the vocabulary lacks. replaced: the last tokens of the
    prompt that letters or options change, `by` those that take their place. letters, options: their tokens.
    problem: why it would not be read. Raises OSError and MemoryError.
    """
    question = _after_thought(pin, pack.questions[0])
    try:
        plain = preparer.prepare(replace(question, labels=(), options=()))
    except UserError as error:
        return {"problem": str(error)}
    facts = _prompt(preparer, plain, LETTERS, config)
    if not question.labels and not question.options:
        return facts
    try:
        whole = preparer.prepare(question)
    except UserError as error:
        return facts | {"problem": str(error), **_pieces(preparer, question)}
    facts = _prompt(preparer, whole, pack.output, config)
    before, now = (one.prefill if preparer.needs.separate_decoder else one.ids for one in (plain, whole))
    kept = len(common_start([before, now]))
    facts["replaced"] = {"tokens": _runs(preparer, before[kept:]), "by": _runs(preparer, now[kept:])}
    return (
        facts | _letters(preparer, whole) | {"options": _options(preparer, question.options, whole.options)}
    )


def _after_thought(pin: Pin, question: Question) -> Question:
    """The question as it is asked after a thought, of which the end alone is there."""
    return replace(question, thought=pin.reasoning.closes.lstrip()) if pin.reasoning else question


def _prompt(preparer: "Preparer", prepared: "Prepared", output: str, config: ExtractConfig) -> dict[str, Any]:
    from vouch.models.decoder.rows import jobs

    separate = preparer.needs.separate_decoder
    rows = [] if separate else list(jobs(output, [prepared], "batch", config.bucket, lambda tokens: True))
    return {
        "problem": None,
        "tokens": _runs(preparer, prepared.ids),
        "length": len(prepared.ids),
        "prefix": prepared.prefix,
        "rest": None if separate else max(len(row.sequence) for row in rows),
        "padded": None if separate else max(row.length for row in rows),
        "decoder": _runs(preparer, prepared.prefill) if separate else None,
        "unknown": preparer.unknown(prepared.ids),
        "flags": list(prepared.flags),
    }


def _runs(preparer: "Preparer", ids: Sequence[int]) -> list[dict[str, Any]]:
    texts = dict(zip(ids, token_texts(preparer.tokenizer, ids), strict=True))
    return [{"id": one, "text": texts[one], "count": len(list(run))} for one, run in groupby(ids)]


def token_texts(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """The text of each token within a line, with the space before a word. Special tokens, and pieces of a
    character, are as the vocabulary has them."""

    def decoded(sequence: Sequence[int]) -> str:
        return str(tokenizer.decode(list(sequence), clean_up_tokenization_spaces=False))

    before = list(tokenizer("x", add_special_tokens=False)["input_ids"])
    start, known = len(decoded(before)), list(dict.fromkeys(ids))
    names = dict(zip(known, map(str, tokenizer.convert_ids_to_tokens(known)), strict=True))
    texts = {one: decoded([*before, one])[start:] for one in known}
    for one, name in names.items():
        if not texts[one] or "\ufffd" in texts[one]:
            texts[one] = name
        elif not name.startswith(_SPACES):  # a space that decoding puts between tokens
            texts[one] = texts[one].removeprefix(" ")
    return [texts[one] for one in ids]


def _letters(preparer: "Preparer", prepared: "Prepared") -> dict[str, Any]:
    letters, labels = prepared.letters, prepared.question.labels
    if letters is None:
        return {"letters": [], "spelling": None}
    others = letters.other or (None,) * len(labels)
    entries = []
    for label, one, other in zip(labels, letters.read, others, strict=True):
        known = [token for token in (one, other) if token is not None]
        texts = dict(zip(known, token_texts(preparer.tokenizer, known), strict=True))
        other_text = None if other is None else texts[other]
        names = {"id": one, "text": texts[one], "other_id": other, "other_text": other_text}
        entries.append({"label": label, **names})
    return {"letters": entries, "spelling": letters.spelling}


def _options(
    preparer: "Preparer", options: Sequence[str], tokens: Sequence[Sequence[int]]
) -> list[dict[str, Any]]:
    return [
        {"option": option, "ids": list(ids), "texts": token_texts(preparer.tokenizer, ids)}
        for option, ids in zip(options, tokens, strict=True)
    ]


def _pieces(preparer: "Preparer", question: Question) -> dict[str, Any]:
    """The tokens of each label as if it were an option's text; nothing if one has none."""
    try:
        apart = preparer.prepare(replace(question, labels=(), options=question.labels))
    except UserError:
        return {}
    return {"pieces": _options(preparer, question.labels, apart.options)}
