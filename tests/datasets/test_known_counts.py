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


SCIENCE, MMMU, PRO = "derek-thomas/ScienceQA", "lmms-lab/MMMU", "MMMU/MMMU_Pro"
TEN = "standard (10 options)"
LEFT = {"open": "leave_out"}

# loader, where from, settings -> counts that must be there; several numbers where two counts disagree
KNOWN: list[tuple[str, Origin | None, dict[str, Any], dict[str, int | set[int]]]] = [
    ("mmbench", at("mmbench_dev_20230712.tsv"), {}, {"items": 4377, "groups": 1176, "hints": 322, "options 3": 288}),
    ("mmbench", hub("lmms-lab/MMBench_EN", "dev"), {}, {"items": 4377, "answer C": 1077}),
    ("mmbench", hub("lmms-lab/MMBench", "dev", config="en"), {}, {"items": 4329, "groups": 1164}),
    ("mmbench", hub("lmms-lab/MMBench", "test", config="cc"), {}, {"items": 2040}),
    ("oodcv_vqa", None, {}, {"items": 2844, "category weather": 358, "category pose": 374}),
    ("scienceqa", hub(SCIENCE, "validation"), {}, {"items": 2097}),
    ("scienceqa", hub(SCIENCE, "test"), {}, {"items": 2017, "answer A": 713, "answer E": 8}),
    ("scienceqa", hub(SCIENCE, "validation+test"), {"tasks": ["closed choice"]}, {"items": {3953, 3954}}),
    ("scienceqa", hub(SCIENCE, "test"), {"images": False}, {"items": 4241}),
    ("seedbench", hub("lmms-lab/SEED-Bench", "test"), {}, {"items": 14_233}),
    ("ai2d", at("ai2d-all.zip"), {}, {"items": {15_501, 15_502}}),
    ("ai2d", hub("lmms-lab/ai2d-no-mask", "test"), {}, {"items": 3088}),
    ("mmmu", hub(MMMU, "validation"), {}, {"items": 900, "choice": 847, "open": 53, "answer I": 1}),
    ("mmmu", hub(MMMU, "validation"), LEFT, {"items": 847, "answer A": 242}),
    ("mmmu", hub(MMMU, "validation"), {**LEFT, "max_options": 5}, {"items": 836}),
    ("mmmu", hub(MMMU, "validation"), {**LEFT, "max_options": 5, "images": "one"}, {"items": 794}),
    ("mmmu", hub(MMMU, "dev+validation"), {"open": "other"}, {"items": 1050}),
    ("mmmu_pro", hub(PRO, "test", config=TEN), {}, {"items": 1730, "options 10": {1213, 1214}}),
    ("mmmu_pro", hub(PRO, "test", config=TEN), {"options": 10}, {"items": {1213, 1214}}),
    ("mmmu_pro", hub(PRO, "test", config="vision"), {}, {"items": 1730}),
    ("mathvision", hub("MathLLMs/MathVision", "test"), {}, {"items": 3040, "choice": 1532, "answer A": 299}),
    ("mathvision", hub("MathLLMs/MathVision", "test"), LEFT, {"items": 1532}),
    ("mathvision", hub("MathLLMs/MathVision", "testmini"), {}, {"items": 304, "choice": 190}),
    ("worldmedqa_v", Origin(hub="WorldMedQA/V", files=["*.tsv"]), {}, {"items": 1136, "category brazil local": 89}),
    ("realworldqa", hub("xai-org/RealworldQA", "test"), {}, {"items": 765}),
    ("table", hub("lmms-lab/ChartQA", "test"), MAPPED["chartqa"], {"items": 2500, "category human_test": 1250}),
    ("ocrvqa", hub("howard-hou/OCR-VQA", "test"), {}, {"groups": 20_796}),
    ("ocrvqa", at("OCRVQA_TESTCORE.tsv"), {}, {"items": 3072}),
    ("compbench", None, {"set": "mit_attribute"}, {"items": 183}),
    ("compbench", None, {"set": "mit_state"}, {"items": {595, 597}}),
    ("compbench", None, {"set": "depth"}, {"items": 1858, "answer A": 929}),
    ("reform", None, {"set": "scienceqa"}, {"items": 201}),
    ("reform", None, {"set": "ocrvqa", "sample": "full"}, {"items": 3944}),
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
