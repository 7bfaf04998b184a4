"""Li et al. 2023, ReForm-Eval: 61 datasets as choices and short answers, generated or by likelihood."""

from collections.abc import Callable
from functools import partial

from vouch.report.papers.reform.figures import by_count, by_fact, gap, preference
from vouch.report.papers.reform.instability import RANGES, SHAKEN, shaken
from vouch.report.papers.reform.names import (
    COARSE,
    COGNITION,
    CROSS,
    FINE,
    KIE,
    KVQA,
    OCR,
    PERCEPTION,
    SPATIAL,
    VQA,
)
from vouch.report.papers.reform.records import known, modules, statistics
from vouch.report.papers.reform.tables import captions, dialogue, dimension, general, hit_rate
from vouch.report.reproduce.entry import Built, Entry, Paper, absent
from vouch.report.reproduce.lookup import Lookup
from vouch.tables.prompts import LIKELIHOOD, TEXT

BOTH = (TEXT, LIKELIHOOD)


# Number, what it shows, the caption of its table, the datasets, the outputs that it has a table for.
DIMENSIONS = (
    ("9", "Coarse-grained perception, generated.", "coarse-grained perception", COARSE, (TEXT,)),
    ("10", "Coarse-grained perception, by likelihood.", "coarse-grained perception", COARSE, (LIKELIHOOD,)),
    ("11", "Fine-grained perception, generated.", "fine-grained perception", FINE, (TEXT,)),
    ("12", "Fine-grained perception, by likelihood.", "fine-grained perception", FINE, (LIKELIHOOD,)),
    ("13", "Scene text: recognition.", "scene text, recognition", OCR, (TEXT,)),
    ("14", "Scene text: finding and using it.", "scene text, key facts and questions", KIE, (TEXT,)),
    ("15", "Visually grounded reasoning: questions.", "visual reasoning, VQA", VQA, BOTH),
    ("16", "Visually grounded reasoning with knowledge.", "visual reasoning, knowledge", KVQA, BOTH),
    ("17", "Spatial understanding.", "spatial understanding", SPATIAL, BOTH),
    ("18", "Cross-modal inference.", "cross-modal inference", CROSS, BOTH),
)
PARTS = {
    "vision_encoder": "Vision encoder",
    "connector": "Connector",
    "language_model": "Language model",
    "total_parameters": "Parameters",
    "trainable_parameters": "Trainable",
    "visual_tokens": "Visual tokens",
}
TRAINING = {"training_data": "Data", "training_data_size": "Samples", "curation": "Curation"}
INSTABILITY = ("instruction", "order", "mark", "likelihood_instruction")
RANGE = ("range_generation", "range_likelihood")
COCO = "which models were trained on COCO is not on record"
HITS = "How often a text names an option, without and with a sample in the prompt."
# What an entry shows, the caption of its table or figure, and what it is built from.
BUILDERS: tuple[tuple[str, str, Callable[[Lookup], Built]], ...] = (
    ("Table 1", "Accuracy and rank by dimension.", general),
    ("Table 2", "Accuracy by vision encoder and connector.", modules),
    ("Table 3", HITS, partial(hit_rate, "3")),
    (
        "Table 4",
        "Instability by what changes, mean over the models.",
        partial(shaken, "4", "instability by what changes, mean over the models", SHAKEN, (), True),
    ),
    (
        "Table 5",
        "The datasets of perception, and those outside of the benchmark.",
        partial(statistics, "5", PERCEPTION, True),
    ),
    ("Table 6", "The datasets of cognition.", partial(statistics, "6", COGNITION, False)),
    ("Table 7", "Components of the models.", partial(known, "7", "components of the models", PARTS)),
    ("Table 8", "Training data of the models.", partial(known, "8", "training data of the models", TRAINING)),
    *(
        (f"Table {number}", shows, partial(dimension, number, caption, sets, outputs))
        for number, shows, caption, sets, outputs in DIMENSIONS
    ),
    ("Table 19", "Captions, CIDEr.", captions),
    ("Table 20", "Dialogues: accuracy, and how it changes with the turn.", dialogue),
    ("Table 21", "Table 3 for all models and datasets.", partial(hit_rate, "21")),
    ("Table 22", "Ranks of models with and without COCO in training.", absent(COCO)),
    (
        "Table 23",
        "Instability by what changes.",
        partial(shaken, "23", "instability by what changes", SHAKEN, INSTABILITY, False),
    ),
    (
        "Table 24",
        "Range of accuracy over the instructions, points.",
        partial(shaken, "24", "range of accuracy over the instructions", RANGES, RANGE, False),
    ),
    (
        "Figure 3",
        "Accuracy by language model.",
        partial(by_fact, "3", "accuracy by language model", "language_model"),
    ),
    (
        "Figure 4",
        "Accuracy by the size of the training data.",
        partial(
            by_count, "4", "accuracy and training data", "training_data_size", "Samples of training data"
        ),
    ),
    ("Figure 5", "Generation against likelihood.", gap),
    (
        "Figure 8",
        "Accuracy by number of parameters.",
        partial(by_count, "8", "accuracy and size", "", "Parameters"),
    ),
    (
        "Figure 9",
        "Accuracy by number of visual tokens.",
        partial(by_count, "9", "accuracy and visual tokens", "visual_tokens", "Visual tokens"),
    ),
    ("Figure 10", "Which option a model prefers, whatever it says.", preference),
)
PAPER = Paper(
    "ReForm-Eval: evaluating large vision language models via unified re-formulation",
    "Li et al. 2023 (ReForm-Eval)",
    "Accuracy in per cent and instability in nats of the main evaluation (the variation tests), of the "
    "original prompts where it was not asked. Columns named sampled are of the first text drawn for each "
    "test at temperature 0.2, as in the paper: published figures stand beside them, except for BLIP-2, "
    "InstructBLIP, BLIVA, Lynx and Shikra, from which its authors draw nothing. The other columns of "
    "generation, the general results and the figures are of greedy texts.",
    [Entry(*each) for each in BUILDERS],
)
