"""The differences between families of transformers' models: the only file that names families.

The engines rely on what all vision-language models of the library have in common, and read off a model what
differs (position ids, kinds of cache layers, arguments of `forward`). All that cannot be read off is here:
`ModelFamily` has a hook for each such point, and its defaults suit most models. A family that needs
something else is a subclass that overrides a hook, and an entry of FAMILIES.

A hook that is missing does not go unnoticed: before a model is asked, the self-check (decoder/self_check.py)
compares padded batches and cached prefixes with the model's own logits, and refuses what differs.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from transformers import AutoTokenizer

from vouch.models.loading import LOCAL
from vouch.pipeline.errors import UserError
from vouch.tables.answered import SECOND


class ModelFamily:
    """A family of models, with the hooks in the order in which they are called.

    model_types: `model_type` of the configurations that belong to it.
    reader: how the names of the inputs for a second reader of the text begin, tokens of its own vocabulary;
    empty if there is none. reader_label: the name of that reader.
    """

    model_types: ClassVar[tuple[str, ...]] = ()
    reader: ClassVar[str] = ""
    reader_label: ClassVar[str] = ""

    def fits(self, config: Any) -> bool:
        """Whether a model with this configuration belongs to the family."""
        return config.model_type in self.model_types

    def check(self, processor: Any, folder: Path) -> None:
        """Loading, before the weights: completes a processor from its folder. Raises UserError."""

    def complete(self, processor: Any, config: Any) -> None:
        """Loading, before the weights: completes a processor from its model's configuration."""

    def indicators(self, config: Any) -> tuple[int, ...]:
        """Preparing: tokens around an image that belong to it, beside the image token itself."""
        return ()

    def reader_context(self, config: Any) -> int | None:
        """Preparing: most tokens that the second reader takes, None without a limit."""
        return None

    def joined(self, rows: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        """A pass: the image tensors of its rows together, by name of the argument."""
        return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}

    def beyond(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """A pass: the values beside tokens after the prompt. values: that of its last token, repeated."""
        return values


class LlavaFamily(ModelFamily):
    """LLaVA and models built like it. Processors saved by older code, or by a class of the authors' own
    (Mantis), lack the settings by which they count an image's tokens."""

    _STRATEGY = "vision_feature_select_strategy"

    def fits(self, config: Any) -> bool:
        """See ModelFamily.fits."""
        return hasattr(config, self._STRATEGY)

    def complete(self, processor: Any, config: Any) -> None:
        """See ModelFamily.complete."""
        if getattr(processor, "patch_size", 0) is not None:
            return
        tower = config.vision_config
        processor.patch_size = tower.patch_size
        setattr(processor, self._STRATEGY, getattr(config, self._STRATEGY))
        # CLIP's tower gives a class token as well.
        processor.num_additional_image_tokens = int(tower.model_type == "clip_vision_model")


class InstructBlip(ModelFamily):
    """InstructBLIP: its Q-Former reads the text as well, by a tokenizer of its own."""

    model_types = ("instructblip", "instructblipvideo")
    reader, reader_label = "qformer", "Q-Former"

    def check(self, processor: Any, folder: Path) -> None:
        """Loads the second tokenizer: if it cannot be read, transformers puts the first in its place."""
        if not (folder / SECOND).is_dir():
            raise UserError(
                f"{folder / SECOND}: no such folder, with the Q-Former's tokenizer; fetch the model anew"
            )
        setattr(processor, SECOND, AutoTokenizer.from_pretrained(folder / SECOND, **LOCAL))

    def reader_context(self, config: Any) -> int | None:
        """See ModelFamily.reader_context."""
        return getattr(config.qformer_config, "max_position_embeddings", None)


class Ovis2(ModelFamily):
    """Ovis 2: the tokens around an image have a meaning of their own."""

    model_types = ("ovis2",)

    def indicators(self, config: Any) -> tuple[int, ...]:
        """See ModelFamily.indicators."""
        return tuple(config.visual_indicator_token_ids)


class Molmo2(ModelFamily):
    """Molmo 2: patches are pooled by their index among all patches of a pass."""

    model_types = ("molmo2",)

    def joined(self, rows: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        """Shifts each row's indices behind the patches of the rows before it; -1 means no patch."""
        together = super().joined(rows)
        patches = rows[0]["pixel_values"].shape[:2].numel()
        pooling = [row["image_token_pooling"] for row in rows]
        shifted = [torch.where(one < 0, one, one + row * patches) for row, one in enumerate(pooling)]
        return together | {"image_token_pooling": torch.cat(shifted)}


class MiniCpm(ModelFamily):
    """MiniCPM-V: the patches of all images of a pass form one row."""

    model_types = ("minicpmv4_6", "minicpmv4_7", "minicpm_ocr")

    def joined(self, rows: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        """See ModelFamily.joined."""
        return {
            name: torch.cat([row[name] for row in rows], -1 if name == "pixel_values" else 0)
            for name in rows[0]
        }


class PaliGemma(ModelFamily):
    """PaliGemma: a prompt sees all of itself, and must not see the answer after it."""

    model_types = ("paligemma",)

    def beyond(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """See ModelFamily.beyond."""
        return torch.ones_like(values) if name == "token_type_ids" else values


FAMILIES: tuple[ModelFamily, ...] = (InstructBlip(), Ovis2(), Molmo2(), MiniCpm(), PaliGemma(), LlavaFamily())
"""The first that fits is used, so those named by their model type come first."""


def family_of(config: Any) -> ModelFamily:
    """The family of a model with this configuration: one of FAMILIES, or the defaults."""
    return next((family for family in FAMILIES if family.fits(config)), ModelFamily())
