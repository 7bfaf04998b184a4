"""Parameters of `ingest`: one entry `ingest.MODEL-DATASET` of params.yaml."""

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """file: what others released of `model` on `dataset`, in a form of vouch/models/released/forms.

    form: its name, where the file's suffix does not tell it. For logs of samples only, key: the field
    that names the item (`doc.id`), by default the doc_id counts them; filter: which of several filters.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    dataset: str
    file: str = Field(pattern=r"^[^\x00-\x1f\x7f]+$")
    form: str | None = None
    key: str | None = Field(default=None, min_length=1)
    filter: str | None = None
