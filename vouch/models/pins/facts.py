"""What is known of a model beside its weights: what analyses group by and regress on. Null: not known."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

_Count = Field(default=None, ge=1)


class Facts(BaseModel):
    """Facts from the papers that measured a model, and from its model card (licence).

    papers                      short names of the papers: Kostumov et al. 2024, Azad et al. 2025 (The Art
                                of Saying "Maybe"), Li et al. 2023 (ReForm-Eval), Tu et al. 2024 (Ranked
                                from Within), Schmalfuss et al. 2025 (PARC)
    family, series              LLaVA and LLaVA-1.5
    base_or_chat                whether the model was tuned to follow instructions
    language_model, vision_encoder, connector   names; parts of the model
    language_model_parameters, total_parameters, trainable_parameters   counts
    visual_tokens               tokens that one picture becomes
    resolution                  side of the square that the vision encoder sees, pixels
    training_data               names of data sets
    training_data_size          samples, pre-training and instruction tuning together
    curation                    high: established data sets in balance; low: crawled, annotated by machine
    licence                     as the model card writes it
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    papers: list[Literal["kostumov", "azad", "reform", "tu", "parc"]] = []
    family: str | None = None
    series: str | None = None
    base_or_chat: Literal["base", "chat"] | None = None
    language_model: str | None = None
    language_model_parameters: int | None = _Count
    vision_encoder: str | None = None
    connector: str | None = None
    total_parameters: int | None = _Count
    trainable_parameters: int | None = _Count
    visual_tokens: int | None = _Count
    resolution: int | None = _Count
    training_data: list[str] | None = None
    training_data_size: int | None = _Count
    curation: Literal["high", "low"] | None = None
    licence: str | None = None
