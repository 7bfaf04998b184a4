"""Letter logits by plain batching: whole prompts, padded on the right, a fixed number of rows.

Every forward pass of one shape has the same rows and length, whoever shares it: missing rows are
filled with copies of the last one. So the bits of an answer depend on its own prompt and on
`extract:` in params.yaml, never on which other prompts are asked.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from stages.extract.batches import in_batches
from stages.extract.config import Config
from stages.extract.engine import LetterAnswer, Question
from stages.extract.model_loading import LoadedModel
from stages.extract.preparing import Prepared, Preparer
from stages.runtime.errors import UserError

LOW_MASS = 0.5
HELD_BATCHES = 8  # prepared questions that wait for others of their shape, in batches


class LetterScorer:
    """An Engine (see engine.py) for models whose processor has a chat template."""

    def __init__(self, loaded: LoadedModel, config: Config) -> None:
        self._model, self.device = loaded.model, loaded.device
        self._preparer = Preparer(loaded.processor, loaded.context, config.bucket)
        # Where the size of a picture reaches the model hardly two prompts share a shape, and filling
        # every pass with copies would cost more than it saves: one row then.
        self._rows = config.batch if self._preparer.one_shape() else 1
        self.notes: dict[str, Any] = {
            "rows": self._rows,
            "spelling": self._preparer.spelling,
            "forward_passes": 0,
            "filling_rows": 0,
        }

    def letters(self, questions: Iterable[Question]) -> Iterator[tuple[str, LetterAnswer]]:
        """See Engine.letters. Answers come batch by batch, those of a failing batch before its error."""
        prepared = (self._preparer.prepare(question) for question in questions)
        for batch in in_batches(prepared, self._rows, HELD_BATCHES * self._rows):
            yield from self._answers(batch)

    @torch.inference_mode()
    def _logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """float32 logits over the tokenizer's vocabulary after each prompt: (rows, vocabulary).

        Rows of the last projection beyond the tokenizer's vocabulary are padding and are cut off.
        """
        rows = [*batch, *[batch[-1]] * (self._rows - len(batch))]
        inputs = {name: torch.cat([row.inputs[name] for row in rows]) for name in batch[0].inputs}
        for name, value in inputs.items():
            dtype = self._model.dtype if value.is_floating_point() else value.dtype
            inputs[name] = value.to(self.device, dtype)
        last = torch.tensor([[row.tokens - 1] for row in rows], device=self.device)
        try:
            output = self._model(**inputs, logits_to_keep=last, use_cache=False)
        except torch.OutOfMemoryError:
            raise UserError(
                f"prompt {batch[0].id}: no memory left on {self.device} for {len(rows)} rows of "
                f"{inputs['input_ids'].shape[1]} tokens; lower extract.batch (answers so far are kept)"
            ) from None
        self.notes["forward_passes"] += 1
        self.notes["filling_rows"] += len(rows) - len(batch)
        logits: torch.Tensor = output.logits[:, 0, : self._preparer.vocabulary].float()
        return logits

    def _answers(self, batch: Sequence[Prepared]) -> Iterator[tuple[str, LetterAnswer]]:
        logits = self._logits(batch)
        log_probs = logits.log_softmax(dim=-1)
        probs = log_probs.exp()
        entropy = -torch.where(probs > 0, probs * log_probs, 0).sum(dim=-1)
        failed: str | None = None
        for row, prepared in enumerate(batch):
            values = logits[row, list(prepared.letters.read)]
            if not (torch.isfinite(values).all() and torch.isfinite(entropy[row])):
                failed = failed or prepared.id
                continue
            mass = float(probs[row, list(prepared.letters.read)].sum())
            other = float(probs[row, list(prepared.letters.other)].sum())
            flags = list(prepared.flags)
            flags += ["low_mass"] if mass + other < LOW_MASS else []
            flags += ["other_spelling"] if other > mass else []
            yield prepared.id, LetterAnswer(values.tolist(), mass + other, float(entropy[row]), flags)
        if failed is not None:
            raise UserError(
                f"prompt {failed}: the model's logits are not finite; check its weights, or give it "
                "another dtype in models.lock (answers so far are kept)"
            )
