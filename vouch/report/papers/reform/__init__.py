"""Li et al. 2023, ReForm-Eval: 61 datasets as choices and short answers, generated or by likelihood."""

from functools import partial

from vouch.report.papers.reform import names
from vouch.report.papers.reform.figures import by_backbone, by_count, by_parameters, gap, preference, training
from vouch.report.papers.reform.tables import (
    INSTABILITY,
    RANGES,
    captions,
    coco,
    dialogue,
    dimension,
    general,
    hit_rate,
    known,
    modules,
    shaken,
    shaken_mean,
    statistics,
)
from vouch.report.reproduce.entry import Entry, Paper
from vouch.tables.asked import LIKELIHOOD, TEXT

BOTH = (TEXT, LIKELIHOOD)
# Number, what it shows, the caption of its table, the datasets, the outputs that it has a table for.
DIMENSIONS = (
    (9, "Coarse-grained perception, generated.", "coarse-grained perception", names.COARSE, (TEXT,)),
    (
        10,
        "Coarse-grained perception, by likelihood.",
        "coarse-grained perception",
        names.COARSE,
        (LIKELIHOOD,),
    ),
    (11, "Fine-grained perception, generated.", "fine-grained perception", names.FINE, (TEXT,)),
    (12, "Fine-grained perception, by likelihood.", "fine-grained perception", names.FINE, (LIKELIHOOD,)),
    (13, "Scene text: recognition.", "scene text, recognition", names.OCR, (TEXT,)),
    (14, "Scene text: finding and using it.", "scene text, key facts and questions", names.KIE, (TEXT,)),
    (15, "Visually grounded reasoning: questions.", "visual reasoning, VQA", names.VQA, BOTH),
    (16, "Visually grounded reasoning with knowledge.", "visual reasoning, knowledge", names.KVQA, BOTH),
    (17, "Spatial understanding.", "spatial understanding", names.SPATIAL, BOTH),
    (18, "Cross-modal inference.", "cross-modal inference", names.CROSS, BOTH),
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
PAPER = Paper(
    "ReForm-Eval: evaluating large vision language models via unified re-formulation",
    "Li et al. 2023 (ReForm-Eval)",
    "Accuracy in per cent and instability in nats of the main evaluation (the variation tests), of the "
    "original prompts where it was not asked. Columns named sampled are of the first text drawn for each "
    "test at temperature 0.2, as in the paper: published figures stand beside them, except for BLIP-2, "
    "InstructBLIP, BLIVA, Lynx and Shikra, from which its authors draw nothing. The other columns of "
    "generation, the general results and the figures are of greedy texts.",
    (
        Entry("Table 1", "Accuracy and rank by dimension.", general),
        Entry("Table 2", "Accuracy by vision encoder and connector.", modules),
        Entry(
            "Table 3",
            "How often a text names an option, without and with a sample in the prompt.",
            partial(hit_rate, "3"),
        ),
        Entry("Table 4", "Instability by what changes, mean over the models.", shaken_mean),
        Entry(
            "Table 5",
            "The datasets of perception, and those outside of the benchmark.",
            partial(statistics, names.PERCEPTION, True),
        ),
        Entry("Table 6", "The datasets of cognition.", partial(statistics, names.COGNITION, False)),
        Entry("Table 7", "Components of the models.", partial(known, "components of the models", PARTS)),
        Entry(
            "Table 8", "Training data of the models.", partial(known, "training data of the models", TRAINING)
        ),
        *(
            Entry(f"Table {number}", shows, partial(dimension, caption, sets, outputs))
            for number, shows, caption, sets, outputs in DIMENSIONS
        ),
        Entry("Table 19", "Captions, CIDEr.", captions),
        Entry("Table 20", "Dialogues: accuracy, and how it changes with the turn.", dialogue),
        Entry("Table 21", "Table 3 for all models and datasets.", partial(hit_rate, "21")),
        Entry("Table 22", "Ranks of models with and without COCO in training.", coco),
        Entry(
            "Table 23",
            "Instability by what changes.",
            partial(shaken, "instability by what changes", INSTABILITY),
        ),
        Entry(
            "Table 24",
            "Range of accuracy over the instructions, points.",
            partial(shaken, "range of accuracy over the instructions", RANGES),
        ),
        Entry("Figure 3", "Accuracy by language model and by vision encoder.", by_backbone),
        Entry("Figure 4", "Accuracy and what models were trained on.", training),
        Entry("Figure 5", "Generation against likelihood.", gap),
        Entry("Figure 8", "Accuracy by number of parameters.", by_parameters),
        Entry(
            "Figure 9",
            "Accuracy by number of visual tokens.",
            partial(by_count, "accuracy and visual tokens", "Visual tokens", "visual_tokens"),
        ),
        Entry("Figure 10", "Which option a model prefers, whatever it says.", preference),
    ),
    (*names.PERCEPTION, *names.COGNITION),
)
