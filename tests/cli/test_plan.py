"""What `vouch plan` counts."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stages.prepare import main as prepare
from stages.rewrite import main as rewrite
from stages.vary import main as vary
from tests.cli.conftest import Vouch, flat, set_params
from tests.models.project import ROOT, image, prompt
from tests.prompts.rows import item_rows, template_of
from vouch.cli import ahead
from vouch.cli.counts import Count, Items, count_prompts, estimate
from vouch.cli.main import main as run_vouch
from vouch.cli.prices import cost, gpu_hours
from vouch.datasets.config import DatasetEntry
from vouch.models.batching import Passes, PlannedRow
from vouch.models.config import ExtractConfig, Sampling
from vouch.models.lock_entry import LockEntry, Prices
from vouch.models.packs import PACK_PROMPTS
from vouch.models.unsupported import unsupported_outputs
from vouch.params.start import run_stage
from vouch.pipeline.dag import read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.records import as_read, present, write_receipt
from vouch.pipeline.run import Run
from vouch.pipeline.yaml12 import load
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.tables.answered import Reasoning
from vouch.tables.asked import (
    ITEMS,
    KINDS,
    LETTERS,
    LIKELIHOOD,
    OUTPUTS,
    PROMPTS,
    REWRITES,
    TEXT,
    items_path,
    prompts_path,
    rewrites_path,
)

GREEDY = ExtractConfig(batch=4, bucket=8, threads=1)
TEN = Items(10, here=True)
SAMPLED = ExtractConfig(
    batch=4,
    bucket=8,
    threads=1,
    sampling=(Sampling(temperature=0.5, samples=2), Sampling(temperature=1, samples=3)),
)


def counted(path: Path, rows: list[dict[str, Any]]) -> Any:
    PROMPTS.write(path / "prompts.parquet", rows)
    return count_prompts(path / "prompts.parquet")


def test_counts_of_prompts_that_are_there(tmp_path: Path) -> None:
    rows = [prompt(f"q{n}/original", "what", outputs=OUTPUTS) for n in range(9)]
    rows += [prompt(f"q/many/{n}", "what", outputs=[LETTERS]) for n in range(PACK_PROMPTS + 1)]
    rows.append(prompt("unasked/original", "what", outputs=()))
    count = counted(tmp_path, rows)
    assert count.text == "23" and count.prompts == 23
    assert count.answers == (9 + 13) + 9 + 9
    assert count.of(SAMPLED, "m", "d").answers == (9 + 13) + 9 + 9 * 6
    # 22 rows of letters share passes with 36 of options, of one token each; 9 texts
    assert count.passes(GREEDY) == Passes(15 + 3, 72, 2 + 3, 3)
    assert count.of(SAMPLED, "m", "d").passes(SAMPLED).count == 15 + 3 * 6


def test_prompts_about_an_image_share_a_row(tmp_path: Path) -> None:
    """A row for each pack; for a model that takes no images, one for each option."""
    image = b"never decoded"
    rows = [prompt(f"q/several/{n}", f"what {n}", [image], outputs=[LIKELIHOOD]) for n in range(3)]
    count = counted(
        tmp_path, [*rows, prompt("q/circular/1", "what", [image]), prompt("q/original", "what", [image])]
    )
    # "what 0" and 9 tokens of the template, then twice "0" and so much again; options have one token each
    tree = PlannedRow(LIKELIHOOD, 3 * 10, 3, tree=True)
    assert count.rows == {tree: 1, PlannedRow(LETTERS, 10, tree=True): 1}
    assert count.without_images and count.without_images.rows == {
        PlannedRow(LIKELIHOOD, 33): 12,
        PlannedRow(LETTERS, 33): 1,
    }
    assert count.outputs == {LETTERS: 1, LIKELIHOOD: 3}, "the first of circular is the original once more"


def test_samples_are_counted_where_they_are_drawn(tmp_path: Path) -> None:
    rows = [
        prompt(f"q{n}/{name}", "what", outputs=[TEXT]) for name in ("original", "blank") for n in range(9)
    ]
    count = counted(tmp_path, rows)
    of_cell = {"models": ["m"], "datasets": ["d"], "variations": ["blank"]}
    config = ExtractConfig(batch=4, sampling=(Sampling(temperature=1, samples=3, **of_cell),))
    cell = count.of(config, "m", "d")
    assert (cell.answers, cell.passes(config).count) == (18 + 9 * 3, 5 + 5 * 3), "9 in each of 5 passes"
    assert count.of(config, "other", "d").answers == count.of(config, "m", "other").answers == 18


def test_a_model_without_images_is_asked_a_question_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    names = ["original", "vr_b", "vs_e", "text_only", "lr_i", "vr_b+lr_i", "gone"]
    rows = [prompt(f"q{n}/{name}", "what", outputs=[LETTERS, TEXT]) for name in names for n in range(9)]
    rows.append(prompt("alone/vr_b", "what", outputs=[TEXT]))
    count = counted(tmp_path, rows)
    for sees, variations in ((True, 7), (False, 4)):
        cell = count.of(SAMPLED, "m", "d", sees)
        assert cell.prompts == 64 and cell.outputs == {LETTERS: 9 * variations, TEXT: 9 * variations + 1}
        assert cell.samples == (9 * variations + 1) * 5
    entry = DatasetEntry.model_validate(
        {"loader": "shapes", "source": "vouch/demo/scenes", "template": "kostumov", "settings": {}}
    )
    found = estimate(TEN, entry, names[:-1])
    assert [found.of(GREEDY, "m", "d", sees).answers for sees in (True, False)] == [60, 30]
    assert estimate(TEN, entry, ["vr_b"]).of(GREEDY, "m", "d", sees=False).answers == 10
    own = entry.model_copy(update={"variations": ["original"], "outputs": [TEXT]})
    assert estimate(TEN, own, names[:-1], [LETTERS]).outputs == {TEXT: 10}, "the entry's own come first"
    released = entry.model_copy(update={"loader": "released"})
    assert estimate(TEN, released, ["original"]).of(GREEDY, "m", "d", sees=True).answers == 0


def test_an_estimate_says_so_and_follows_the_style(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    entry = DatasetEntry.model_validate(
        {"loader": "shapes", "source": "vouch/demo/scenes", "template": "kostumov", "settings": {}}
    )
    count = estimate(TEN, entry, ["original", "vr_b", "ls_n+vs_s"])
    assert (
        count.text == "at most 30"
        and count.of(SAMPLED, "m", "d").answers == 30
        and count.passes(GREEDY).count == 8
    )
    # the template has one instruction, so `instruction` applies to nothing
    assert estimate(TEN, entry, ["tests", "labels", "instruction", "shuffled+vr_b"]).prompts == 50 + 30 + 50
    assert estimate(TEN, entry, ["tests_7", "shuffled_2+vr_b_5"]).prompts == 70 + 20
    count = estimate(TEN, entry, ["original", "circular", "circular+vr_b"])
    assert count.text == "about 90" and count.answers == 80, "circular/1 is the original once more"


@pytest.mark.parametrize(
    ("loader", "settings", "template", "outputs", "prompts"),
    [
        ("shapes", {"seed": 1, "items": 1}, "kostumov", [LETTERS], 60),
        ("table", {"columns": {"question": "q", "references": "a"}}, "kostumov", [TEXT], 30),
        ("ocrvqa", {}, "tu_open", [TEXT], 30),
        ("jsonl", {"file": "items.jsonl"}, "kostumov", [LETTERS, TEXT], 60),
        ("mmmu", {"open": "keep"}, "tu_choice", [LETTERS, TEXT], 60),
        ("mmmu", {"open": "leave_out"}, "kostumov", [LETTERS], 60),
        ("reform", {"set": "textvqa"}, "reform_vqa", [TEXT], 30),
        ("reform", {"set": "scienceqa"}, "kostumov", [LETTERS], 60),
    ],
)
def test_open_questions_are_asked_for_text_and_for_less(
    loader: str, settings: Any, template: str, outputs: list[str], prompts: int, monkeypatch: Any
) -> None:
    """Of six variations three turn answers or move options, which an open question has not."""
    monkeypatch.chdir(ROOT)
    entry = {"loader": loader, "source": "there", "template": template, "settings": settings}
    found = estimate(
        TEN, DatasetEntry.model_validate(entry), ["original", "vr_b", "lr_i", "option_order", "ls_n", "vs_s"]
    )
    assert (list(found.outputs), found.prompts) == (outputs, prompts)


def test_a_mixed_dataset_has_at_most_what_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the items are open, and every other choice has no image."""
    monkeypatch.chdir(ROOT)
    names = ["original", "option_order", "circular", "vr_b", "text_only", "shuffled_2"]
    choice = Item("", "g", "?", None, ("a", "b"), (0,), (), "choice")
    text = replace(choice, options=(), answers=(), references=("x",), images=("d",), kind="text")
    items = [replace(choice, id=f"q{n}", images=("d",) * (n % 2)) for n in range(6)]
    items += [replace(text, id=f"t{n}") for n in range(6)]
    entry = {"loader": "jsonl", "source": "there", "template": "kostumov", "settings": {"file": "a"}}
    found = estimate(Items(12, here=True), DatasetEntry.model_validate(entry), names)
    loaded, before = list(map(load_variation, names)), dict[str, Any]()
    template = template_of("kostumov")
    made = counted(
        tmp_path,
        [row for item in items for row in item_rows(item, loaded, template, "kostumov", None, before)],
    )
    assert made.prompts == 6 * (1 + 1 + 2 + 2) + 3 * 2 + 6 * 3 < found.prompts and not made.bound
    assert made.answers == 6 * (1 + 1 + 1 + 2) + 3 * (1 + 1) + 6 * 3 < found.answers
    assert list(found.outputs) == list(made.outputs) == [LETTERS, TEXT]


CHOICE = {"question": "What is shown here?", "options": ["a kite", "a hat", "an owl"], "answer": 0}
OPEN = {"question": "Where was it taken?", "references": ["at the sea"]}
WORDY = {**CHOICE, "question": "Compare the wings, please, and then say"}  # no rule rewrites it
SHOWN = {"image": "a.png"}
LINES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "choices": ([CHOICE | SHOWN] * 5, {}),
    "both": ([CHOICE | SHOWN, OPEN | SHOWN, CHOICE, OPEN], {}),
    "open": ([OPEN | SHOWN, OPEN], {"template": "kostumov"}),
    "wordy": ([WORDY | SHOWN, CHOICE | SHOWN, {**WORDY, "options": ["A and B", "a", "b"]}], {}),
    "talk": ([CHOICE | {"id": "1"}, CHOICE | {"id": "2", "turns": ["1"]}, OPEN | {"id": "3", "turns": ["2"]}, CHOICE], {}),
    "two": ([{**CHOICE, "options": ["yes", "no"]}, {**CHOICE, "options": ["left", "right"], "images": ["a.png", "a.png"]}], {}),
    "many": ([CHOICE | SHOWN] * 4, {"variations": ["original", "circular", "tests", "vs_e", "text_only", "ls_n+vr_b"]}),
    "sampled": ([CHOICE | {"group": f"g{n}"} for n in range(30)], {"sample": {"share": 0.5}}),
    "texts": ([CHOICE | SHOWN, OPEN], {"outputs": ["text"]}),
    "skipped": ([CHOICE, {"question": "?"}, CHOICE | {"answer": 7}], {"settings": {"on_error": "skip"}}),
}  # fmt: skip
"""Lines of own datasets, and further keys of their entries."""


def ran(stage: str, main: Callable[[Run], None], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a stage of a dataset."""
    monkeypatch.setattr("sys.argv", [stage, name])
    monkeypatch.setattr("signal.signal", lambda *_: None)  # a stage listens to SIGTERM
    with pytest.raises(SystemExit) as ended:
        run_stage(stage, main)
    assert ended.value.code == 0


def test_own_questions_are_counted_as_the_stages_will_count_them(
    bare: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any stage has run; after `prepare`, `rewrite` and `vary` the plan is the same."""
    for name in ("decisions", "docs"):
        (bare / name).symlink_to(ROOT / name)
    datasets = {}
    for name, (lines, entry) in LINES.items():
        (bare / name).mkdir()
        (bare / name / "a.png").write_bytes(image(1))
        (bare / name / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        datasets[name] = {"loader": "jsonl", "source": name, "template": "plain", **entry}
    set_params(datasets=datasets, variations=["original", "option_order", "lr_i", "ls_n", "vr_b_5", "blank"])
    before = json.loads(vouch("plan", "--json"))
    screen = vouch("plan")
    for stage, main in (("prepare", prepare), ("rewrite", rewrite), ("vary", vary)):
        for name in datasets:
            ran(stage, main, name, monkeypatch)
    after = json.loads(vouch("plan", "--json"))
    for one, made in zip(before["datasets"], after["datasets"], strict=True):
        skips = one["dataset"] == "skipped"
        assert one.pop("bound") == ("at most" if skips else "exact") and made.pop("bound") == "exact"
        assert one.pop("items") >= made.pop("items") and one == made
    written = {(one["dataset"], one["kind"]): (one["rewrites"], one["written"]) for one in before["rewrites"]}
    made = {name: REWRITES.read(rewrites_path(name)).to_pylist() for name in datasets}
    assert written == {
        (name, kind): (len(of_kind), sum(row["status"] == "accepted" for row in of_kind))
        for name, rows in made.items()
        for kind in KINDS
        if (of_kind := [row for row in rows if row["kind"] == kind])
    }
    assert written["wordy", "lr_i"] == (2, 1) and after["rewrites"] == []
    assert {one["bound"] for one in before["rewrites"]} == {"exact"}
    same = ("cells", "prompts", "answers", "forward_passes", "rows_of_passes")
    assert [before[key] for key in same] == [after[key] for key in same]
    assert "at most: as if no question were refused or rewritten in vain; `dvc repro vary` tells" in flat(
        screen
    )
    assert "as if no question" not in vouch("plan")
    for name, entry in datasets.items():
        groups = [row["group"] for row in ahead.questions(name, DatasetEntry.model_validate(entry))]
        of_items = ITEMS.read(items_path(name))["group"].to_pylist()
        assert list(map(groups.index, groups)) == list(map(of_items.index, of_items)), name


def test_questions_that_are_not_read_are_bounded(
    bare: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many are not rewritten, and of very many not even the kinds are known. How many rewrites the rules can
    write is known again once `prepare` has read the questions, of which some then stand for all."""
    for name in ("decisions", "docs"):
        (bare / name).symlink_to(ROOT / name)
    (bare / "kites").mkdir()
    lines = [{**(WORDY if n % 2 else CHOICE), "hint": str(n)} for n in range(8)]
    (bare / "kites/items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    entry = {"loader": "jsonl", "source": "kites", "template": "plain"}
    set_params(datasets={"kites": entry}, variations=["original", "lr_i"])

    def counted_as() -> tuple[str, int, int]:
        found = json.loads(vouch("plan", "--json"))
        return found["bound"], found["prompts"], found["answers"]

    models = len(load(Path("params.yaml"))["models"])
    assert counted_as() == ("exact", 12 * models, 12 * models), "half the questions have no other words"
    monkeypatch.setattr("vouch.cli.ahead.REWRITTEN", 1)
    assert counted_as() == ("at most", 16 * models, 16 * models)
    monkeypatch.setattr("vouch.cli.ahead.MOST", 7)
    assert counted_as() == ("at most", 16 * models, 32 * models)
    assert "kites: may hold questions with options and open ones" in vouch("plan")

    def rewrites() -> tuple[int, int, int | None, str]:
        (one,) = json.loads(vouch("plan", "--json"))["rewrites"]
        return one["questions"], one["rewrites"], one["written"], one["bound"]

    assert rewrites() == (8, 8, None, "at most")
    assert "rules can write is known once `prepare` has run: kites" in flat(vouch("plan"))
    ran("prepare", prepare, "kites", monkeypatch)
    assert rewrites() == (2, 2, 1, "exact") and "kites 2 1 of distinct" in flat(vouch("plan"))
    monkeypatch.setattr("vouch.cli.rewriting.TRIED", 1)
    assert rewrites() == (2, 2, 2, "about") and "kites 2 ~2 of distinct" in flat(vouch("plan"))


def test_what_will_stop_the_run_is_said_before(
    bare: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare / "kites").mkdir()
    (bare / "kites/items.jsonl").write_text(json.dumps(CHOICE) + '\n{"question": "?"}\n', "utf-8")
    entry = {"loader": "jsonl", "source": "kites", "template": "plain"}
    models = {**load(Path("params.yaml"))["models"], "mine": "../weihgts"}
    (bare.parent / "weights").mkdir(exist_ok=True)
    set_params(datasets={"kites": entry}, models=models)
    reads, read = list[str](), ahead.questions

    def counted(name: str, entry: DatasetEntry) -> list[ahead.Row]:
        reads.append(name)
        return read(name, entry)

    monkeypatch.setattr(ahead, "questions", counted)
    said = vouch("plan")
    assert reads == ["kites"], "the questions of a large dataset take seconds to read"
    assert "prepare@kites will stop: kites/items.jsonl line 2 (id '2'): has no " in said
    assert "models.mine: ../weihgts is not here; did you mean weights? correct it in params.yaml" in flat(
        said
    )
    set_params(datasets={"kites": entry | {"source": "kitse"}})
    assert "kitse: no such file or folder; correct datasets.kites.source" in vouch("plan", status=1)


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--discordant", "nan"),
        ("plan", "--discordant", "-0.1"),
        ("plan", "--discordant", "1.1"),
        ("plan", "--design", "nan"),
        ("plan", "--design", "inf"),
        ("plan", "--design", "0.9"),
        ("review", "rewrites", "left", "--accept-checked", "--doubt", "nan"),
        ("review", "rewrites", "left", "--accept-checked", "--doubt", "-1"),
        ("review", "rewrites", "left", "--accept-checked", "--doubt", "inf"),
        ("store", "verify", "--recompute", "1", "--seed", "-1"),
        ("store", "verify", "--recompute", "1", "--seed", "0.5"),
        ("watch", "--every", "nan"),
    ],
)
def test_a_number_out_of_range_is_one_line(
    bare: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_vouch(list(words))
    line = capsys.readouterr().err
    assert (
        ended.value.code == 2
        and line.count("\n") == 1
        and f"argument {words[-2]}: {words[-1]}: give " in line
    )


def test_gpu_hours_are_parameters_times_tokens() -> None:
    letters = Count(40, {LETTERS: 40}, {PlannedRow(LETTERS, 80): 40})
    texts = Count(8, {TEXT: 8}, {PlannedRow(TEXT, 80): 8}, {"original": 8})
    reading = 2 * 7e9 * 656 / 125e12 / 3600
    assert gpu_hours(7_000_000_000, [letters, letters], GREEDY, 9) == pytest.approx(80 * reading)
    plain = gpu_hours(7_000_000_000, [letters], GREEDY, 9)
    assert gpu_hours(7_000_000_000, [letters], GREEDY, 9, thought=100) > 2 * plain
    bare = gpu_hours(7_000_000_000, [letters], GREEDY, 9, sees=False)
    assert bare == pytest.approx(40 * reading * 80 / 656), "a language model reads no image"
    writing = 2 * 7e9 / 1.5e12 / 3600
    found = gpu_hours(7_000_000_000, [letters, texts.of(SAMPLED, "m", "d")], SAMPLED, 9)
    assert found == pytest.approx(48 * reading + 2 * 6 * 9 * writing), "two passes a token, for six texts"
    shared = Count(40, {LETTERS: 40}, {PlannedRow(LETTERS, 200, 10, tree=True): 4})
    bare = gpu_hours(7_000_000_000, [shared], GREEDY, 9, sees=False)
    assert bare == pytest.approx(800 * reading / 656), "what prompts share is read once"


def test_the_price_of_requests_to_a_server() -> None:
    prices = Prices(input=2, output=10, image=85, tile=170)
    sizes = {(512, 512): 1, (1024, 768): 4, (2048, 4096): 6, (100, 4000): 4, (4096, 4096): 4}
    assert {size: (prices.image_tokens(*size) - 85) // 170 for size in sizes} == sizes, "OpenAI's tiles"
    entry = {"engine": "openai", "prices": prices.model_dump()}
    openai, vllm = (
        LockEntry.model_validate({**entry, "source": {"kind": "server", "url": url, "name": "m"}})
        for url in ("https://api.openai.com/v1", "http://127.0.0.1:8000/v1")
    )
    rows = {PlannedRow(LETTERS, 70): 39, PlannedRow(LETTERS, 110): 1, PlannedRow(LIKELIHOOD, 75): 24}
    alone = Count(40, {}, {**rows, PlannedRow(TEXT, 90): 8})
    trees = {PlannedRow(LETTERS, 30, tree=True): 40, PlannedRow(LIKELIHOOD, 40, tree=True): 6}
    outputs = {LETTERS: 40, LIKELIHOOD: 6, TEXT: 8}
    plain = Count(40, outputs, trees | {PlannedRow(TEXT, 50): 8}, {"original": 8}, without_images=alone)

    def asked(entry: LockEntry, config: ExtractConfig = SAMPLED) -> list[Count]:
        return [plain.of(config, "m", "d", unsupported=unsupported_outputs(entry))]

    words = 40 * 71 + 8 * 6 * 90  # a server reads each prompt whole
    read = words + 88 * (85 + 4 * 170)
    written = 40 + 8 * 6 * 9
    assert cost(openai, asked(openai), 9) == (88, read, written, (2 * read + 10 * written) / 1e6)
    assert cost(openai.model_copy(update={"sees": False}), asked(openai), 9)[1] == words, "no image is sent"
    scored = cost(vllm, asked(vllm), 9)
    assert scored[0] == 88 + 6 * 5 and scored[2] == written + 6 * 5, (
        "the prompt and four options, each scored"
    )
    assert scored[1] == words + 30 * 75 + 118 * (85 + 4 * 170)
    thinks = vllm.model_copy(update={"reasoning": Reasoning(tokens=100)})
    requests, _, thought, _ = cost(thinks, asked(thinks, GREEDY), 9)
    assert (requests, thought) == (8, 8 * 109), "a server gives no letters of a model that thinks"


def test_nothing_to_ask(tmp_path: Path) -> None:
    count = counted(tmp_path, [prompt("q/original", "what", outputs=())])
    assert (
        count.prompts,
        count.of(SAMPLED, "m", "d").answers,
        count.of(SAMPLED, "m", "d").passes(SAMPLED).count,
    ) == (
        1,
        0,
        0,
    )
    assert TEXT not in count.outputs


def test_a_dataset_with_variations_of_its_own(bare: Path, vouch: Vouch) -> None:
    params = (bare / "params.yaml").read_text("utf-8")
    params = params.replace("items: 20}}", "items: 20}, variations: [original, vr_b, lr_i]}")
    (bare / "params.yaml").write_text(params, "utf-8")
    lines = [line.split() for line in vouch("plan").splitlines()]
    counts = {line[0]: line[2:6] for line in lines if line[:1] in (["left"], ["right"])}
    assert counts == {"left": ["24", "at", "most", "24"], "right": ["20", "at", "most", "60"]}
    assert "made by no stage" not in " ".join(map(" ".join, lines))


def test_a_lock_that_was_cut_is_named_where_all_receipts_fit(
    bare: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vouch.cli.planned.states", lambda _: [])
    (bare / "dvc.lock").write_text("schema: '2.0'\nstages:\n  prepare@left:\n", "utf-8")
    assert "dvc.lock: was cut short" in vouch("plan", status=1)


def test_what_an_earlier_profile_left_is_named_before_a_stage_moves_it(bare: Path, vouch: Vouch) -> None:
    (bare / "profiles").symlink_to(ROOT / "profiles")
    (bare / "data/items").mkdir(parents=True)
    (bare / "data/items/old.parquet").touch()
    (bare / "reports/items/old").mkdir(parents=True)
    (bare / "reports/items/old/index.js").touch()
    (bare / "data/responses/left").mkdir(parents=True)
    (bare / "data/responses/left/old.text.parquet").touch()
    said = "the run will move it to .vouch/unused: data/items/old.parquet and 2 more"
    assert said in flat(vouch("plan"))
    assert said not in flat(vouch("plan", "small")), "of another profile"


def test_a_new_variation_counts_what_follows_from_it(bare: Path, vouch: Vouch) -> None:
    dag = read_dag()
    for out in dag.maker:
        (bare / out).parent.mkdir(parents=True, exist_ok=True)
        (bare / out).write_text("made", "utf-8")
    for name in ("left", "right"):
        PROMPTS.write(prompts_path(name), [prompt(f"q{n}/original", "what") for n in range(5)])
    digests = Digests()
    for stage in dag.stages.values():
        write_receipt(stage, as_read(stage, present(stage, digests), digests))
    out = vouch("plan")
    assert out.endswith("\nall 25 stages are up to date; no model is asked anything\n")
    assert "cells" not in out and "passes" not in out and "more run" not in out
    assert "dvc repro` also runs" not in out
    # DVC recorded another state of what a stage without a judge does not read
    changed = {"cmd": "python -m stages.judge left", "deps": [{"path": "vouch/models", "md5": "0.dir"}]}
    lock = {"schema": "2.0", "stages": {"judge@left": changed}}
    (bare / "dvc.lock").write_text(json.dumps(lock, indent=1) + "\n", "utf-8")
    assert "`dvc repro` also runs 1 judge: " in vouch("plan")
    assert json.loads(vouch("plan", "--json"))["only_dvc"] == ["judge@left"]
    (bare / "dvc.lock").unlink()
    params = (bare / "params.yaml").read_text("utf-8")
    longer = params.replace("variations: [original]", "variations: [original, vr_b]")
    assert longer != params
    (bare / "params.yaml").write_text(longer, "utf-8")
    out = flat(vouch("plan"))
    assert (
        "4 cells (model x dataset) to extract, 4 of them only if their inputs change: at most 176 prompts"
        in out
    )
    assert "5 stages are not up to date: 2 rewrite, 2 vary, 1 report" in out
    assert (
        "12 more run if their inputs change: 4 extract, 2 judge, 2 score, 2 browse, 1 embed_texts, 1 compare"
        in out
    )


def test_a_plan_for_programs_has_the_numbers_of_the_screen(bare: Path, vouch: Vouch) -> None:
    found, said = json.loads(vouch("plan", "--json")), vouch("plan")
    assert f"{found['cells']} cells" in said and f"{found['prompts']:,} prompts" in said
    assert f"{found['answers']:,} answers" in said and f"{found['forward_passes']:,} forward passes" in said
    assert f"{len(found['stages'])} stages are not up to date" in said
    for one in found["datasets"]:
        assert f"{one['dataset']} " in said and str(one["prompts"]) in said
    assert [one["model"] for one in found["models"]] == ["tiny_a", "tiny_b"]


def test_the_prompts_of_a_judge_are_counted(bare: Path, vouch: Vouch) -> None:
    shapes = {"loader": "shapes_text", "source": "vouch/demo/scenes", "template": "plain"}
    asked = {
        "words": shapes | {"settings": {"seed": 1, "items": 12}},
        **load(Path("params.yaml"))["datasets"],
    }
    judge = {"model": "tiny_a", "open": True}
    set_params(datasets=asked, variations=["original", "lr_i"])
    assert "the judge" not in vouch("plan") and json.loads(vouch("plan", "--json"))["judge"] == {}
    set_params(score={**load(Path("params.yaml"))["score"], "judge": judge})
    found = json.loads(vouch("plan", "--json"))
    texts = sum(each["outputs"].get(TEXT, 0) for each in found["datasets"] if each["dataset"] != "words")
    models = len(load(Path("params.yaml"))["models"])
    assert found["judge"] == {"open": 12 * models, "options": texts * models}, "of the original prompts"
    assert f"the judge: at most {12 * models} prompts for open answers" in vouch("plan")
