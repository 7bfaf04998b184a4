"""Li et al. 2023, ReForm-Eval: 61 datasets as choices and short answers, generated or by likelihood."""

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
from vouch.report.reproduce.entry import Entry, Paper, absent
from vouch.tables.prompts import LIKELIHOOD, TEXT

BOTH = (TEXT, LIKELIHOOD)


PAPER = Paper(
    "ReForm-Eval: evaluating large vision language models via unified re-formulation",
    "Li et al. 2023 (ReForm-Eval)",
    "Accuracy in per cent and instability in nats of the main evaluation (the variation tests), of the "
    "original prompts where it was not asked. Columns named sampled are of the first text drawn for each "
    "test at temperature 0.2, as the paper has it: published figures stand beside them, but for BLIP-2, "
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
        Entry(
            "Table 4",
            "Instability by what changes, mean over the models.",
            partial(shaken, "4", "instability by what changes, mean over the models", SHAKEN, (), True),
        ),
        Entry(
            "Table 5",
            "The datasets of perception, and those outside of the benchmark.",
            partial(statistics, "5", PERCEPTION, True),
        ),
        Entry("Table 6", "The datasets of cognition.", partial(statistics, "6", COGNITION, False)),
        Entry(
            "Table 7",
            "What the models are made of.",
            partial(
                known,
                "7",
                "what the models are made of",
                {
                    "vision_encoder": "Vision encoder",
                    "connector": "Connector",
                    "language_model": "Language model",
                    "total_parameters": "Parameters",
                    "trainable_parameters": "Trainable",
                    "visual_tokens": "Visual tokens",
                },
            ),
        ),
        Entry(
            "Table 8",
            "What the models were trained on.",
            partial(
                known,
                "8",
                "what the models were trained on",
                {"training_data": "Data", "training_data_size": "Samples", "curation": "Curation"},
            ),
        ),
        Entry(
            "Table 9",
            "Coarse-grained perception, generated.",
            partial(dimension, "9", "coarse-grained perception", COARSE, (TEXT,)),
        ),
        Entry(
            "Table 10",
            "Coarse-grained perception, by likelihood.",
            partial(dimension, "10", "coarse-grained perception", COARSE, (LIKELIHOOD,)),
        ),
        Entry(
            "Table 11",
            "Fine-grained perception, generated.",
            partial(dimension, "11", "fine-grained perception", FINE, (TEXT,)),
        ),
        Entry(
            "Table 12",
            "Fine-grained perception, by likelihood.",
            partial(dimension, "12", "fine-grained perception", FINE, (LIKELIHOOD,)),
        ),
        Entry(
            "Table 13",
            "Scene text: reading it.",
            partial(dimension, "13", "scene text, reading", OCR, (TEXT,)),
        ),
        Entry(
            "Table 14",
            "Scene text: finding and using it.",
            partial(dimension, "14", "scene text, key facts and questions", KIE, (TEXT,)),
        ),
        Entry(
            "Table 15",
            "Visually grounded reasoning: questions.",
            partial(dimension, "15", "visual reasoning, VQA", VQA, BOTH),
        ),
        Entry(
            "Table 16",
            "Visually grounded reasoning: questions that need knowledge.",
            partial(dimension, "16", "visual reasoning, knowledge", KVQA, BOTH),
        ),
        Entry(
            "Table 17",
            "Spatial understanding.",
            partial(dimension, "17", "spatial understanding", SPATIAL, BOTH),
        ),
        Entry(
            "Table 18",
            "Cross-modal inference.",
            partial(dimension, "18", "cross-modal inference", CROSS, BOTH),
        ),
        Entry("Table 19", "Captions, CIDEr.", captions),
        Entry("Table 20", "Dialogues: accuracy, and how it goes with the turn.", dialogue),
        Entry("Table 21", "Table 3 for all models and datasets.", partial(hit_rate, "21")),
        Entry(
            "Table 22",
            "Ranks of models with and without COCO in training.",
            absent("which models were trained on COCO is not on record"),
        ),
        Entry(
            "Table 23",
            "Instability by what changes.",
            partial(
                shaken,
                "23",
                "instability by what changes",
                SHAKEN,
                ("instruction", "order", "mark", "likelihood_instruction"),
                False,
            ),
        ),
        Entry(
            "Table 24",
            "Range of accuracy over the instructions, points.",
            partial(
                shaken,
                "24",
                "range of accuracy over the instructions",
                RANGES,
                ("range_generation", "range_likelihood"),
                False,
            ),
        ),
        Entry(
            "Figure 3",
            "Accuracy by language model.",
            partial(by_fact, "3", "accuracy by language model", "language_model"),
        ),
        Entry(
            "Figure 4",
            "Accuracy by the size of the training data.",
            partial(
                by_count, "4", "accuracy and training data", "training_data_size", "Samples of training data"
            ),
        ),
        Entry("Figure 5", "Generation against likelihood.", gap),
        Entry(
            "Figure 8",
            "Accuracy by number of parameters.",
            partial(by_count, "8", "accuracy and size", "", "Parameters"),
        ),
        Entry(
            "Figure 9",
            "Accuracy by number of visual tokens.",
            partial(by_count, "9", "accuracy and visual tokens", "visual_tokens", "Visual tokens"),
        ),
        Entry("Figure 10", "Which option a model prefers, whatever it says.", preference),
    ),
)
