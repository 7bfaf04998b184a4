"""Random worlds whose truth is known: simulated answers, scored and compared as the stages do it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import beta, norm

from tests.metrics.simulated import config
from vouch.metrics.blind import OF_ANSWERS, blind_in, blind_metrics, with_image_metrics
from vouch.metrics.calibration import clean_probabilities
from vouch.metrics.comparison.leaderboard import differences, leaderboard, variations
from vouch.metrics.conformal.figures import rows_of, set_figures, shift_figures
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.join import Block, VariationPrompts
from vouch.metrics.metric import CLEAN, mean_figure
from vouch.metrics.responses import Responses
from vouch.report.config import Scoring
from vouch.report.evidence import Evidence
from vouch.tables.asked import KEPT, LETTERS, ORIGINAL
from vouch.tables.results import DIFFERENCES, METRICS, OUTCOMES, VARIATIONS

OPTIONS, CHANCE = 4, 0.25
MODELS, CHANGES = ("ant", "bee", "cow"), ("vr_b_5", "lr_i")
LANGUAGE_MODEL, WITHOUT = "dog", "blank"
KINDS = ("guess", "tiny", "equal", "better", "fragile", "overconfident")
LOOKING = ("blind", "unseeing", "one_sees")
"""Kinds with a language model, images taken away, or both: all models see; none does; the first one does."""
MIXED = ("other_lead", "sees_less")
"""Kinds with a language model in which every second question has no image: no model sees, but all are better
than it on the questions without; the first one sees, but the language model is the most accurate of all."""
TEXT_ALONE = 0.45
"""What text alone answers there."""
EFFECT = 0.15
"""How much better, or how much less accurate in a variation, one model truly is on one dataset."""
BOAST = 0.15
"""What boasting leaves of the doubt: answers with a confidence of 97 % are right about EFFECT less often."""
LARGE = 400
CONFIG = config(splits=20)
SCORING = Scoring(
    alpha=CONFIG.main_alpha, calibration=CONFIG.calibration, splits=CONFIG.splits, bins=CONFIG.bins
)
RESAMPLES = 200


@dataclass(frozen=True)
class World:
    """accuracy: by model and dataset. losses: by these and a variation, else 0. boasts: confidence is too high.

    groups: of each dataset; copies: questions in a group, alike in difficulty. language_model: whether one is
    asked as well. without: whether images are taken away. unseeing: models that the image tells nothing.
    unpictured: accuracy on every second question, which has no image; empty if all have one.
    """

    seed: int
    groups: Mapping[str, int]
    accuracy: Mapping[tuple[str, str], float]
    copies: int = 1
    losses: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    boasts: frozenset[tuple[str, str]] = frozenset()
    language_model: bool = False
    without: bool = False
    unseeing: frozenset[str] = frozenset()
    unpictured: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def pictured(self, model: str, dataset: str) -> float:
        """Accuracy on the questions with an image."""
        whole = self.accuracy[model, dataset]
        return 2 * whole - self.unpictured.get((model, dataset), whole)


def mixed_world(seed: int, kind: str) -> World:
    """One of a kind of MIXED, with one dataset."""
    random = np.random.default_rng([seed, len(KINDS), len(LOOKING), MIXED.index(kind)])
    lead = random.uniform(0.2, 0.4)
    if kind == "other_lead":
        text, images = dict.fromkeys(MODELS, TEXT_ALONE + lead), dict.fromkeys(MODELS, TEXT_ALONE)
        text[LANGUAGE_MODEL] = TEXT_ALONE
    else:
        text, images = dict.fromkeys(MODELS, TEXT_ALONE), {MODELS[0]: TEXT_ALONE + lead}
        text[LANGUAGE_MODEL] = TEXT_ALONE + 0.45
    models = (*MODELS, LANGUAGE_MODEL)
    accuracy = {(m, "set0"): (text[m] + images.get(m, TEXT_ALONE)) / 2 for m in models}
    unpictured = {(m, "set0"): text[m] for m in models}
    unseeing = frozenset(MODELS) - ({MODELS[0]} if kind == "sees_less" else set())
    return World(
        seed, {"set0": 2 * LARGE}, accuracy, language_model=True, unseeing=unseeing, unpictured=unpictured
    )


def looking_world(seed: int, kind: str) -> World:
    """One of a kind of LOOKING: an image is worth EFFECT or more to a model that sees."""
    random = np.random.default_rng([seed, len(KINDS), LOOKING.index(kind)])
    groups = {f"set{number}": LARGE for number in range(random.integers(1, 3))}
    tested = [(True, True), (True, False), (False, True)][seed % 3]
    unseeing = frozenset({"blind": (), "unseeing": MODELS, "one_sees": MODELS[1:]}[kind])
    accuracy = {
        (model, name): TEXT_ALONE + (0 if model in unseeing else random.uniform(EFFECT, 0.4))
        for name in groups
        for model in MODELS
    }
    accuracy |= {(LANGUAGE_MODEL, name): TEXT_ALONE for name in groups}
    losses = {(*place, WITHOUT): accuracy[place] - TEXT_ALONE for place in accuracy}
    return World(seed, groups, accuracy, 1, losses, frozenset(), *tested, unseeing)


def world(seed: int, kind: str) -> World:
    """One of a kind. The effects stand on the first dataset, and are the first model's."""
    random = np.random.default_rng([seed, KINDS.index(kind)])
    names = [f"set{number}" for number in range(random.integers(1, 4))]
    places = list(product(MODELS, names))
    small = kind == "tiny"
    groups = {name: int(random.integers(3, 30) if small else random.integers(60, LARGE)) for name in names}
    copies = int(random.integers(1, 3))
    if small:
        accuracy = {place: random.uniform(CHANCE, 0.95) for place in places}
        losses = {(*place, change): random.uniform(-0.1, 0.2) for place, change in product(places, CHANGES)}
        return World(seed, groups, accuracy, copies, losses, frozenset(places[::2]))
    level = CHANCE if kind == "guess" else random.uniform(0.5, 0.75)
    accuracy = dict.fromkeys(places, level)
    first = places[0]
    if kind in KINDS[3:]:
        groups, copies = {**groups, first[1]: LARGE}, 1
    if kind == "better":
        return World(seed, groups, {**accuracy, first: level + EFFECT}, copies)
    if kind == "fragile":
        losses = {(model, first[1], CHANGES[0]): EFFECT for model in MODELS}
        return World(seed, groups, accuracy, copies, losses)
    boasts = frozenset((model, first[1]) for model in MODELS) if kind == "overconfident" else frozenset()
    return World(seed, groups, accuracy, copies, boasts=boasts)


def _responses(
    random: np.random.Generator, item: np.ndarray, accuracy: np.ndarray, boasts: bool, copies: int
) -> Responses:
    """Answers of one model to questions of difficulty item [n]: right as often as it says, if it does not boast.

    accuracy: [n] either all CHANCE, or all above.
    """
    n, guesses = len(item), bool((accuracy <= CHANCE).all())
    right_in = np.full(n, CHANCE)
    if not guesses:
        mean = (accuracy - CHANCE) / (1 - CHANCE)
        ease = norm.cdf(np.sqrt(0.5) * (item + random.standard_normal(n)))
        right_in += (1 - CHANCE) * beta.ppf(ease, 2 * mean, 2 * (1 - mean))
    stated = np.clip(random.uniform(0.3, 1, n) if guesses else right_in, CHANCE + 1e-6, 1 - 1e-6)
    stated = 1 - BOAST * (1 - stated) if boasts else stated
    picked, rows = random.integers(0, OPTIONS, n), np.arange(n)
    other = (picked + random.integers(1, OPTIONS, n)) % OPTIONS
    answer = np.where(random.random(n) < right_in, picked, other)
    p = np.repeat((1 - stated[:, None]) / (OPTIONS - 1), OPTIONS, axis=1)
    p[rows, picked] = stated
    answers = np.zeros((n, OPTIONS), dtype=bool, order="F")
    answers[rows, answer] = True
    full = np.full(n, OPTIONS)
    return Responses(
        logits=np.asfortranarray(np.log(p)),
        answers=answers,
        roles=np.asfortranarray(np.tile(np.arange(OPTIONS, dtype=np.int32), (n, 1))),
        letters=full,
        options=full,
        groups=rows // copies,
        categories=np.zeros(n, dtype=np.int64),
        noise=random.random(n),
        defective=np.zeros(n, dtype=bool),
    )


def evidence(world: World) -> Evidence:
    """What the report would read. Calibration errors and the like, of which no claim is made, are left out."""
    random = np.random.default_rng(world.seed)
    metrics, outcomes, items = [], [], []
    for name, groups in world.groups.items():
        names = [f"{name}-{number}" for number in range(groups * world.copies)]
        item = np.repeat(random.standard_normal(groups), world.copies)
        of = [f"{name}-g{number // world.copies}" for number in range(len(names))]
        options, answers = [["a", "b", "c", "d"]] * len(names), [[0]] * len(names)
        mixed = (MODELS[0], name) in world.unpictured
        images = [[] if mixed and number % 2 else ["digest"] for number in range(len(names))]
        columns = {"dataset": name, "id": names, "group": of, "options": options, "answers": answers}
        items.append(pd.DataFrame(columns | {"images": images}))
        asked_of = (*MODELS, *([LANGUAGE_MODEL] if world.language_model else []))
        for model in asked_of:
            plain: Block | None = None
            for change in (ORIGINAL, *CHANGES, *([WITHOUT] if world.without else [])):
                accuracy = np.full(
                    len(names), world.pictured(model, name) - world.losses.get((model, name, change), 0.0)
                )
                if mixed:
                    accuracy[1::2] = world.unpictured[model, name]
                found = _responses(
                    random,
                    item,
                    np.clip(accuracy, CHANCE, 0.97),
                    (model, name) in world.boasts,
                    world.copies,
                )
                asked = VariationPrompts(
                    np.ones(len(names), bool), found.groups, found.defective, np.array([""])
                )
                block = Block(change, asked, found, names, names, of, [KEPT] * len(names))
                plain = plain or block
                place = {"model": model, "dataset": name, "variation": change}
                rows, frame = _scored(block, plain)
                metrics += [place | row for row in rows]
                outcomes.append(frame.assign(**place))
        if world.language_model:
            every = 1 + len(CHANGES) + world.without
            plain = pd.concat(outcomes[-every * len(asked_of) :: every])
            metrics += _beside_language_model(name, metrics, plain, items[-1])
    return _compared(metrics, pd.concat(outcomes, ignore_index=True), pd.concat(items, ignore_index=True))


def _beside_language_model(
    dataset: str, metrics: Sequence[Mapping[str, object]], outcomes: pd.DataFrame, items: pd.DataFrame
) -> list[dict[str, object]]:
    """Rows of METRICS that there are only with a language model. outcomes: of all models, plain."""
    own = [row for row in metrics if (row["model"], row["dataset"]) == (LANGUAGE_MODEL, dataset)]
    columns = [OUTCOMES.schema.field(name) for name in OF_ANSWERS]
    answers = pa.Table.from_pandas(outcomes[list(OF_ANSWERS)], pa.schema(columns), preserve_index=False)
    of_items = pa.Table.from_pandas(items[["id", "options", "answers", "images"]], preserve_index=False)
    apart = answers.filter(pc.equal(answers["model"], LANGUAGE_MODEL))
    rows = blind_metrics(pa.Table.from_pylist(own, METRICS.schema), apart, of_items)
    found: list[dict[str, object]] = rows.to_pylist()
    return found + with_image_metrics(answers, of_items).to_pylist()


def _scored(block: Block, plain: Block) -> tuple[list[dict[str, object]], pd.DataFrame]:
    responses = block.responses
    probabilities = clean_probabilities(responses)
    correct = probabilities.correct
    splits = group_splits(responses.groups, CONFIG.calibration, CONFIG.seed, CONFIG.splits)
    rows = rows_of(responses, correct, CONFIG.scores, CONFIG.parameters)
    figures, membership = set_figures(rows, responses.groups, splits, CONFIG)
    figures.append(mean_figure("accuracy", correct, responses.groups, CLEAN))
    if block is not plain:
        figures += shift_figures(plain, block, CONFIG)
    sizes = {f"clean_size_{score}": membership[score].row_means(splits)[0] for score in ("lac", "aps")}
    chosen = responses.logits.argmax(axis=1)
    frame = pd.DataFrame(
        {"prompt": block.prompts, "item": block.items, "group": block.groups, "effect": block.effects}
        | {"output": LETTERS, "predicted": chosen, "chosen": chosen, "clean_correct": correct.astype(float)}
        | {"confidence": probabilities.confidence}
        | sizes
    )
    where = {"output": LETTERS, "protocol": CLEAN, "category": "all"}
    return [where | vars(figure) for figure in figures], frame


USED = (
    *(
        "model",
        "dataset",
        "prompt",
        "item",
        "group",
        "variation",
        "output",
        "effect",
        "parser",
        "answer",
        "predicted",
    ),
    *("chosen", "confidence", "clean_correct", "clean_size_lac", "clean_size_aps"),
)


def _compared(metrics: list[dict[str, object]], outcomes: pd.DataFrame, items: pd.DataFrame) -> Evidence:
    rows = outcomes.reindex(columns=list(USED)).astype({"answer": object, "parser": object})
    schema = pa.schema([OUTCOMES.schema.field(name) for name in USED])
    table = pa.Table.from_pandas(rows, schema, preserve_index=False)
    nothing = pd.DataFrame()
    measured = pa.Table.from_pylist(metrics, METRICS.schema)
    blind = blind_in(measured)
    pictured = items[items["images"].map(len) > 0].groupby("dataset")["id"].apply(list).to_dict()
    tested = pa.Table.from_pylist(differences(table, 1, RESAMPLES, blind, pictured), DIFFERENCES.schema)
    costs = pa.Table.from_pylist(list(variations(table, 1, RESAMPLES)), VARIATIONS.schema)
    return Evidence(
        leaderboard=leaderboard(measured, blind).to_pandas(),
        differences=tested.to_pandas(),
        costs=costs.to_pandas(),
        outcomes=rows,
        items=items,
        **dict.fromkeys(
            (
                "reproduced",
                "rankings",
                "ranked",
                "rejects",
                "defects",
                "rewrites",
                "dimensions",
                "distances",
                "trends",
            ),
            nothing,
        ),
        scoring=SCORING,
    )
