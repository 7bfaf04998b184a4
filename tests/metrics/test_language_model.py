"""Another release, of a language model: LLaMA-13B on 16 subjects of MMLU, ten prompts each (Kumar et al. 2023)."""

import json
from functools import cache

import numpy as np
import pytest

from tests.metrics.simulated import SHARED
from vouch.metrics.calibration.calibration import authors_probabilities
from vouch.metrics.protocols import AUTHORS, authors_split, authors_threshold
from vouch.metrics.responses import Responses

FOLDER = SHARED.parent / "outputs/conformalllm"
SEEDS = 30
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="needs the answers that the authors of ConformalLLM released"
)


@cache
def released() -> dict[str, list[Responses]]:
    """By subject, the answers to each prompt."""
    found = {}
    with np.load(FOLDER / "llama13b_mmlu16_10prompts.npz", allow_pickle=False) as data:
        for name in data.files:
            subject, _, kind = name.rpartition("_")
            if kind == "scores":
                found[subject] = [responses(p, data[f"{subject}_targets"]) for p in data[name]]
    return found


def responses(p: np.ndarray, answer: np.ndarray) -> Responses:
    count, letters = p.shape
    answers = np.eye(letters, dtype=bool)[answer]
    return Responses(
        logits=np.asfortranarray(np.log(p)),
        answers=np.asfortranarray(answers),
        roles=np.asfortranarray(np.tile(np.arange(letters, dtype=np.int32), (count, 1))),
        letters=np.full(count, letters),
        options=np.full(count, letters),
        groups=np.arange(count),
        categories=np.zeros(count, dtype=np.int64),
        noise=np.zeros(count),
        defective=np.zeros(count, dtype=bool),
    )


def test_every_accuracy_comes_out() -> None:
    """16 subjects, ten prompts; printed with three digits."""
    printed = json.loads((FOLDER / "published_accuracy_per_prompt.json").read_text("utf-8"))
    ours = {
        subject: [round(float(authors_probabilities(each).correct.mean()), 3) for each in prompts]
        for subject, prompts in released().items()
    }
    assert ours == printed and sum(map(len, ours.values())) == 160


def test_sets_are_as_large_as_printed() -> None:
    """LAC at alpha 0.1, mean over the prompts; their splits are not known, ours are 30 seeds."""
    printed = json.loads((FOLDER / "published_notebook_lac.json").read_text("utf-8"))
    for subject, prompts in released().items():
        sizes, covered = [], []
        for each in prompts:
            probabilities = authors_probabilities(each)
            scores = AUTHORS["lac"].answers(probabilities)
            for seed in range(SEEDS):
                test, calibration = authors_split(len(each), 0.5, seed)
                sets = AUTHORS["lac"].sets(
                    probabilities, authors_threshold(scores[calibration], printed["alpha"])
                )
                sizes.append(sets.size[test].mean())
                covered.append(sets.covered[test].mean())
        name = subject.replace("_", " ")
        assert np.mean(sizes) == pytest.approx(printed["set_size"][name], abs=0.1), name
        assert 100 * np.mean(covered) == pytest.approx(printed["coverage_pct"][name], abs=3), name
