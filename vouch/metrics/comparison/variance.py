"""How much of the variance of a model's scores is the question's, the prompt's and the sampling's.

Random effects, estimated by the method of moments: mean squares are set equal to their expectations.
Questions are crossed with prompts, runs are nested in both; with unequal numbers of runs by the analysis of
unweighted means (Searle, Casella and McCulloch 1992; of tests and raters: Brennan 2001).
"""

from typing import NamedTuple

import numpy as np

from vouch.metrics.responses import Array, Floats, Ints

QUESTION, PROMPT, BOTH, SAMPLING = "question", "prompt", "question x prompt", "sampling"


class Components(NamedTuple):
    """by: the variance of each source that the design tells apart, at least 0; `a + b` names two together.

    items: questions that were asked with every prompt; the others do not count. prompts: how many.
    """

    items: int
    prompts: int
    by: dict[str, float]


def components(scores: Floats, items: Ints, prompts: Ints) -> Components | None:
    """Variance components of one model's scores [n], by their item [n] and prompt [n].

    None with fewer than two items that were asked with every prompt. With I items, P prompts and cells of
    n_ip runs, y_ip their means and h the mean of 1 / n_ip:

    sampling           s = sum (x - y_ip)^2 / sum (n_ip - 1)
    question x prompt  MS_ip - h s, with MS_ip = sum (y_ip - y_i. - y_.p + y_..)^2 / ((I - 1) (P - 1))
    question           (P sum (y_i. - y_..)^2 / (I - 1) - MS_ip) / P
    prompt             (I sum (y_.p - y_..)^2 / (P - 1) - MS_ip) / I

    A negative estimate is 0. With one prompt the question's is sum (y_i - y_.)^2 / (I - 1) - h s.
    """
    centre = scores.mean()  # so that equal scores leave no rounding
    prompts = np.unique(prompts, return_inverse=True)[1]
    count = int(prompts.max()) + 1
    asked = np.unique(items * count + prompts) // count
    kept = np.bincount(asked)[items] == count
    items = np.unique(items[kept], return_inverse=True)[1]
    if not len(items) or items.max() < 1:
        return None
    shape = int(items.max()) + 1, count
    cells = items * count + prompts[kept]
    n = np.bincount(cells).reshape(shape)
    y = np.bincount(cells, scores[kept] - centre).reshape(shape) / n
    rest = scores[kept] - centre - y.reshape(-1)[cells]
    squares = float((rest**2).sum())
    freedom = int((n - 1).sum())
    run = squares / freedom if freedom else None
    return Components(len(y), y.shape[1], _sources(y, float((1 / n).mean()), run))


def _sources(y: Array, h: float, run: float | None) -> dict[str, float]:
    """y: [I, P] cell means. h: mean of 1 / n. run: the sampling variance; None if no cell has two runs."""
    items, prompts = y.shape
    by_item, by_prompt, mean = y.mean(axis=1), y.mean(axis=0), y.mean()
    noise = 0.0 if run is None else h * run
    own = {} if run is None else {SAMPLING: run}
    if prompts == 1:
        name = QUESTION if run is not None else f"{QUESTION} + {SAMPLING}"
        return {name: max(0.0, float(((by_item - mean) ** 2).sum()) / (items - 1) - noise)} | own
    rest = y - by_item[:, None] - by_prompt + mean
    both = float((rest**2).sum()) / ((items - 1) * (prompts - 1))
    question = float(((by_item - mean) ** 2).sum()) / (items - 1) - both / prompts
    prompt = float(((by_prompt - mean) ** 2).sum()) / (prompts - 1) - both / items
    name = BOTH if run is not None else f"{BOTH} + {SAMPLING}"
    sources = {QUESTION: question, PROMPT: prompt, name: both - noise}
    return {source: max(0.0, value) for source, value in sources.items()} | own
