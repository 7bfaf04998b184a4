"""Parameters of `vary`: some keys of `datasets.NAME`, and `variations`, of params.yaml."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

RELEASED = "released"


class DatasetPrompts(BaseModel):
    """How one dataset is asked.

    template: a file of vouch/prompts/templates. variant: one of its variants. outputs: what questions with
    options are asked for; None for the template's own. variations: names (combination.py), in the order of
    the prompts. rows: `all` items, or the `exchangeable` ones, whose answer
    the variation vs_e can flip: PARC (Schmalfuss et al. 2025) scores all variations of a comparative set on
    the same items. loader: that of the dataset."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    template: str
    variant: str | None = None
    outputs: tuple[str, ...] | None = None
    variations: tuple[str, ...] = Field(min_length=1)
    rows: Literal["all", "exchangeable"] = "all"
    loader: str = ""

    @property
    def asked(self) -> bool:
        """Whether models are asked: questions of released logits come without the images that they show."""
        return self.loader != RELEASED

    @property
    def name(self) -> str:
        """The template with its variant, as the prompts table has it: `reform_vqa_likelihood`."""
        return template_name(self.template, self.variant)


def models_of_variants(entry: Mapping[str, Any]) -> dict[str | None, list[str]]:
    """By variant, the models of a dataset's entry that are asked with another one than the rest."""
    models: dict[str | None, list[str]] = {}
    for model, variant in sorted((entry.get("variants") or {}).items()):
        if variant != entry.get("variant"):
            models.setdefault(variant, []).append(model)
    return models


def template_name(template: str, variant: str | None) -> str:
    """A template and its variant in one name."""
    return template if variant is None else f"{template}_{variant}"


def config_of(
    entry: Mapping[str, Any], variations: Sequence[str], outputs: Sequence[str] | None = None
) -> DatasetPrompts:
    """The parameters in a dataset's entry. variations, outputs: the profile's, for entries that name none."""
    own = {key: entry[key] for key in DatasetPrompts.model_fields if entry.get(key) is not None}
    return DatasetPrompts.model_validate({"variations": variations, "outputs": outputs, **own})
