"""The engine for models with a text encoder, which write with a separate decoder.

A prompt and its images go through the encoders once. The keys and values of the cross-attention then serve
every option and every decoding of the prompt.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import EncoderDecoderCache

from vouch.models.batching import padded_length
from vouch.models.config import ExtractConfig
from vouch.models.decoder.answering import RowEngine
from vouch.models.decoder.decoding import ends, letter_answers, likelihood_answer, token_nlls
from vouch.models.decoder.passes import fresh, images_of, rows_of
from vouch.models.decoder.preparing import LoadedModel, Prepared, Preparer
from vouch.models.decoder.rows import EncoderRow
from vouch.models.engine import Answered
from vouch.tables.asked import LIKELIHOOD, TEXT


class EncoderDecoder(RowEngine[EncoderRow]):
    """An Engine (vouch/models/engine.py)."""

    PASSES = ("encoder", "option")

    def __init__(self, loaded: LoadedModel, template: str | None, config: ExtractConfig) -> None:
        preparer = Preparer.of(loaded, template)
        super().__init__(preparer, config, loaded.device, EncoderRow.mode, ends(loaded.model))
        self._model, self._vocabulary = loaded.model, preparer.vocabulary

    def _jobs(self, output: str, prepared: Sequence[Prepared]) -> Iterator[EncoderRow]:
        needs = self._preparer.needs
        for one in prepared:
            ids = torch.tensor([one.ids])
            images = {name: value for name, value in one.shown.items() if not needs.of_reader(name)}
            asked = {name: value for name, value in one.shown.items() if name not in images and images}
            texts = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **one.by_token, **asked}
            lengths = {name: self._length(name, value.shape[1]) for name, value in texts.items()}
            longest = max((len(option) - 1 for option in one.options), default=0)
            yield EncoderRow(output, one, texts, lengths, images, 1 << max(0, longest - 1).bit_length())

    def _length(self, name: str, tokens: int) -> int:
        padded = padded_length(tokens, self._config.bucket)
        needs = self._preparer.needs
        most = needs.reader_context if needs.of_reader(name) else None
        return padded if most is None else min(padded, most)

    def _computed(self, rows: Sequence[EncoderRow], real: int) -> list[Answered]:
        read = _EncoderPass(self._model, self.device, self._vocabulary, rows)
        self.notes["passes"]["encoder"] += 1
        prepared = [row.prepared for row in rows[:real]]
        if rows[0].output == TEXT:
            return self._texts(rows[:real], lambda: (read.logits, _Continued(read).step))
        if rows[0].output == LIKELIHOOD:
            nlls = self._nlls(rows, read)[:real]
            answers: list[tuple[Any, list[str]]] = [(likelihood_answer(options), []) for options in nlls]
        else:
            letters = [one.letters for one in prepared if one.letters is not None]
            answers = [*letter_answers(read.logits, list(enumerate(letters)))]
        return [
            Answered(one.question.id, answer, None, (*one.flags, *flags), EncoderRow.mode)
            for one, (answer, flags) in zip(prepared, answers, strict=True)
        ]

    def _nlls(self, rows: Sequence[EncoderRow], read: "_EncoderPass") -> list[list[list[float]]]:
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

    def __init__(self, model: Any, device: str, vocabulary: int, rows: Sequence[EncoderRow]) -> None:
        self.language_model, self.vocabulary = model.language_model, vocabulary
        given = {
            name: _padded([row.texts[name] for row in rows], length).to(device)
            for name, length in rows[0].lengths.items()
        }
        self.attention_mask = given["attention_mask"]
        images = images_of([row.images for row in rows], model, device)
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
    """The decoder goes on after its beginning."""

    def __init__(self, read: _EncoderPass) -> None:
        self._read = read
        # Keys and values of the encoder's output are only read, so all continuations share them.
        self._cache = EncoderDecoderCache(
            fresh(read.cache.self_attention_cache), read.cache.cross_attention_cache
        )
        self._mask, self._encoded = read.attention_mask, read.encoded

    def step(self, tokens: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """[m, vocabulary] float32 after one further token [m] of every row. rows: see `NextLogits`."""
        if rows is not None:
            caches = (self._cache.self_attention_cache, self._cache.cross_attention_cache)
            self._cache = EncoderDecoderCache(*(rows_of(cache, rows) for cache in caches))
            self._mask, self._encoded = self._mask[rows], tuple(one[rows] for one in self._encoded)
        return self.read(tokens[:, None])[:, 0]

    def read(self, ids: torch.Tensor) -> torch.Tensor:
        """[r, n, vocabulary] float32 after each of the tokens [r, n]."""
        read = self._read
        result = read.language_model(
            encoder_outputs=self._encoded,
            attention_mask=self._mask,
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
