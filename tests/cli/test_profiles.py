"""`vouch plan` on the profiles of the papers: their sizes, without data and without a network."""

import csv
import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.cli.conftest import Vouch, flat, lay_out
from tests.models.project import ROOT
from tests.refusals import refused
from vouch.cli.counts import prompt_sets, variations_of
from vouch.cli.ways import models_of, screen, sizes
from vouch.datasets.loaders.reform import DRAWN, SHAPES, sets
from vouch.params.check import check_params, check_project
from vouch.params.project import Project
from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load
from vouch.prompts.config import models_of_variants
from vouch.prompts.template import read_template

# What the papers print: models x datasets, datasets x variations, and of these the ones with two at once.
PAPERS = {
    "kostumov": ([(26, 5)], (5, 0)),
    "azad": ([(16, 6)], (6, 0)),
    "tu": ([(30, 8), (15, 4)], (8, 0)),
    "parc": ([(22, 7)], (81, 26)),
    "reform": ([(16, 61)], None),
}
ROWS = {
    "kostumov": {"mmbench": 4377, "oodcv": 2844, "scienceqa": 3953, "seedbench": 14233, "ai2d": 15501},
    "azad": {
        "ai2d": 3088, "scienceqa": 2017, "mathvision": 1532, "worldmedqa_v": 1136, "mmmu": 794,
        "mmmu_pro": 1213,
    },
    "tu": {"scienceqa": 2017, "ai2d": 3088, "mmmu": 1050, "realworldqa": 765, "chartqa": 2500, "ocrvqa": 3072},
    "parc": {
        "mmbench": 4377, "mit_attribute": 197, "mit_state": 597, "vaw_state": 470, "nyu_depth": 1858,
        "fashion": 2435,
    },
    "current": {
        "mmbench": 4329, "scienceqa": 2017, "ai2d": 3088, "mmmu": 794, "mmmu_pro": 1162, "realworldqa": 765,
    },
    "reform": {"scienceqa": 201, "scienceqa_likelihood": 201, "flowers102": 818, "refcoco": 240},
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout without data and params.yaml, and nothing outside it; no plan makes them."""
    path = tmp_path / "checkout"
    path.mkdir()
    lay_out(path, "profiles", "decisions", "drivers")
    (path / "params.yaml").unlink()
    shutil.copy(ROOT / "models.lock", path)
    monkeypatch.chdir(path)
    yield path
    assert not (path / "data").exists()


@pytest.mark.parametrize("profile", sorted(path.stem for path in (ROOT / "profiles").glob("*.yaml")))
def test_every_profile_names_itself_and_is_valid(profile: str, here: Path) -> None:
    assert f"\nprofile: {profile}\n" in (ROOT / f"profiles/{profile}.yaml").read_text("utf-8")
    with_server = "unknown name smollm2_llama_cpp"  # `make real` adds its server to models.lock
    with refused(with_server) if profile == "real" else nullcontext():
        if profile != "released":  # it is made valid by `vouch use`, with the files there are
            assert project(profile).profile == profile


def test_the_committed_params_are_the_demo() -> None:
    profile = (ROOT / "profiles/demo.yaml").read_text("utf-8")
    assert (ROOT / "params.yaml").read_text("utf-8") == profile.replace("=../docs", "=docs", 1)


def project(name: str) -> Project:
    return check_params(load(ROOT / f"profiles/{name}.yaml"), name)


def test_sets_are_those_of_azad_and_parc(here: Path) -> None:
    """Half of each dataset calibrates, and sets miss a tenth; the scores that each paper names. Neither names a seed."""
    for name, scores in (("azad", ["lac", "aps", "margin", "margin_literal"]), ("parc", ["lac", "aps"])):
        score = project(name).score
        assert (score.alphas, score.calibration, score.seed) == ((0.1,), 0.5, 42)
        assert [*score.scores[: len(scores)]] == scores
    assert project("parc").score.parsers == ["contains"], "PARC looks for answers anywhere in a response"


def test_each_dataset_of_azad_has_the_template_of_its_name(here: Path) -> None:
    """Tables 5 and 6: a system message and instruction of its own."""
    asked = {name: (entry.template, entry.variant) for name, entry in project("azad").datasets.items()}
    assert asked == {name: (f"azad_{name}", None) for name in ROWS["azad"]}


def test_azad_asks_every_model_for_greedy_answers(here: Path) -> None:
    """Section 5.2: do_sample=False. Nor does one search over beams or leave out a dataset."""
    asked = project("azad").extract
    assert (asked.sampling, asked.beam_search, asked.datasets_of) == ([], {}, {})


def test_samples_are_those_of_tu(here: Path) -> None:
    """Section 4.3: five stochastic inferences of each question to each model, at temperature .7."""
    settings = project("tu")
    for model in settings.models:
        for dataset in settings.datasets:
            (drawn,) = settings.extract.sampled(model, dataset)
            assert (drawn.temperature, drawn.samples) == (0.7, 5)


def test_open_datasets_of_tu_are_measured_as_in_vlmevalkit(here: Path) -> None:
    """Each by its own metric; the others of the paper ask for a choice."""
    settings = project("tu")
    assert settings.score.answers == {
        "chartqa": ["relaxed_accuracy"], "ocrvqa": ["lower_match"], "textvqa": ["vqa_score"], "docvqa": ["anls"]
    }  # fmt: skip
    assert {name for name, one in settings.datasets.items() if one.template == "tu_open"} == set(
        settings.score.answers
    )


@pytest.mark.parametrize("name", PAPERS)
def test_plan_reproduces_the_size_of_the_study(name: str, here: Path, vouch: Vouch) -> None:
    studies, sets = PAPERS[name]
    out = vouch("plan", name, "--wide")
    said = " and ".join(f"{models} models x {datasets} datasets" for models, datasets in studies)
    assert f": {said} " in flat(out)
    if sets:
        more = f", and {sets[1]} of two variations at once" if sets[1] else ""
        assert f"prompt sets of a model (dataset x variation): {sets[0]}{more} " in flat(out)
    lines = {line.split()[0]: line.replace("at most ", "").split() for line in out.splitlines() if line}
    assert {dataset: int(lines[dataset][2]) for dataset in ROWS[name]} == ROWS[name]
    assert flat(screen(models_of(project(name)), project(name))) in flat(out)


def test_parc_combines_the_four_pairs_of_its_appendix(here: Path) -> None:
    """Section A10.1. MMBench has one picture, so nothing to swap: 6 x 4 + 2 sets."""
    parc = project("parc")
    pairs = {name: {one for one in variations_of(parc, name) if "+" in one} for name in parc.datasets}
    assert pairs.pop("mmbench") == {"lr_i+vr_l", "ls_n+vr_l"}
    assert list(pairs.values()) == [{"lr_i+vr_l", "lr_i+vs_s", "ls_n+vr_l", "ls_n+vs_s"}] * 6


def test_parc_asks_its_eleven_changes_and_rewrites_by_its_llama(here: Path) -> None:
    """Table 1, without three that MMBench cannot have (Table 2); A7.2 and A7.4 name the model and what is cleaned."""
    parc = project("parc")
    asked = {name: {one for one in variations_of(parc, name) if "+" not in one} for name in parc.datasets}
    every = {"lr_i", "lr_c", "lr_v", "ls_n", "ls_a", "ls_m", "vr_b", "vr_l", "vr_r", "vs_s", "vs_e"}
    assert asked.pop("mmbench") == {"original"} | every - {"ls_m", "vs_s", "vs_e"}
    assert list(asked.values()) == [{"original", "initial"} | every] * 6
    assert (parc.rewrite.rewriter, parc.rewrite.clean) == ("data/models/llama_3_70b.json", ["mmbench"])
    source = load(ROOT / "models.lock")["models"]["llama_3_70b"]["source"]
    assert (parc.helpers["llama_3_70b"], source["repo"]) == (
        "models.lock",
        "meta-llama/Meta-Llama-3-70B-Instruct",
    )


def test_a_study_counts_entries_of_one_dataset_once(here: Path) -> None:
    reform = project("reform")
    names = {entry.settings["set"] for entry in reform.datasets.values()}
    assert len(names) == 61 and len(reform.datasets) == 61 + 42
    likelihood = [name for name in reform.datasets if name.endswith("_likelihood")]
    assert all((reform.datasets[name].variant or "").endswith("likelihood") for name in likelihood)
    fewer = reform.model_copy(update={"datasets": {name: reform.datasets[name] for name in likelihood}})
    assert sizes(models_of(fewer)) == [(16, 42)] and prompt_sets(fewer) == (42 * 2 + 1, 0)


def test_options_of_reform_are_those_that_the_authors_built(here: Path) -> None:
    """Their files hold them, or their lists of answers do; no scheme would draw the same."""
    entries = project("reform").datasets.values()
    assert {entry.loader for entry in entries} == {"reform"} and not any(entry.options for entry in entries)
    shapes = {name: SHAPES.get(one.shape[0]) for name, one in sets().items()}
    drawn = {name for name, shape in shapes.items() if shape is not None and shape.options == DRAWN}
    assert (
        drawn == {"coco_counting"} | {name for name in sets() if name.startswith("tdiuc_")}
        and len(drawn) == 8
    )
    lists = [entry.origin.files for entry in entries if entry.settings["set"] in drawn and entry.origin]
    assert all("_list/" in names[-1] for names in lists)


@pytest.mark.parametrize("name", [*PAPERS, "current"])
def test_dvc_reads_a_profile_as_we_do_and_what_has_no_commit_is_named(name: str, here: Path) -> None:
    from dvc.utils.serialize import parse_yaml

    path = ROOT / f"profiles/{name}.yaml"
    assert parse_yaml(path.read_text("utf-8"), str(path)) == load(path)
    origins = [entry.origin for entry in project(name).datasets.values() if entry.origin]
    assert all(origin.unpinned != origin.pinned for origin in origins)
    locked = load(ROOT / "models.lock")["models"]
    assert not any(entry.get("unpinned") for entry in locked.values()), "refused until it is locked"


def test_models_of_today(here: Path, vouch: Vouch) -> None:
    current, out = project("current"), vouch("plan", "current", "--wide")
    assert 12 <= len(current.models) <= 16 and len(current.datasets) == 6
    prompts = sum(ROWS["current"].values()) * 9
    lines = {line.split()[0]: line.replace("at most ", "").split()[1:] for line in out.splitlines() if line}
    for name in current.models:
        billions, asked, hours = lines[name]
        assert 1 <= float(billions) <= 30 and int(asked) == prompts
        each = 11.49 if "thinking" in name else 1.119
        assert float(hours) == pytest.approx(each * float(billions), abs=0.1), (
            "two operations a token, and texts; thoughts of 2048"
        )
    for name, entry in current.datasets.items():
        assert int(lines[name][1]) == ROWS["current"][name] and "letters, likelihood, text" in " ".join(
            lines[name]
        )
        assert entry.origin and entry.origin.pinned
    assert "an estimate from parameters x tokens" in flat(out)


# Most new tokens in the last VLMEvalKit before the paper (854caaca, 9 December 2024), by its class of the model.
# InstructBLIP: its `max_length` is not passed on, so the default of LAVIS's `generate` holds.
CAPS = {"llava": 512, "paligemma": 512, "mantis": 1024, "instructblip": 256}


def test_texts_of_tu_are_as_long_as_in_vlmevalkit(here: Path) -> None:
    tu = project("tu")
    caps = {name: tu.extract.max_tokens_of.get(name, tu.extract.max_tokens) for name in tu.models}
    assert caps == {name: CAPS[name.partition("_")[0]] for name in caps}
    assert not any(read_template(entry.template, entry.variant).max_tokens for entry in tu.datasets.values())


def test_instructblip_of_tu_gets_the_prompt_alone(here: Path) -> None:
    """`self.model.generate(dict(image=image_tensor, prompt=prompt))` in VLMEvalKit."""
    locked = load(ROOT / "models.lock")["models"]
    asked = [name for name in project("tu").models if name.startswith("instructblip")]
    assert len(asked) == 4 and {locked[name]["template"] for name in asked} == {"plain"}
    assert {locked[name]["template"] for name in project("reform").models} == {"question_answer"}


def test_a_cap_of_a_model_that_is_not_asked(here: Path) -> None:
    values = load(ROOT / "profiles/tu.yaml")
    values["extract"]["max_tokens_of"]["mantis"] = 5
    with pytest.raises(UserError, match=r"extract\.max_tokens_of: unknown name mantis; valid: instructblip"):
        check_params(values, "tu")
    values["extract"] = {"datasets_of": {next(iter(values["models"])): ["nosuch"]}}
    with pytest.raises(UserError, match=r"extract\.datasets_of\.\w+: unknown name nosuch; valid: "):
        check_params(values, "tu")
    for key in ("models", "datasets", "variations"):
        values["extract"] = {"sampling": [{"temperature": 1, "samples": 2, key: ["nosuch"]}]}
        with pytest.raises(UserError, match=rf"extract\.sampling\.0\.{key}: unknown name nosuch; valid: "):
            check_params(values, "tu")


def test_mmmu_pro_of_azad_keeps_questions_of_several_images(here: Path) -> None:
    """Table 7 counts to tens: 1,210 are the 1,213 with ten options, not the 1,162 of them about one image."""
    with (ROOT / "docs/published/azad_7.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["dataset"]: int(row["questions"]) for row in csv.DictReader(lines)}
    entry = project("azad").datasets["mmmu_pro"]
    assert entry.settings == {"options": 10} and printed["mmmu_pro"] == 1210
    answers = ROOT.parent / "shared/reference/outputs/mmmu_pro/InternVL2-8B__direct__Standard_10opts_.jsonl"
    if not answers.exists():
        pytest.skip("needs ../shared/reference/outputs/mmmu_pro")
    rows = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
    ten = sum(row["n_options"] == 10 for row in rows)
    assert (len(rows), ten) == (1730, 1213)
    assert [round(count, -1) for count in (ten, ten - 51)] == [printed["mmmu_pro"], 1160]


def test_prompts_of_model_families_are_asked_of_a_server(here: Path, vouch: Vouch) -> None:
    """Beside all other models, as docs/profiles.md says."""
    locked = load(here / "models.lock")
    server = {"source": {"kind": "server", "url": "http://127.0.0.1:8000/v1", "name": "Qwen/Qwen-VL-Chat"}}
    families = {"qwen_vl_chat": "qwen", "monkey_chat": "qwen", "xcomposer2_7b": "xcomposer", "yi_vl_6b": "yi"}
    locked["models"] |= {name: {**server, "engine": "openai"} for name in families}
    (here / "models.lock").write_text(json.dumps(locked), "utf-8")
    models = {**project("kostumov").models, **dict.fromkeys(families, "models.lock")}
    on_mmbench = {name: "qwen_nan" if variant == "qwen" else variant for name, variant in families.items()}
    sets = [f"models={json.dumps(models)}", f"datasets.mmbench.variants={json.dumps(on_mmbench)}"]
    others = ("oodcv", "scienceqa", "seedbench", "ai2d")
    sets += [f"datasets.{name}.variants={json.dumps(families)}" for name in others]
    vouch("use", "kostumov", *(word for one in sets for word in ("--set", one)))
    assert "50 cells (model x dataset) to extract" in vouch("plan"), (
        "those of the profile and these, together"
    )
    own = {name: models_of_variants(one.model_dump()) for name, one in check_project().datasets.items()}
    apart = {"xcomposer": ["xcomposer2_7b"], "yi": ["yi_vl_6b"]}
    assert own.pop("mmbench") == {"qwen_nan": ["monkey_chat", "qwen_vl_chat"], **apart}
    assert own == {name: {"qwen": ["monkey_chat", "qwen_vl_chat"], **apart} for name in others}


def test_an_unknown_profile(here: Path, vouch: Vouch) -> None:
    assert "did you mean parc?" in vouch("plan", "pacr", status=1)


def test_a_profile_takes_the_place_of_what_is_no_text(here: Path, vouch: Vouch) -> None:
    damaged = "é".encode("utf-16")
    (here / "params.yaml").write_bytes(damaged)
    said = vouch("use", "small")
    profile = (ROOT / "profiles/small.yaml").read_text("utf-8")
    assert (here / "params.yaml").read_text("utf-8") == profile.replace("=../docs", "=docs", 1)
    (kept,) = (here / ".vouch/params").iterdir()
    assert kept.read_bytes() == damaged and str(kept.relative_to(here)) in said


@pytest.mark.parametrize("command", ["use", "plan"])
@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "holds no keys"), (b"- a\n", "holds no keys"), (b"\x90\x01", "UTF-8 text")]
)
def test_a_profile_that_is_none_is_one_line(
    here: Path, vouch: Vouch, command: str, content: bytes, problem: str
) -> None:
    Path("profiles").unlink()  # a link to those of the project
    Path("profiles").mkdir()
    Path("profiles/mine.yaml").write_bytes(content)
    line = vouch(command, "mine", status=1)
    assert line.count("\n") == 1 and "profiles/mine.yaml: " in line and problem in line
    assert not Path("params.yaml").exists()


@pytest.mark.parametrize("content", ["", "[]", "stages:\n", "params: a"])
def test_a_definition_without_stages_is_one_line(bare: Path, content: str) -> None:
    (bare / "dvc.yaml").write_text(content, "utf-8")
    with pytest.raises(UserError, match=r"^dvc\.yaml: has no `stages`; restore it from version control$"):
        read_dag()
