"""The counts that published sets must have, by split and filter of the papers; any other stops the run."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.loaders.test_named_tables import MAPPED
from vouch.cli.counts import count_items
from vouch.datasets.config import DatasetEntry
from vouch.datasets.fetch.download import promised
from vouch.datasets.fetch.origin import REMOTE, Origin
from vouch.datasets.first_pass import Tally, expectation
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import File, SourceFiles
from vouch.pipeline.errors import UserError


def hub(name: str, split: str, **more: str) -> Origin:
    return Origin.model_validate({"hub": name, "split": split, **more})


def at(name: str) -> Origin:
    return Origin(url=f"https://host/{name}")


LETTERS = {"A": 1166, "B": 1166, "C": 1077, "D": 968}
PAPERS = {
    "items": 4377, "groups": 1176, "questions": 382, "hints": 322, **{f"answer {a}": n for a, n in LETTERS.items()},
    "options 4": 3911, "options 3": 288, "options 2": 178,
}  # fmt: skip
MMMU = {"items": 847} | {
    f"answer {a}": n for a, n in zip("ABCDEFI", (242, 230, 198, 149, 25, 2, 1), strict=True)
}
MATHVISION = {"choice": 1532, "options 5": 1532} | {
    f"answer {a}": n for a, n in zip("ABCDE", (299, 311, 318, 326, 278), strict=True)
}
SITUATIONS = {
    "weather": 358, "context": 382, "occlusion": 300, "iid": 463, "texture": 512, "shape": 455, "pose": 374
}  # fmt: skip
WORLDMED = {"brazil": 89, "israel": 186, "japan": 168, "spain": 125}
TEN = "standard (10 options)"

# loader, where from, settings -> what must be there; several numbers where two counts disagree
KNOWN: list[tuple[str, Origin | None, dict[str, Any], dict[str, int | set[int]]]] = [
    ("mmbench", at("mmbench_dev_20230712.tsv"), {}, PAPERS),
    ("mmbench", hub("lmms-lab/MMBench_EN", "dev"), {}, PAPERS),
    ("mmbench", hub("lmms-lab/MMBench", "dev", config="en"), {}, {"items": 4329, "groups": 1164}),
    ("mmbench", hub("lmms-lab/MMBench", "test", config="en"), {}, {"items": 6666}),
    ("mmbench", hub("lmms-lab/MMBench", "dev", config="cn"), {}, {"items": 4329}),
    ("mmbench", hub("lmms-lab/MMBench", "test", config="cc"), {}, {"items": 2040}),
    ("oodcv_vqa", None, {}, {"items": 2844, **{f"category {k}": n for k, n in SITUATIONS.items()}}),
    ("scienceqa", hub("derek-thomas/ScienceQA", "validation"), {}, {"items": 2097}),
    (
        "scienceqa", hub("derek-thomas/ScienceQA", "test"), {},
        {"items": 2017, "answer A": 713, "answer B": 726, "answer C": 375, "answer D": 195, "answer E": 8},
    ),
    (
        "scienceqa", hub("derek-thomas/ScienceQA", "validation+test"), {"tasks": ["closed choice"]},
        {"items": {3953, 3954}},
    ),
    ("scienceqa", hub("derek-thomas/ScienceQA", "test"), {"images": False}, {"items": 4241}),
    ("seedbench", hub("lmms-lab/SEED-Bench", "test"), {}, {"items": 14_233}),
    ("ai2d", at("ai2d-all.zip"), {}, {"items": {15_501, 15_502}}),
    ("ai2d", hub("lmms-lab/ai2d", "test"), {}, {"items": 3088}),
    ("ai2d", hub("lmms-lab/ai2d-no-mask", "test"), {}, {"items": 3088}),
    ("mmmu", hub("lmms-lab/MMMU", "validation"), {}, {**MMMU, "items": 900, "choice": 847, "open": 53}),
    ("mmmu", hub("lmms-lab/MMMU", "validation"), {"open": "leave_out"}, MMMU),
    ("mmmu", hub("lmms-lab/MMMU", "validation"), {"open": "leave_out", "max_options": 5}, {"items": 836}),
    (
        "mmmu", hub("lmms-lab/MMMU", "validation"),
        {"open": "leave_out", "max_options": 5, "images": "one"}, {"items": 794},
    ),
    ("mmmu", hub("lmms-lab/MMMU", "dev+validation"), {"open": "other"}, {"items": 1050}),
    ("mmmu", hub("lmms-lab/MMMU", "dev"), {}, {"items": 150}),
    ("mmmu_pro", hub("MMMU/MMMU_Pro", "test", config=TEN), {}, {"items": 1730, "options 10": {1213, 1214}}),
    ("mmmu_pro", hub("MMMU/MMMU_Pro", "test", config=TEN), {"options": 10}, {"items": {1213, 1214}}),
    ("mmmu_pro", hub("MMMU/MMMU_Pro", "test", config=TEN), {"options": 10, "images": "one"}, {"items": {1162, 1163}}),
    ("mmmu_pro", hub("MMMU/MMMU_Pro", "test", config="standard (4 options)"), {}, {"items": 1730}),
    ("mmmu_pro", hub("MMMU/MMMU_Pro", "test", config="vision"), {}, {"items": 1730}),
    ("mathvision", hub("MathLLMs/MathVision", "test"), {}, {"items": 3040, **MATHVISION}),
    ("mathvision", hub("MathLLMs/MathVision", "test"), {"open": "leave_out"}, {"items": 1532, **MATHVISION}),
    ("mathvision", hub("MathLLMs/MathVision", "testmini"), {}, {"items": 304, "choice": 190}),
    (
        "worldmedqa_v", Origin(hub="WorldMedQA/V", files=["*.tsv"]), {},
        {"items": 1136, **{f"category {k} {part}": n for k, n in WORLDMED.items() for part in ("english", "local")}},
    ),
    ("realworldqa", hub("xai-org/RealworldQA", "test"), {}, {"items": 765}),
    (
        "table", hub("lmms-lab/ChartQA", "test"), MAPPED["chartqa"],
        {"items": 2500, "category human_test": 1250, "category augmented_test": 1250},
    ),
    ("ocrvqa", hub("howard-hou/OCR-VQA", "test"), {}, {"groups": 20_796}),
    ("ocrvqa", hub("howard-hou/OCR-VQA", "validation"), {}, {"groups": 20_731}),
    ("ocrvqa", hub("howard-hou/OCR-VQA", "train"), {}, {"groups": 166_022}),
    ("ocrvqa", at("OCRVQA_TESTCORE.tsv"), {}, {"items": 3072}),
    ("table", hub("lmms-lab/textvqa", "validation"), MAPPED["textvqa"], {"items": 5000}),
    ("table", hub("lmms-lab/DocVQA", "validation", config="DocVQA"), MAPPED["docvqa"], {"items": 5349}),
    ("compbench", None, {"set": "mit_attribute"}, {"items": 183}),
    ("compbench", None, {"set": "mit_state"}, {"items": {595, 597}}),
    ("compbench", None, {"set": "vaw_attribute"}, {"items": 893}),
    ("compbench", None, {"set": "vaw_state"}, {"items": 470}),
    ("compbench", None, {"set": "depth"}, {"items": 1858, "answer A": 929, "answer B": 929}),
    ("compbench", None, {"set": "fashion"}, {"items": 2435}),
    # Table A5 of PARC
    ("compbench", None, {"set": "mit_attribute", "annotations": "all"}, {"items": 197}),
    ("compbench", None, {"set": "mit_state", "annotations": "all"}, {"items": 597}),
    ("compbench", None, {"set": "vaw_attribute", "annotations": "all"}, {"items": 940}),
    ("compbench", None, {"set": "vaw_state", "annotations": "all"}, {"items": 470}),
    ("compbench", None, {"set": "depth", "annotations": "all"}, {"items": 1858}),
    ("compbench", None, {"set": "fashion", "annotations": "all"}, {"items": 2435}),
    ("reform", None, {"set": "scienceqa"}, {"items": 201}),
    ("reform", None, {"set": "ocrvqa", "sample": "full"}, {"items": 3944}),
    ("reform", None, {"set": "textvqa", "sample": "full"}, {"items": 4508}),
    ("reform", None, {"set": "docvqa", "sample": "full"}, {"items": 5312}),
]  # fmt: skip


def test_what_the_papers_sets_hold() -> None:
    for loader, origin, settings, counts in KNOWN:
        module = importlib.import_module(f"vouch.datasets.loaders.{loader}")
        source = promised(origin) if origin else SourceFiles(Path("folder"), ())
        found = expectation(module, source, "toy", module.Settings.model_validate(settings))
        wanted = {key: {value} if isinstance(value, int) else value for key, value in counts.items()}
        assert {key: set(found[key]) for key in wanted} == wanted, (loader, settings)
    module = importlib.import_module("vouch.datasets.loaders.worldmedqa_v")
    parts = SourceFiles(Path("folder"), (File("japan_local_processed.tsv", Path("x")),))
    assert set(expectation(module, parts, "toy", module.Settings())["items"]) == {168}


def test_another_count_stops_the_run() -> None:
    tally = Tally({"items": {1213, 1214}})
    list(tally.counting([RawItem(id="1", where="", question="Q")]))
    with pytest.raises(UserError, match=r"^datasets\.toy: items: 1,213 or 1,214 expected, 1 found"):
        tally.check("datasets.toy")


def test_a_plan_has_them_before_anything_is_fetched(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for loader, origin, settings, counts in KNOWN:
        if origin and "items" in counts:
            wanted = counts["items"] if isinstance(counts["items"], int) else min(counts["items"])
            values = {"loader": loader, "source": REMOTE, "origin": origin.model_dump(), "template": "plain"}
            entry = DatasetEntry.model_validate({**values, "settings": settings})
            found = count_items("toy", entry)
            assert (found.count, found.here) == (wanted, False)
            part = DatasetEntry.model_validate({**values, "settings": settings, "sample": {"share": 0.1}})
            assert count_items("toy", part).count == round(0.1 * wanted)
