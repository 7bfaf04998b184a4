"""The datasets of ReForm-Eval by dimension, and its models, as it names them."""

from vouch.report.reproduce.entry import models
from vouch.tables.asked import LIKELIHOOD, TEXT

COARSE = (
    *("flowers102", "cifar10", "imagenet_1k", "pets37", "vizwiz_2", "vizwiz_4"),
    *("tdiuc_sport", "tdiuc_scene", "medic"),
)
FINE = (
    *("coco_mci", "coco_goi", "coco_mos", "tdiuc_color", "tdiuc_utility", "tdiuc_position"),
    *("tdiuc_detection", "tdiuc_counting", "coco_counting", "refcoco"),
)
OCR = (
    *("cute80", "ic15", "iiit5k", "coco_text", "wordart", "textocr"),
    *("grounded_ic15", "grounded_coco_text", "grounded_textocr"),
)
KIE = ("sroie", "poie", "funsd", "textvqa", "docvqa", "ocrvqa")
VQA = ("gqa", "vqa_v2", "whoops", "ok_vqa", "scienceqa", "vizwiz")
KVQA = ("viquae", "k_viquae", "a_okvqa", "a_okvqra", "a_okvqar", "imagenetvc")
SPATIAL = ("clevr", "vsr", "mp3d")
CROSS = ("coco_itm", "coco_its", "wikihow", "winoground", "snli_ve", "mocheg")
CAPTIONS = ("coco_caption", "textcaps", "nocaps", "flickr30k")
DIALOGUE = ("vqa_mt", "visdial")
SETS = {
    "coarse_perception": len(COARSE),
    "fine_perception": len(FINE),
    "scene_text": len(OCR) + len(KIE),
    "spatial": len(SPATIAL),
    "visual_reasoning": len(VQA) + len(KVQA),
    "cross_modal": len(CROSS),
    "dialogue": len(DIALOGUE),
    "description": len(CAPTIONS),
}
"""How many sets each dimension has."""
PERCEPTION = (*COARSE, *FINE, *OCR, *KIE)
COGNITION = (*SPATIAL, *VQA, *KVQA, *CROSS, *CAPTIONS, *DIALOGUE)
MODELS = models("reform")
COCO = {
    "Pre-training with COCO": ("blip2_flan_t5_xl", "mplug_owl", "lynx"),
    "Pre-training without COCO": ("llava_vicuna_7b", "minigpt4"),
}
"""The two groups of models of table 22 (appendix C.4)."""
IN_DOMAIN = (
    *("coco_mci", "coco_goi", "coco_mos", "coco_counting", "refcoco", "coco_text", "vqa_v2", "ok_vqa"),
    *("a_okvqa", "a_okvqra", "a_okvqar", "vsr", "coco_itm", "coco_its", "coco_caption", "flickr30k"),
)
"""Datasets of pictures of COCO, and Flickr30K, as the paper counts it. It takes six; the text of its
PDF names two."""
OUT_OF_DOMAIN = ("pets37", "flowers102", "textcaps", "nocaps", "wikihow", "winoground")
BY_LABEL = {label: name for name, label in MODELS.items()}
OUTPUT_NAMES = {TEXT: "generation", LIKELIHOOD: "likelihood"}
TESTS = "tests"
# The likelihood is asked of an entry of its own where its prompts are others.
SUFFIX = "_likelihood"
NO_SETS = "no dataset of that dimension of ReForm-Eval"
