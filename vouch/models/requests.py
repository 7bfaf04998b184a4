"""Asks a model for the answers to a dataset that the work cache lacks, and writes its response tables.

`answer` asks everything, round by round; `Session` is one model under one setting, `DatasetRequests` its
prompts of one dataset. `write` makes the tables from the work cache.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from vouch.images import opening
from vouch.models.config import ExtractConfig
from vouch.models.engine import Engine, Refusal, engine_kind
from vouch.models.executor import Executor
from vouch.models.packs import KeyedPack, Keys, Member, PromptTable, groups
from vouch.models.replies import OwnReply, repeated_output, reply
from vouch.models.unsupported import unsupported_outputs
from vouch.models.work_cache import ROOT, WorkCache, refused, remembered, rows_of, to_remember
from vouch.pipeline.errors import UserError
from vouch.pipeline.processor import computed_on, fixed, free_torch
from vouch.tables.answered import OTHER_MODEL, RESPONSES, Pin, schema
from vouch.tables.asked import OUTPUTS, ImageStore, images_path

WINDOW = 1024  # answers in memory at a time
Progress = Callable[..., Iterator[Any]]


class Session:
    """One model under one setting, for as many datasets as ask it.

    revision: of everything besides the pin and the settings that can change its answers.
    """

    def __init__(self, pin: Pin, config: ExtractConfig) -> None:
        self.name, self.config = pin.model, config
        self.max_tokens = config.max_tokens_of.get(pin.model, config.max_tokens)
        self._pin, self.sees, self.unsupported = pin, pin.sees, unsupported_outputs(pin)
        self._kind = engine_kind(pin.engine)
        if pin.model in config.beam_search and not self._kind.searches:
            raise UserError(
                f"extract.beam_search: {pin.model} is asked through {pin.engine}, which cannot be told to "
                "search with beams; leave the model out"
            )
        revisions = [self._kind.revision, opening.REVISION]
        self.revision = f"{pin.engine}/{'.'.join(map(str, revisions))}"
        self._settings = {name: getattr(config, name) for name in self._kind.settings}
        on_cpu = config.device in ("auto", "cpu")  # only a run with fixed kernels may replace them
        self.excluded_devices = ("cpu",) if on_cpu and config.reproducible == "auto" and fixed() else ()
        """Devices whose stored answers are not used: a CPU without fixed kernels."""
        self.reasons = pin.reasoning is not None

    @cached_property
    def engine(self) -> Engine:
        """The loaded model. Raises UserError."""
        if self.config.reproducible == "off":
            free_torch()
        return self._kind.load(self._pin, self.config)

    @property
    def another_name(self) -> str:
        """Says what the server calls itself, as far as it was asked in this run."""
        names = self.engine.notes.get("models", {}) if "engine" in vars(self) else {}
        others = sorted(ascii(name)[1:-1] for name in names if name and name != self._pin.source.name)
        calls = f"the server calls itself {' or '.join(others[:3])}, and " if others else ""
        return f"{calls}models.lock calls it {self._pin.source.name}"

    def keys(self, dataset: str) -> Keys:
        """The keys of its answers to a dataset."""
        base = {"pin": self._pin.digest, "engine": self.revision, "settings": self._settings}
        sampling = self.config.sampled(self.name, dataset)
        config, search = self.config.model_copy(update={"sampling": sampling}), self.config.beam_search
        return Keys(base, config, self._pin.answer_prefix, search.get(self.name))

    def cache(self, output: str, dataset: str) -> WorkCache:
        """The work cache of one kind of answer, with a folder of its own for the dataset."""
        settings = [f"{name}{value}" for name, value in self._settings.items()]
        asked = "-".join([self._pin.digest[:16], *settings])
        folder = Path(self.revision.replace("/", "-"), asked, dataset)
        root = ROOT / f"{output}-{RESPONSES[output].table.version}"
        return WorkCache(root / folder, remembered(output, self.reasons), self.excluded_devices)


class DatasetRequests:
    """Every prompt that can be asked by now. replies: answers that later prompts repeat.

    unsupported: request types that the server turned out not to support, with the reason. Their prompts are
    not remembered as refused: the next run asks again.
    """

    def __init__(self, model: Session, name: str) -> None:
        self.model, self.name = model, name
        self.label = f"{model.name} {name}"
        self.caches = {output: model.cache(output, name) for output in OUTPUTS}
        self.keys = model.keys(name)
        asked = model.config.asks(model.name, name)
        self.prompts = PromptTable(name, model.name, model.max_tokens, asked, model.sees)
        self.replies: dict[str, OwnReply | None] = {}
        self.unsupported: dict[str, str] = {}

    def _groups(self) -> Iterator[list[KeyedPack]]:
        return groups(self.prompts, self.replies, self.keys, self.model.unsupported)

    def packs(self) -> Iterator[KeyedPack]:
        """Every pack whose placeholders can be filled by now."""
        return chain.from_iterable(self._groups())

    def windows(self) -> Iterator[list[tuple[str, Member]]]:
        """The members of all `packs` with their request type, in the order of the prompts."""
        window: list[tuple[str, Member]] = []
        size = 0
        for group in self._groups():
            members = [(pack.output, member) for pack in group for member in pack.members]
            window += sorted(members, key=lambda one: int(one[1].prompt["row"]))
            size += sum(max(1, len(member.keys)) for _, member in members)
            if size >= WINDOW:
                yield window
                window, size = [], 0
        yield window

    def look_up(self) -> tuple[int, int]:
        """Looks at the work cache anew: how many answers can be asked for by now, how many are unknown."""
        wanted: dict[str, set[bytes]] = {output: set() for output in OUTPUTS}
        for pack in self.packs():
            wanted[pack.output].update(key for member in pack.members for key in member.keys)
        for output, cache in self.caches.items():
            cache.look_up(wanted[output])
        unknown = sum(key not in self.caches[output] for output, keys in wanted.items() for key in keys)
        return sum(map(len, wanted.values())), unknown

    def learn(self) -> bool:
        """Notes the known answers that other prompts repeat; returns whether any is new."""
        before = len(self.replies)
        for pack in self.packs() if self.prompts.repeated else ():
            for member in pack.members:
                name = member.prompt["id"]
                if name not in self.prompts.repeated or name in self.replies:
                    continue
                if pack.output != repeated_output(member.prompt):
                    continue
                if member.problem is not None:
                    self.replies[name] = None
                elif member.keys[0] in self.caches[pack.output]:
                    (answer,) = self.caches[pack.output].fetch(member.keys[:1])
                    self.replies[name] = reply(member.prompt, pack.output, answer)
        return len(self.replies) > before

    def executor(self, unknown: Callable[[str, bytes], bool]) -> Executor:
        """An object that asks for its unknown answers and renders its images."""
        images = ImageStore(images_path(self.name))
        return Executor(unknown, images.read, self.model.config.workers, images.decoded_bytes)

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Holds the work cache, so that two runs at once do not answer the same prompts."""
        with ExitStack() as claims:
            for cache in self.caches.values():
                claims.enter_context(cache.claim())
            yield


@dataclass(frozen=True)
class Round:
    """The outcome of asking everything unknown once.

    wanted: answers that could be asked for, `unknown` of them not known. kept: new ones. missed: answers that
    did not come because of transient problems; `trouble` is the first of these. unsupported: those of
    request types that the model does not support. damaged: shards of the work cache.
    """

    wanted: int
    unknown: int
    kept: int
    missed: int
    trouble: str
    unsupported: int
    damaged: frozenset[str]


def answer(dataset: DatasetRequests, progress: Progress) -> dict[str, Any]:
    """Answers everything; returns measures of the run.

    Raises UserError if transient problems left questions without an answer; all other answers are kept.
    """
    asked, count, damaged = 0, 0, set[str]()
    for one in rounds(dataset, lambda: dataset.model.engine, progress):
        if one.missed:
            raise UserError(
                f"{dataset.label}: {one.missed} of {one.unknown} answers did not come ({one.trouble}); run "
                "it again to ask for them, all others are kept"
            )
        asked, count, damaged = asked + one.kept, one.wanted - one.unsupported, damaged | one.damaged
    measures: dict[str, Any] = {"answers": {"known": count - asked, "asked": asked}}
    if asked or dataset.unsupported:
        engine = dataset.model.engine
        measures["engine"] = {"device": computed_on(engine.device), **engine.notes}
    if damaged:
        measures["damaged_shards"] = sorted(damaged)
    return measures


def rounds(
    dataset: DatasetRequests, engine: Callable[[], Engine], progress: Progress | None = None
) -> Iterator[Round]:
    """Requests the answers that the work cache lacks, one run at a time.

    Answers that other prompts repeat come first, turn by turn: a round for each.
    """
    with ExitStack() as claim:
        held = False
        while True:
            wanted, unknown = dataset.look_up()
            if unknown and not held:
                claim.enter_context(dataset.claim())
                held = True
                wanted, unknown = dataset.look_up()  # another run may have answered while this one waited
            damaged = frozenset(name for cache in dataset.caches.values() for name in cache.damaged)
            proven = unknown < wanted
            outcome = _ask(dataset, engine(), progress, unknown, proven) if unknown else (0, 0, "", 0)
            yield Round(wanted, unknown, *outcome, damaged)
            if not dataset.learn():
                return


def _ask(
    dataset: DatasetRequests, engine: Engine, progress: Progress | None, unknown: int, proven: bool
) -> tuple[int, int, str, int]:
    """Asks for everything unknown that can be asked now: how many answers came, how many did not and why, and
    how many belong to request types that the model does not support.

    proven: whether the model has answered others before.
    """
    caches = dataset.caches
    executor = dataset.executor(lambda output, key: key not in caches[output])
    device, kept, missed, first, unsupported = computed_on(engine.device), 0, 0, "", 0
    try:
        answers = executor.ask(engine, dataset.packs())
        shown = progress(answers, total=unknown, label=dataset.label) if progress else answers
        for answered, slots in shown:
            one = answered.answer
            if isinstance(one, Refusal) and one.transient and not (one.unproven and proven):
                missed += len(slots)
                first = first or f"{answered.question}: {one.problem}"
                continue
            if isinstance(one, Refusal) and one.unsupported:
                dataset.unsupported |= {slot.output: one.problem for slot in slots}
                unsupported += len(slots)
                continue
            for slot in slots:
                caches[slot.output].add(slot.key, to_remember(answered, slot.pixels, device))
            kept += len(slots)
    finally:
        for cache in caches.values():
            cache.flush()
    return kept, missed, first, unsupported


def write(dataset: DatasetRequests) -> dict[str, Any]:
    """Puts the answers together in the order of the prompts; returns notes for the run record.

    A line on stderr counts the prompts without an answer, another one the answers of a model with another
    name. Raises UserError if no prompt has an answer in any table, unless the model supports none of the
    request types asked for; then nothing is written.
    """
    asked, unanswered, first, failing = Counter[str](), Counter[str](), dict[str, str](), dict[str, str]()
    answered, renamed, unsupported = 0, 0, {**dataset.model.unsupported, **dataset.unsupported}
    with ExitStack() as files:
        paths = {output: RESPONSES[output].path(dataset.model.name, dataset.name) for output in OUTPUTS}
        writers = {
            output: files.enter_context(
                RESPONSES[output].table.writer(path, schema(output, dataset.model.reasons))
            )
            for output, path in paths.items()
        }
        for output, member, answers in _known(dataset):
            asked[output] += 1
            problem = next((answer["problem"] for answer in answers if answer["problem"] is not None), None)
            if problem is not None:
                unanswered[output] += 1
                first.setdefault(output, f"prompt {member.prompt['id']}: {problem}")
                if problem != unsupported.get(output):
                    failing.setdefault(output, first[output])
            answered += sum(answer["problem"] is None for answer in answers)
            renamed += sum(OTHER_MODEL in answer["flags"] for answer in answers)
            for row in rows_of(output, member.prompt, answers, member.decodings, dataset.model.revision):
                writers[output].row(row)
        if failing and asked == unanswered:
            output, why = min(failing.items(), key=lambda pair: OUTPUTS.index(pair[0]))
            raise UserError(f"{paths[output]}: none of {asked[output]} prompts has an answer; {why}")
    counts = {output: unanswered[output] for output in OUTPUTS if unanswered[output]}
    if renamed:
        _warn(
            dataset,
            f"{renamed} of {answered} answers are flagged {OTHER_MODEL}: {dataset.model.another_name} "
            "(docs/add-a-model.md#what-is-asked-and-recorded)",
        )
    if counts:
        listed = ", ".join(f"{output} {count} of {asked[output]}" for output, count in counts.items())
        _warn(dataset, f"prompts without an answer: {listed}; {first[next(iter(counts))]}")
    return {"unanswered": counts} if counts else {}


def _warn(dataset: DatasetRequests, text: str) -> None:
    print(f"{dataset.label}: {text}", file=sys.stderr)


def _known(dataset: DatasetRequests) -> Iterator[tuple[str, Member, list[dict[str, Any]]]]:
    """Every prompt of each request type with its answers, in the order of the prompts."""
    for window in dataset.windows():
        for output in OUTPUTS:
            members = [_if_supported(dataset, member, output) for what, member in window if what == output]
            answers = iter(dataset.caches[output].fetch([key for member in members for key in member.keys]))
            for member in members:
                if member.problem is None:
                    yield output, member, [next(answers) for _ in member.keys]
                else:
                    yield output, member, [refused(output, member.problem)] * max(1, len(member.decodings))


def _if_supported(dataset: DatasetRequests, member: Member, output: str) -> Member:
    """The prompt; refused if its answer did not come because the model does not support its request type.

    Raises UserError if it is missing for another reason.
    """
    if all(key in dataset.caches[output] for key in member.keys):
        return member
    if output not in dataset.unsupported:
        raise UserError(
            f"{dataset.label}: the {output} of prompt {member.prompt['id']} are missing from the work cache; "
            "run it again"
        )
    return replace(member, keys=(), problem=dataset.unsupported[output])
