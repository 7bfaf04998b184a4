"""The engine for models of transformers that go on from their prompt, which nearly all do.

A prefix with its images is computed once for all its questions. `load` opens a pinned model and chooses its
engine: this one, or encoder_decoder.py for models with a text encoder.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from vouch.models.chat import rendering
from vouch.models.chat.chat import with_variables
from vouch.models.config import Config
from vouch.models.decoder.decoding import Continued, ends, letter_answers, likelihood_answer, token_nlls
from vouch.models.decoder.encoder_decoder import EncoderDecoder
from vouch.models.decoder.passes import Forward, State
from vouch.models.decoder.preparing import LoadedModel, Prepared, Preparer
from vouch.models.decoder.row_engine import PASS_TOKENS, RowEngine
from vouch.models.decoder.rows import Job, Mode, jobs
from vouch.models.decoder.self_check import choose_mode, keep_mode, known_mode, mode_path, probes
from vouch.models.engine import ENGINES, Answered, Engine, Pack
from vouch.models.families import Family, family_of
from vouch.models.loading import (
    ADVICE,
    KIND,
    LOCAL,
    image_processor,
    load_weights,
    opening,
    pinned_folder,
    prepare_device,
)
from vouch.models.thinking import Thinking
from vouch.models.tokenizer_check import check_tokenizer
from vouch.models.work_cache import ROOT
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin
from vouch.tables.asked import LETTERS, TEXT


def load(pin: Pin, config: Config) -> Engine:
    """The pinned model. Raises UserError where its files are not those pinned or cannot be loaded."""
    folder = pinned_folder(pin)
    rendering.start()  # takes a second, as the weights do
    loaded = load_model(folder, pin.dtype, pin.template, config, pin.processor)
    template = with_variables(loaded.processor, pin.template, pin.template_kwargs)
    with opening(folder, "fails at its first questions", ADVICE):
        if loaded.model.config.get_text_config().is_encoder_decoder:
            if pin.reasoning:
                raise UserError(
                    f"models.lock: {pin.model}: it has a decoder of its own, so leave out reasoning"
                )
            return EncoderDecoder(loaded, template, config)
        kept = mode_path(ROOT / "modes", pin.digest, ENGINES["transformers"].revision)
        engine = shared_prefix(loaded, template, config, kept)
    return Thinking(engine, pin.reasoning) if pin.reasoning else engine


def load_model(
    folder: Path, dtype: str, template: str | None, config: Config, settings: Mapping[str, Any] = {}
) -> LoadedModel:
    """The model of a folder.

    template: stands in for its chat template. settings: of its image processor, over those of the folder.

    Raises UserError, one line, whatever is wrong with the folder or the device.
    """
    device = prepare_device(config.device, config.threads)
    check_tokenizer(folder)
    with opening(folder, "cannot be loaded", "save the model anew"):
        processor = transformers.AutoProcessor.from_pretrained(folder, **LOCAL)
        processor = with_settings(processor, folder, settings)
        family = family_of(transformers.AutoConfig.from_pretrained(folder, **LOCAL))
        _check_processor(processor, family, folder, template)
        auto = transformers.AutoModelForImageTextToText
        model, device = load_weights(auto, folder, dtype, config.device, device)
        family.complete(processor, model.config)
        if dtype != "float32":
            head_in_float32(model)
    return LoadedModel(model, processor, device)


def with_settings(processor: Any, folder: Path, settings: Mapping[str, Any]) -> Any:
    """A model's processor whose image processor is that of `image_processor`."""
    if hasattr(processor, "image_processor"):
        processor.image_processor = image_processor(folder, settings)
        # The processor's own defaults override those of its image processor (InternVL's tiles).
        own = {name: value for name, value in settings.items() if name != KIND}
        if own:
            processor.images_kwargs = {**getattr(processor, "images_kwargs", {}), **own}
    elif settings:
        raise UserError("models.lock: processor: this model reads no images; leave the settings out")
    return processor


def _check_processor(processor: Any, family: Family, folder: Path, template: str | None) -> None:
    """Raises UserError where a processor does not read images and text, or has no chat template."""
    for part in ("image_processor", "tokenizer"):
        if not hasattr(processor, part):
            raise UserError(
                f"{folder}: its processor is a {type(processor).__name__}, which has no {part}; correct "
                "processor_class in processor_config.json, or add the files of its processor"
            )
    family.check(processor, folder)
    if template is None and not getattr(processor, "chat_template", None):
        raise UserError(
            f"{folder}: the processor has no chat template; name one of vouch/models/chat/templates "
            "as `template` in models.lock, or add chat_template.jinja to the model"
        )


def head_in_float32(model: Any) -> None:
    """Computes the last projection in float32: half-precision logits are so coarse that letters tie."""
    head = model.get_output_embeddings()
    for name, value in list(head.named_parameters(recurse=False)):
        # A copy of its own: the weight may be shared with the input embeddings, which stay as they are.
        setattr(head, name, torch.nn.Parameter(value.detach().float(), requires_grad=False))
    head.register_forward_pre_hook(lambda module, inputs: (inputs[0].float(), *inputs[1:]))


PREFIX_TOKENS = 512  # most tokens of a pass over prefixes, about: few are missing at once
TOKENS_HELD = 8 * PASS_TOKENS  # of prefixes that are kept for later passes


class SharedPrefix(RowEngine[Job]):
    """An Engine, see engine.py."""

    def __init__(
        self, forward: Forward, preparer: Preparer, config: Config, mode: Mode, end_tokens: Collection[int]
    ) -> None:
        passes = ("prefix", "trie", "batch", "plain")
        super().__init__(preparer, config, forward.device, mode, passes, end_tokens)
        self._forward, self._mode = forward, mode
        self._states: OrderedDict[str, State] = OrderedDict()
        self._options: dict[str, dict[int, list[float]]] = {}

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        self._options.clear()
        yield from super().answer(packs)

    def _jobs(self, output: str, prepared: Sequence[Prepared]) -> Iterator[Job]:
        return jobs(output, prepared, self._mode, self._config.bucket, self._forward.may_pad)

    def _forget(self) -> None:
        self._states.clear()

    def _computed(self, rows: Sequence[Job], real: int) -> list[Answered]:
        prepared = [row.prepared for row in rows]
        states = None if rows[0].mode == "plain" else self._states_of(prepared)
        self.notes["passes"][rows[0].mode] += 1
        if rows[0].output == TEXT:
            read = self._forward.chains(rows, states, keep=True)  # once for all decodings
            return self._texts(rows[:real], lambda: Continued(self._forward, prepared, read))
        answered: list[Answered] = []
        for job, logits in zip(rows[:real], self._forward.logits(rows, states), strict=False):
            # Rows of letters and of likelihood share a pass where their shapes are equal.
            answered += (self._letters if job.output == LETTERS else self._likelihood)(job, logits)
        return answered

    def _states_of(self, prepared: Sequence[Prepared]) -> list[State]:
        """The state after each row's prefix; cached ones are not computed again."""
        missing = {one.prefix_digest: one for one in prepared if one.prefix_digest not in self._states}
        waiting = list(missing.values())
        shape = "prefix", prepared[0].prefix, prepared[0].shown_shape
        size = self._limits.of(shape, max(1, min(self._rows, PREFIX_TOKENS // prepared[0].prefix)))
        asking, self._current = self._current, (shape, size)
        for start in range(0, len(waiting), size):
            part = waiting[start : start + size]
            read = self._forward.prefixes([*part, *[part[-1]] * (size - len(part))])
            self.notes["passes"]["prefix"] += 1
            self._states.update(zip((one.prefix_digest for one in part), read, strict=False))
        self._current = asking
        for one in prepared:
            self._states.move_to_end(one.prefix_digest)
        states = [self._states[one.prefix_digest] for one in prepared]
        needed = len({one.prefix_digest for one in prepared})
        tokens = sum(state.length for state in self._states.values())
        while tokens > TOKENS_HELD and len(self._states) > needed:
            tokens -= self._states.popitem(last=False)[1].length
        return states

    def _letters(self, job: Job, logits: torch.Tensor) -> Iterator[Answered]:
        """Answers from the logits [n, vocabulary] of a job's wanted positions."""
        index_of = {position: number for number, position in enumerate(job.wanted)}
        wanted = [
            (index_of[one.wanted[0][0]], one.prepared.letters) for one in job.targets if one.prepared.letters
        ]
        for one, (answer, flags) in zip(job.asked, letter_answers(logits, wanted), strict=True):
            yield Answered(one.question.id, answer, None, (*one.flags, *flags), job.mode)

    def _likelihood(self, job: Job, logits: torch.Tensor) -> Iterator[Answered]:
        """Answers whose options are all known: without a trie each option comes from a row of its own."""
        index_of = {position: number for number, position in enumerate(job.wanted)}
        pairs = [
            (index_of[position], token)
            for target in job.targets
            for number, positions in enumerate(target.wanted, target.option)
            for position, token in zip(positions, target.prepared.options[number], strict=True)
        ]
        nlls = iter(token_nlls(logits, pairs))
        for target in job.targets:
            one = target.prepared
            known = self._options.setdefault(one.question.id, {})
            for number, positions in enumerate(target.wanted, target.option):
                known[number] = [next(nlls) for _ in positions]
            if len(known) == len(one.options):
                del self._options[one.question.id]
                answer = likelihood_answer([known[number] for number in range(len(known))])
                yield Answered(one.question.id, answer, None, one.flags, job.mode)


def shared_prefix(
    loaded: LoadedModel, template: str | None, config: Config, kept: Path | None = None
) -> SharedPrefix:
    """The engine of a loaded model, in the fastest mode that gives this model's own numbers.

    kept: file of the mode found earlier; without it, or where it does not exist, the model is checked.
    """
    preparer = Preparer.of(loaded, template)
    pad = loaded.processor.tokenizer.pad_token_id or 0
    forward = Forward(loaded.model, loaded.device, preparer.vocabulary, pad)
    choice = known_mode(kept) if kept else None
    if choice is None:
        try:
            choice = choose_mode(forward, probes(preparer), config.bucket)
        except UserError as error:
            raise UserError(f"{preparer.folder}: {error}") from None
        if kept:
            keep_mode(kept, choice)
    mode, report = choice
    engine = SharedPrefix(forward, preparer, config, mode, ends(loaded.model))
    engine.notes["self_check"] = report
    return engine
