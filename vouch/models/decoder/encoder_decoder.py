"""The engine for encoder-decoder models (BLIP-2 on T5).

A prompt goes through vision tower, Q-Former and encoder once. The keys and values of its cross-attention then
serve every option and every decoding of the prompt.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import EncoderDecoderCache

from vouch.models.config import Config
from vouch.models.decoder.decoding import ends, letter_answers, likelihood_answer, token_nlls
from vouch.models.decoder.passes import Inputs, fresh
from vouch.models.decoder.preparing import LoadedModel, Prepared, Preparer
from vouch.models.decoder.row_engine import RowEngine
from vouch.models.decoder.rows import padded_length
from vouch.models.engine import Answered
from vouch.tables.asked import LIKELIHOOD, TEXT


@dataclass(frozen=True)
class Row:
    """One prompt. texts: [1, n] integer tensors of any number of tokens each, padded to `lengths`.

    images: other tensors. option_length: tokens of an option that the decoder reads, padded.
    """

    output: str
    prepared: Prepared
    texts: Mapping[str, torch.Tensor]
    lengths: Mapping[str, int]
    images: Mapping[str, torch.Tensor]
    option_length: int
    mode: str = "encoder_decoder"

    @property
    def shape(self) -> Hashable:
        """What rows of one pass have in common."""
        images = tuple((name, tuple(value.shape)) for name, value in sorted(self.images.items()))
        options = len(self.prepared.options), self.option_length
        return self.output, tuple(sorted(self.lengths.items())), len(self.prepared.prefill), images, options

    @property
    def length(self) -> int:
        """Tokens of the prompt, padded."""
        return self.lengths["input_ids"]

    @property
    def asked(self) -> list[Prepared]:
        """The question that it serves."""
        return [self.prepared]


class EncoderDecoder(RowEngine[Row]):
    """An Engine, see engine.py."""

    def __init__(self, loaded: LoadedModel, template: str | None, config: Config) -> None:
        preparer, passes = Preparer.of(loaded, template), ("encoder", "option")
        super().__init__(preparer, config, loaded.device, Row.mode, passes, ends(loaded.model))
        self._model, self._vocabulary = loaded.model, preparer.vocabulary

    def _jobs(self, output: str, prepared: Sequence[Prepared]) -> Iterator[Row]:
        needs = self._preparer.needs
        for one in prepared:
            ids = torch.tensor([one.ids])
            images = {name: value for name, value in one.shown.items() if not needs.of_reader(name)}
            asked = {name: value for name, value in one.shown.items() if name not in images and images}
            texts = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **one.by_token, **asked}
            lengths = {name: self._length(name, value.shape[1]) for name, value in texts.items()}
            longest = max((len(option) - 1 for option in one.options), default=0)
            yield Row(output, one, texts, lengths, images, 1 << max(0, longest - 1).bit_length())

    def _length(self, name: str, tokens: int) -> int:
        padded = padded_length(tokens, self._config.bucket)
        needs = self._preparer.needs
        most = needs.reader_context if needs.of_reader(name) else None
        return padded if most is None else min(padded, most)

    def _computed(self, rows: Sequence[Row], real: int) -> list[Answered]:
        read = _EncoderPass(self._model, self.device, self._vocabulary, rows)
        self.notes["passes"]["encoder"] += 1
        prepared = [row.prepared for row in rows[:real]]
        if rows[0].output == TEXT:
            return self._texts(rows[:real], lambda: _Continued(read))
        if rows[0].output == LIKELIHOOD:
            nlls = self._nlls(rows, read)[:real]
            answers: list[tuple[Any, list[str]]] = [(likelihood_answer(options), []) for options in nlls]
        else:
            letters = [one.letters for one in prepared if one.letters is not None]
            answers = [*letter_answers(read.logits, list(enumerate(letters)))]
        return [
            Answered(one.question.id, answer, None, (*one.flags, *flags), Row.mode)
            for one, (answer, flags) in zip(prepared, answers, strict=True)
        ]

    def _nlls(self, rows: Sequence[Row], read: "_EncoderPass") -> list[list[list[float]]]:
        """For each row and option the NLL of its tokens and the end token, in one pass per option."""
        known: list[list[list[float]]] = [[] for _ in rows]
        length = rows[0].option_length
        for number in range(len(rows[0].prepared.options)):
            options = [row.prepared.options[number] for row in rows]
            first = token_nlls(read.logits, [(row, option[0]) for row, option in enumerate(options)])
            ids = _padded([torch.tensor([option[:-1]], dtype=torch.long) for option in options], length)
            logits = _Continued(read).read(ids.to(self.device))
            self.notes["passes"]["option"] += 1
            positions = [
                (row * length + position, token)
                for row, option in enumerate(options)
                for position, token in enumerate(option[1:])
            ]
            later = iter(token_nlls(logits.flatten(0, 1), positions))
            for row, option in enumerate(options):
                known[row].append([first[row], *(next(later) for _ in option[1:])])
        return known


class _EncoderPass:
    """A pass over r prompts and the decoder's beginning.

    logits: [r, vocabulary] float32 of the token after the beginning. cache: what the decoder keeps.
    """

    def __init__(self, model: Any, device: str, vocabulary: int, rows: Sequence[Row]) -> None:
        self.language_model, self.vocabulary = model.language_model, vocabulary
        given = {
            name: _padded([row.texts[name] for row in rows], length).to(device)
            for name, length in rows[0].lengths.items()
        }
        self.attention_mask = given["attention_mask"]
        images = Inputs(model, device).shown([row.images for row in rows])
        start = self.language_model.config.decoder_start_token_id
        prefill = [[start, *row.prepared.prefill] for row in rows]
        result = (model if images else self.language_model)(
            **{**images, **given},
            decoder_input_ids=torch.tensor(prefill, device=device),
            use_cache=True,
        )
        result = result.language_model_outputs if images else result
        self.encoded = (result.encoder_last_hidden_state,)
        self.cache = result.past_key_values
        self.logits = result.logits[:, -1, :vocabulary].float()


class _Continued:
    """The decoder goes on after its beginning; see decoding.Continuation."""

    def __init__(self, read: _EncoderPass) -> None:
        self._read, self.logits = read, read.logits
        # Keys and values of the encoder's output are only read, so all continuations share them.
        self._cache = EncoderDecoderCache(
            fresh(read.cache.self_attention_cache), read.cache.cross_attention_cache
        )

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """See Continuation.step."""
        return self.read(tokens[:, None])[:, 0]

    def read(self, ids: torch.Tensor) -> torch.Tensor:
        """[r, n, vocabulary] float32 after each of the tokens [r, n]."""
        read = self._read
        result = read.language_model(
            encoder_outputs=read.encoded,
            attention_mask=read.attention_mask,
            decoder_input_ids=ids,
            past_key_values=self._cache,
            use_cache=True,
        )
        logits: torch.Tensor = result.logits[..., : read.vocabulary].float()
        return logits


def _padded(rows: Sequence[torch.Tensor], length: int) -> torch.Tensor:
    """[r, length] of rows [1, n], with zeros on the right, which are masked."""
    padded = torch.zeros((len(rows), length), dtype=torch.long)
    for row, value in enumerate(rows):
        padded[row, : value.shape[1]] = value[0]
    return padded
