"""Nonconformity scores, one file each; the file name is the score's name in `score.scores`.

Every file defines nonconformity(ranked, settings) -> [n, k], the score of every letter of Ranked rows by its
definition. The clean protocol builds {letters with a score <= threshold} from it, so a score has no unit:
only its order counts. Letters of equal probability have equal scores.

The two scores of the benchmark define further, for Beliefs of n prompts with k letters:

answer_scores(probabilities) -> [n]             the authors' score of the answer, in the stored dtype
authors_sets(probabilities, threshold) -> Sets  the authors' prediction sets

An item with several answers has the smallest score among them, because a set covers it as soon as
it holds one of them.
"""

from pydantic import BaseModel, ConfigDict, Field


class Raps(BaseModel):
    """penalty: what each place beyond the first k_reg adds to a score (lambda in the paper)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    penalty: float = Field(default=0.1, ge=0)
    k_reg: int = Field(default=2, ge=0)


class Saps(BaseModel):
    """penalty: what each place below the first adds to a score (lambda in the paper)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    penalty: float = Field(default=0.2, ge=0)


class Settings(BaseModel):
    """Parameters of the scores that have some."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    raps: Raps = Raps()
    saps: Saps = Saps()
