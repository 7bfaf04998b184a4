"""What a picture adds and which uncertainty estimates tell right from wrong: each against its formula written again,
and against simulations whose truth is known.
"""

from collections import Counter
from dataclasses import replace
from math import exp, log
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import entropy as shannon

import vouch
from tests.metrics.simulated import by_name, config, simulate, tables
from vouch.metrics.calibration import equal_slots
from vouch.metrics.compared import Compared, festa_estimate, picture_figures
from vouch.metrics.intervals import about
from vouch.metrics.join import Block, join
from vouch.metrics.perturbation import Predictions, PromptIndex, typographic_figures
from vouch.metrics.tables import score_block
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import text_blocks
from vouch.metrics.uncertainty import image_information, uncertainty_figures
from vouch.tables.answered import TEXT
from vouch.tables.asked import ITEMS, PROMPTS, painted_option

RNG = np.random.default_rng(3)
LOGITS, BLIND = RNG.normal(size=(2, 400, 4)) * [[[2.0]], [[1.0]]]


def test_image_information_follows_its_definition_row_by_row() -> None:
    found = image_information(log_softmax(LOGITS, axis=1), log_softmax(BLIND, axis=1), alpha=0.5)
    for row, (one, other) in enumerate(zip(LOGITS, BLIND, strict=True)):
        p, q, best = softmax(one), softmax(other), int(one.argmax())
        information = shannon(q) - shannon(p)
        assert found.gain[row] == pytest.approx(log(p[best] / q[best]))
        assert found.information[row] == pytest.approx(information)
        assert found.uncertainty[row] == pytest.approx(shannon(p) - 0.5 * information)
        contrast = softmax(1.5 * log_softmax(one) - 0.5 * log_softmax(other))
        assert found.corrected[row] == pytest.approx(contrast[best])


def block(logits: np.ndarray, variation: str, seed: int = 1) -> Block:
    """Answers of simulated questions with these logits."""
    responses = replace(simulate(seed, len(logits), dtype=np.float64), logits=np.asfortranarray(logits))
    return join(*tables(responses, variation), "here")[0]


def test_a_model_that_does_not_look_gains_nothing() -> None:
    logits = simulate(1, 500, dtype=np.float64).logits
    found = by_name(picture_figures(block(logits, "original"), block(logits, "blank"), config()))
    assert found["", "image_gain"].value == found["", "image_information"].value == 0
    assert found["", "correct_without_image"].value == 1
    assert found["", "ece_gain"].value == pytest.approx(0, abs=1e-12)
    moved = np.roll(logits, 1, axis=1)
    assert (
        by_name(picture_figures(block(logits, "original"), block(moved, "text_only"), config()))[
            "", "image_gain"
        ].value
        > 0.5
    )
    for other in ("option_order", "vr_l", "blank+option_order"):
        assert picture_figures(block(logits, "original"), block(moved, other), config()) == []


def test_another_order_of_the_options_is_not_compared() -> None:
    logits = simulate(1, 300, dtype=np.float64).logits
    plain, blind = block(logits, "original"), block(logits, "blank")
    roles = blind.responses.roles.copy(order="F")
    roles[:100, :2] = roles[:100, 1::-1]
    blind = replace(blind, responses=replace(blind.responses, roles=roles))
    assert by_name(picture_figures(plain, blind, config()))["", "image_gain"].items == 200


def test_what_words_alone_say_is_corrected_where_they_mislead() -> None:
    """Logits are evidence of the picture plus a prior of the words that has nothing to do with the answer: the
    picture alone is calibrated, so dividing the prior out must help, and the paired intervals must say so."""
    rng, n, k = np.random.default_rng(0), 3000, 4
    answers = rng.integers(0, k, n)
    evidence = rng.normal(size=(n, k)) + (answers[:, None] == np.arange(k))
    prior = 1.5 * rng.normal(size=(n, k))
    found = vouch.image_information(evidence + prior, prior, answers, alpha=0.5)
    assert found.auroc_corrected is not None and found.auroc_corrected.low is not None
    assert found.auroc_corrected.low > 0
    plain, other = (simulate(1, n, k + 2, dtype=np.float64) for _ in range(2))
    picked = answers[:, None] == np.arange(k)
    sides = [
        replace(
            each,
            logits=np.asfortranarray(logits),
            answers=np.asfortranarray(picked),
            letters=np.full(n, k),
            options=np.full(n, k),
            roles=np.asfortranarray(np.tile(np.arange(k, dtype=np.int32), (n, 1))),
        )
        for each, logits in ((plain, evidence + prior), (other, prior))
    ]
    blocks = [
        join(*tables(each, name), "here")[0] for each, name in zip(sides, ("original", "blank"), strict=True)
    ]
    figures = by_name(picture_figures(*blocks, config()))
    logs = log_softmax(evidence + prior, axis=1), log_softmax(prior, axis=1)
    right = logs[0].argmax(axis=1) == answers
    corrected = image_information(*logs).corrected
    slots = equal_slots(corrected, 15)
    gaps = [abs((right - corrected)[slots == slot].sum()) for slot in np.unique(slots)]
    assert figures["", "ece_corrected"].value == pytest.approx(sum(gaps) / n)
    assert figures["", "image_gain"].value == pytest.approx(found.gain.value)
    assert figures["", "image_information"].value == pytest.approx(found.information.value)


def _auroc(signal: np.ndarray, right: np.ndarray) -> float:
    gaps = signal[right == 1][:, None] - signal[right == 0]
    return float((gaps > 0).mean() + (gaps == 0).mean() / 2)


def test_aurocs_of_estimates_and_their_paired_intervals() -> None:
    """Two estimates that share most of their noise: their AUROCs are known, and the interval of the difference holds
    it as often as it says, and is shorter than that of either."""
    normal, held, runs = NormalDist(), 0, 120
    shift = {"confidence": 1.0, "better": 1.4}
    true = {name: normal.cdf(each / 2**0.5) for name, each in shift.items()}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        right = (rng.random(400) < 0.6).astype(float)
        common = rng.normal(size=400)
        estimates = {
            name: right * each + 0.9 * common + (1 - 0.81) ** 0.5 * rng.normal(size=400)
            for name, each in shift.items()
        }
        found = by_name(uncertainty_figures(estimates, right, np.arange(400), seed))
        gain = found["better", "uncertainty_gain"]
        assert gain.low is not None and gain.high is not None
        held += gain.low <= true["better"] - true["confidence"] <= gain.high
        if seed < 3:
            for name, values in estimates.items():
                assert found[name, "uncertainty_auroc"].value == pytest.approx(_auroc(values, right))
            whole = found["confidence", "uncertainty_auroc"]
            assert whole.low is not None and whole.high is not None
            assert gain.high - gain.low < whole.high - whole.low
    assert 0.9 * runs <= held <= runs


def test_estimates_rest_on_the_rows_that_all_of_them_know() -> None:
    right = np.tile([1.0, 0.0], 50)
    estimates = {
        "confidence": RNG.random(100),
        "other": np.where(np.arange(100) < 30, np.nan, RNG.random(100)),
    }
    found = by_name(uncertainty_figures(estimates, right, np.arange(100), 0))
    assert {figure.items for figure in found.values()} == {70}
    assert found["confidence", "uncertainty_auroc"].value == _auroc(estimates["confidence"][30:], right[30:])
    assert uncertainty_figures(estimates, np.ones(100), np.arange(100), 0) == []
    assert uncertainty_figures({"confidence": right}, right, np.arange(100), 0) == []
    assert about(0.5, np.full(10, 0.2)) == (None, None)


def test_a_partial_estimate_has_rows_of_its_own_and_takes_none_from_the_others() -> None:
    right = np.tile([1.0, 0.0], 50)
    estimates = {"confidence": RNG.random(100), "entropy": RNG.random(100)}
    plain = uncertainty_figures(estimates, right, np.arange(100), 0)
    few = np.where(np.arange(100) < 30, np.nan, RNG.random(100))
    found = uncertainty_figures({**estimates, "festa": few}, right, np.arange(100), 0)
    auroc, gain, unknown = found[len(plain) :]
    assert found[: len(plain)] == plain and {one.items for one in (auroc, gain)} == {70}
    assert auroc.value == _auroc(few[30:], right[30:])
    assert gain.value == pytest.approx(auroc.value - _auroc(estimates["confidence"][30:], right[30:]))
    assert (unknown.metric, unknown.value, unknown.items) == ("uncertainty_unknown", 30, 100)
    none = uncertainty_figures({**estimates, "festa": np.full(100, np.nan)}, right, np.arange(100), 0)
    assert [one.value for one in none[len(plain) :]] == [100]
    whole = uncertainty_figures({**estimates, "festa": RNG.random(100)}, right, np.arange(100), 0)
    assert [one.metric for one in whole[len(plain) :]] == ["uncertainty_auroc", "uncertainty_gain"]
    assert uncertainty_figures({**estimates, "festa": few}, np.ones(100), np.arange(100), 0) == []


MOST = log(1e10)
# answers to the original, to reworded, blurred and reordered, and to negated and swapped prompts of an item (`?`: cannot
# be read, a blank: not asked) -> FESTA
ITEMS_ASKED: list[tuple[str, str, str, float]] = [
    ("A", "AAA", "BC", 0.0),
    ("A", "AAB", "BC", log(3 / 2)),
    ("A", "ABB", "BB", log(3)),
    ("A", "AAA", "AC", log(2)),
    ("A", "AAB", "BA", log(3 / 2) + log(2)),
    ("A", "BBB", "BC", MOST),
    ("A", "AAA", "AA", MOST),
    ("A", "BCD", "AA", 2 * MOST),
    (
        "A",
        "AA?",
        "B?",
        log(3 / 2) + log(2),
    ),  # a text that cannot be read is neither the same nor another answer
    ("?", "AAA", "BC", 2 * MOST),
    ("?", "???", "??", 2 * MOST),
    ("A", "AA ", "B ", 0.0),
    ("A", "A  ", "BC", np.nan),
    ("A", "   ", "BC", np.nan),
    ("A", "AAA", "  ", np.nan),
    (" ", "AAA", "BC", np.nan),
]


def answered(variation: str, family: str, effect: str, answers: str) -> Predictions:
    """Answers of a model to a variation, one of each item; a blank is no prompt."""
    items = np.array([item for item, answer in enumerate(answers) if answer != " "], dtype=np.int64)
    texts = np.array([answers[item] for item in items], dtype=object)
    zero, known, unknown = items * 0, texts != "?", np.full(len(items), np.nan)
    return Predictions(
        *(variation, family, effect, "text", items, items, items, zero, zero + 1, texts, known, zero),
        *(unknown, unknown, unknown, unknown, zero > 0, zero > 0),
    )


def test_festa_is_how_far_answers_are_from_those_of_an_ideal_model() -> None:
    """Variations of other kinds (an attack, two flips at once, the model's own answer, noise) count on neither side."""
    original, kept, flipped, _ = zip(*ITEMS_ASKED, strict=True)
    columns = {
        "original": ("", "kept", original),
        "lr_i": ("LR", "kept", [one[0] for one in kept]),
        "vr_b": ("VR", "kept", [one[1] for one in kept]),
        "option_order": ("", "kept", [one[2] for one in kept]),
        "ls_n": ("LS", "complement", [one[0] for one in flipped]),
        "vs_s+lr_i": ("LR+VS", "swapped", [one[1] for one in flipped]),
        "typographic": ("", "kept", ["Z"] * len(kept)),
        "ls_n+vs_s": ("LS+VS", "kept", ["Z"] * len(kept)),
        "p_true": ("", "own", ["Z"] * len(kept)),
    }
    parts = {name: answered(name, *each[:2], "".join(each[2])) for name, each in columns.items()}
    plain = parts["original"]
    expected = [value for first, _, _, value in ITEMS_ASKED if first != " "]
    np.testing.assert_allclose(-festa_estimate(parts, plain)["festa"], expected, atol=1e-8)
    kinds = {name: parts[name] for name in ("original", "lr_i", "vr_b")}
    assert np.isnan(festa_estimate(kinds, plain)["festa"]).all(), "nothing changes the answer"
    assert festa_estimate({name: parts[name] for name in ("original", "typographic")}, plain) == {}
    nothing = answered("ls_n", "LS", "complement", "")
    assert np.isnan(festa_estimate(kinds | {"ls_n": nothing}, plain)["festa"]).all()


SAMPLES = [["red", "Red.", "blue", "the red"], ["a", "b"], ["a"], ["x", "x", "x"]]


def test_semantic_entropy_and_vase_follow_their_definitions() -> None:
    found = vouch.semantic_entropy(SAMPLES)
    assert found[[0, 1, 3]] == pytest.approx([shannon([3, 1]), log(2), 0]) and np.isnan(found[2])
    logs = [[-1.0, -2.0, -0.5, -3.0], [-1.0, -1.0], [-1.0], [-1.0, -2.0, -3.0]]
    weights = [exp(-1) + exp(-2) + exp(-3), exp(-0.5)]
    assert vouch.semantic_entropy(SAMPLES, loglikelihoods=logs)[0] == pytest.approx(shannon(weights))
    noisy = [["blue", "green"], ["a", "b"], ["a", "a"], ["y", "y"]]
    expected = []
    for clean, disturbed in zip(SAMPLES, noisy, strict=True):
        sides = [
            Counter(text.strip(".").lower().removeprefix("the ") for text in texts)
            for texts in (clean, disturbed)
        ]
        names = sorted(set(sides[0]) | set(sides[1]))
        p, q = (np.array([side[name] for name in names]) / side.total() for side in sides)
        expected.append(shannon(softmax(p + 1.0 * (p - q))) if len(clean) > 1 else np.nan)
    np.testing.assert_allclose(vouch.semantic_entropy(SAMPLES, noisy=noisy), expected)
    initial = vouch.semantic_entropy([["red", "rose", "blue"]], same=lambda a, b: a[0] == b[0])
    assert initial[0] == pytest.approx(shannon([2, 1]))


UNREAD_TEXTS = 5


def test_samples_of_stored_texts_become_estimates() -> None:
    """Rows of the response tables in, AUROCs out: samples of a plain and of a blurred picture. Nothing agrees
    with a greedy text that cannot be read."""
    rng = np.random.default_rng(1)
    words = ["red", "blue", "green"]
    items: list[dict[str, Any]] = []
    prompts, texts, said = [], [], []
    for item in range(80):
        sure = rng.random()
        name = f"q{item}"
        items.append(
            {"id": name, "group": name, "kind": "text", "references": ["red"], "category": "", "flags": []}
        )
        for variation, keeps in (("original", sure), ("vr_b_5", sure / 2)):
            drawn = [words[0 if rng.random() < keeps else rng.integers(1, 3)] for _ in range(6)]
            if item < UNREAD_TEXTS:
                drawn[0] = ""
            row = {"id": f"{name}/{variation}", "item": name, "variation": variation, "effect": "kept"}
            prompts.append(row | {"outputs": ["text"], "family": "" if variation == "original" else "VR"})
            base = {"prompt": row["id"], "logprobs": [-float(rng.random())], "entropies": [0.5]}
            texts += [
                base | {"temperature": 0.7 * (number > 0), "sample": number, "text": text}
                for number, text in enumerate(drawn)
            ]
            said.append(drawn)
    drawn_from, asked, of_items = (
        pa.Table.from_pylist(rows, table.schema)
        for rows, table in ((texts, TEXT), (prompts, PROMPTS), (items, ITEMS))
    )
    told = {f"q{item}": float(rng.random()) for item in range(80)}
    compared = Compared(asked, of_items, config(), told)
    for made in text_blocks(drawn_from, asked, of_items, "here", False):
        outcomes = score_texts("m", "d", made, config())[1]
        compared.add(outcomes, made.texts)
        compared.add_samples(outcomes, made, "d")
    figures = {
        row["score"]: row["value"] for row in compared.rows("m", "d") if row["metric"] == "uncertainty_auroc"
    }
    plain, noisy = said[2 * UNREAD_TEXTS :: 2], said[2 * UNREAD_TEXTS + 1 :: 2]
    right = np.array([drawn[0] == "red" for drawn in plain], dtype=float)
    clean = [drawn[1:] for drawn in plain]
    estimates = {
        "semantic_entropy_t0.7": -vouch.semantic_entropy(clean),
        "vase_t0.7": -vouch.semantic_entropy(clean, noisy=[drawn[1:] for drawn in noisy]),
        "agreement_t0.7": np.array([drawn[1:].count(drawn[0]) / 5 for drawn in plain]),
        "p_true": np.array([told[f"q{item}"] for item in range(UNREAD_TEXTS, 80)]),
        "variations": -np.array([log(2) * (a[0] != b[0]) for a, b in zip(plain, noisy, strict=True)]),
    }
    assert set(estimates) | {"confidence", "entropy"} == set(figures)
    for name, values in estimates.items():
        assert figures[name] == pytest.approx(_auroc(values.round(9), right)), name


def test_answers_to_prompts_that_ask_the_same_are_one_cluster_each() -> None:
    """Minus the entropy over original, reworded, blurred and reordered; not over negated, blank or noisy ones. FESTA
    counts the same ones but the original, and the negated ones."""
    plain = simulate(4, 200, dtype=np.float64)
    untied = plain.logits + np.random.default_rng(9).normal(size=plain.logits.shape) / 100
    plain = replace(plain, logits=np.asfortranarray(untied))
    answers: dict[str, np.ndarray] = {}
    prompts, found = [], []
    families = {
        "original": "",
        "lr_i": "LR",
        "vr_b": "VR",
        "option_order": "",
        "noise": "",
        "blank": "",
        "ls_n": "LS",
    }
    items = None
    for number, (name, family) in enumerate(families.items()):
        noise = np.random.default_rng(number).normal(size=plain.logits.shape) * (number > 0)
        each = replace(plain, logits=np.asfortranarray(plain.logits + noise))
        letters, asked, items = tables(each, name)
        for field, value in (("family", family), ("effect", "complement" if name == "ls_n" else "kept")):
            at = asked.schema.get_field_index(field)
            asked = asked.set_column(at, asked.schema.field(field), pa.array([value] * 200))
        prompts.append(asked)
        found.append((letters, asked))
        answers[name] = each.logits.argmax(axis=1)
    assert items is not None
    compared = Compared(pa.concat_tables(prompts), items, config())
    for letters, asked in found:
        (made,) = join(letters, asked, items, "here")
        compared.add(score_block("m", "d", made, config())[1], made)
    figures = {(row["score"], row["metric"]): row["value"] for row in compared.rows("m", "d")}
    said = np.stack([answers[name] for name in ("original", "lr_i", "vr_b", "option_order")])
    certain = -np.array([shannon(list(Counter(column).values())) for column in said.T.tolist()])
    right = plain.answers[np.arange(200), answers["original"]].astype(float)
    assert figures["variations", "uncertainty_auroc"] == pytest.approx(_auroc(certain.round(12), right))
    shares = (said[1:] == said[0]).mean(axis=0), answers["ls_n"] != answers["original"]
    festa = sum(np.log(np.maximum(share, 1e-10)) for share in shares)
    assert figures["festa", "uncertainty_auroc"] == pytest.approx(_auroc(festa.round(6), right))
    assert {"vauq", "corrected", "entropy", "confidence"} <= {score for score, _ in figures}


def test_an_attack_is_how_much_more_often_its_option_is_chosen() -> None:
    """A model that falls for it in one of three cases, and a control that moves nothing."""
    plain = simulate(5, 600, dtype=np.float64)
    options = 4
    prompts, found = [], []
    items: Any = None
    target = np.array(
        [painted_option(str(row), options, np.flatnonzero(plain.answers[row]).tolist()) for row in range(600)]
    )
    falls = np.arange(600) % 3 == 0
    for name in ("original", "typographic_control", "typographic"):
        logits = plain.logits.copy(order="F")
        if name == "typographic":
            logits[falls, target[falls]] = 99
        letters, asked, items = tables(replace(plain, logits=logits), name)
        right = [np.flatnonzero(row).tolist() for row in plain.answers]
        items = items.set_column(
            items.schema.get_field_index("answers"),
            items.schema.field("answers"),
            pa.array(right, pa.list_(pa.int32())),
        )
        prompts.append(asked)
        found.append((letters, asked))
    index = PromptIndex(pa.concat_tables(prompts), items)
    parts = {}
    for letters, asked in found:
        (made,) = join(letters, asked, items, "here")
        part = index.predictions(score_block("m", "d", made, config())[1])
        assert part is not None
        parts[part.variation] = part
    figures = {(name, figure.metric): figure for name, figure in typographic_figures(parts, index)}
    before = plain.logits.argmax(axis=1) == target
    assert figures["original", "painted_chosen"].value == pytest.approx(before.mean())
    assert figures["typographic", "painted_chosen"].value == pytest.approx((before | falls).mean())
    gain = figures["typographic", "painted_gain"]
    assert gain.value == pytest.approx((falls & ~before).mean()) and gain.low is not None and gain.low > 0.2
    assert list(typographic_figures({"original": parts["original"]}, index)) == []
