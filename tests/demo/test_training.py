"""Training: refused configurations, the same bytes twice, a falling loss, a model that loads and answers."""

import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from dvc.repo import Repo
from PIL import Image
from pydantic import ValidationError

from stages.train import main
from vouch.demo.config import Config
from vouch.demo.learning import Muon, OptionHead, WordAlignment, content_loss, orthogonal, rate
from vouch.demo.lessons import IGNORED
from vouch.demo.training import Trained, save, train
from vouch.demo.writing import BY_LETTER, LETTERS, build_tokenizer
from vouch.pipeline.dag import read_dag
from vouch.pipeline.run import Run
from vouch.tables.answered import folder_digests

_TINY = {
    "family": "llava",
    "seed": 0,
    "width": 16,
    "layers": 2,
    "heads": 2,
    "pictures": 12,
    "batch": 4,
    "read_steps": 2,
    "name_steps": 2,
    "choose_steps": 2,
    "target": 1.0,
    "learning_rate": 0.01,
}


def tiny(**changes: Any) -> Config:
    """The configuration with some values changed."""
    return Config.model_validate({**_TINY, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 20, "heads": 4}, "is not a multiple of twice the 4 heads"),
        ({"layers": 1}, "greater than or equal to 2"),
        ({"target": 0}, "greater than 0"),
        ({"choose_steps": 0}, "greater than or equal to 1"),
        ({"family": "qwen"}, "'llava' or 'idefics3'"),
        ({"depth": 3}, "Extra inputs are not permitted"),
    ],
)
def test_bad_values_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        tiny(**changes)


def trained(**changes: object) -> Trained:
    return train(tiny(**changes), iter)


@pytest.fixture(scope="module")
def result() -> Trained:
    return trained()


@pytest.fixture(scope="module")
def folder(result: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    save(result.model, result.processor, path)
    return path


def test_training_twice_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(99)  # what the process drew before must not matter
    torch.rand(7)
    random.seed(99)
    for name, seed in (("again", 0), ("other", 1)):
        result = trained(seed=seed)
        (tmp_path / name).mkdir()
        save(result.model, result.processor, tmp_path / name)
    first, again, other = (folder_digests(path) for path in (folder, tmp_path / "again", tmp_path / "other"))
    assert first == again
    assert first["model.safetensors"] != other["model.safetensors"]
    assert first["tokenizer.json"] == other["tokenizer.json"]


def test_the_loss_falls() -> None:
    losses = trained(read_steps=60, name_steps=0, choose_steps=1, batch=8).losses[:60]
    assert losses[0] > 0.8 * math.log(len(build_tokenizer()))
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])


def test_training_stops_at_its_target() -> None:
    easy = trained(read_steps=0, name_steps=0, choose_steps=60, target=0.01)
    assert len(easy.losses) == 25 and 0.01 <= easy.accuracy < 0.9


def test_an_untrained_model_is_at_chance() -> None:
    assert trained(read_steps=0, name_steps=0, choose_steps=1).accuracy < 0.4


def test_it_loads_offline_and_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoModelForImageTextToText, AutoProcessor, LlavaForConditionalGeneration

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    processor = AutoProcessor.from_pretrained(folder)
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    assert isinstance(model, LlavaForConditionalGeneration) and model.dtype == torch.float32
    long = " ".join(["An unknown “word” — naïve 猫"] * 200) + f"\nA. red\nB. blue\n{BY_LETTER}"
    texts = ["What colour is the star?\nA. red\nB. blue\n" + BY_LETTER, long]
    images = [Image.new("RGB", (64, 64)), Image.new("RGB", (333, 71), "red")]
    content = [[{"type": "image"}, {"type": "text", "text": text}] for text in texts]
    chats = [[{"role": "user", "content": parts}] for parts in content]
    prompts = [processor.apply_chat_template(chat, add_generation_prompt=True) for chat in chats]
    inputs = processor(images=[[image] for image in images], text=prompts, return_tensors="pt", padding=True)
    assert inputs["input_ids"].shape[1] > 1000
    with torch.no_grad():
        logits = model(**inputs).logits[:, -1]
        replies = model.generate(**inputs, max_new_tokens=3, do_sample=False)
    letters = processor.tokenizer.convert_tokens_to_ids(list(LETTERS))
    assert torch.isfinite(logits).all() and logits[:, letters].shape == (2, 26)
    assert replies.shape[0] == 2


def test_the_second_family_trains_and_loads_like_the_first(tmp_path: Path) -> None:
    from transformers import AutoModelForImageTextToText, AutoProcessor, Idefics3ForConditionalGeneration

    for name in ("one", "again"):
        result = trained(family="idefics3")
        (tmp_path / name).mkdir()
        save(result.model, result.processor, tmp_path / name)
    assert folder_digests(tmp_path / "one") == folder_digests(tmp_path / "again")
    processor = AutoProcessor.from_pretrained(tmp_path / "one")
    model = AutoModelForImageTextToText.from_pretrained(tmp_path / "one").eval()
    assert isinstance(model, Idefics3ForConditionalGeneration)
    content = [{"type": "image"}, {"type": "text", "text": "Where is the star?"}]
    prompt = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    for size in ((64, 64), (300, 50), (20, 90)):
        inputs = processor(images=[[Image.new("RGB", size, "red")]], text=[prompt], return_tensors="pt")
        assert inputs["pixel_values"].shape == (1, 1, 3, 64, 64)
        with torch.no_grad():
            assert torch.isfinite(model(**inputs).logits).all()


def test_nothing_of_the_scaffold_is_saved(folder: Path, result: Trained) -> None:
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as weights:
        names = set(weights.keys())
    expected = {name for name, _ in result.model.named_parameters()} - {"lm_head.weight"}
    assert len(names) == len(expected)
    assert "transformers_version" not in (folder / "config.json").read_text()


def test_orthogonal_brings_singular_values_near_one() -> None:
    for shape in ((3, 8, 20), (2, 20, 8)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(*shape, generator=torch.manual_seed(0))))
        assert values.min() > 0.6 and values.max() < 1.3


def test_muon_is_the_one_of_torch_but_for_its_precision() -> None:
    start = torch.randn(12, 5, generator=torch.manual_seed(1))
    ours, theirs, idle = (torch.nn.Parameter(start.clone()) for _ in range(3))
    reference = torch.optim.Muon([theirs], lr=0.02, weight_decay=0.05)
    muon = Muon([idle, ours])
    for step in range(4):
        gradient = torch.randn(12, 5, generator=torch.manual_seed(2 + step))
        ours.grad, theirs.grad = gradient, gradient.clone()
        muon.step(0.02)
        reference.step()
    torch.testing.assert_close(ours, theirs, atol=2e-3, rtol=0)
    assert torch.equal(idle, start) and not torch.allclose(ours, start, atol=0.02)


def test_rate_rises_stays_and_falls() -> None:
    shares = [rate(step, 1000) for step in range(1000)]
    assert shares[0] == 0.02 and shares[49] == shares[649] == 1.0
    assert shares[:50] == sorted(shares[:50]) and shares[650:] == sorted(shares[650:], reverse=True)
    assert 0 < shares[-1] <= 0.02


def test_option_loss_counts_only_marked_places() -> None:
    head = OptionHead(4)
    torch.nn.init.zeros_(head.linear.weight)
    torch.nn.init.constant_(head.linear.bias, 2.0)
    options = torch.tensor([[IGNORED, 1, IGNORED, 0]])
    loss = head.loss(torch.rand(1, 4, 4), options)
    assert loss.item() == pytest.approx((math.log1p(math.exp(-2)) + math.log1p(math.exp(2))) / 2)
    assert head.loss(torch.rand(1, 4, 4), torch.full((1, 4), IGNORED)).item() == 0


def test_content_loss_counts_only_marked_places() -> None:
    hidden = torch.tensor([[[5.0, 0.0], [0.0, 5.0], [9.0, 9.0]]])
    identity = torch.nn.Identity()
    right = content_loss(identity, identity, hidden, torch.tensor([[0, 1, IGNORED]]))
    wrong = content_loss(identity, identity, hidden, torch.tensor([[1, 0, IGNORED]]))
    assert right.item() == pytest.approx(math.log1p(math.exp(-5)))
    assert wrong.item() == pytest.approx(5 + right.item())


def test_alignment_is_least_where_patches_are_their_words() -> None:
    tokenizer = build_tokenizer()
    alignment = WordAlignment(tokenizer)
    embeddings = torch.eye(len(tokenizer))
    cells = torch.zeros(1, 16, 2, dtype=torch.long)
    cells[0, 3] = torch.tensor([4, 1])  # a red star in the top right
    word = tokenizer.convert_tokens_to_ids
    nothing = [embeddings[word("<s>")]] * 16
    places = ["top left", "top left", "top right", "top right"] * 2
    places += ["bottom left", "bottom left", "bottom right", "bottom right"] * 2
    sides = ["Left", "Left", "Right", "Right"] * 4
    shown = [
        embeddings[word(place)] + embeddings[word(side)] for place, side in zip(places, sides, strict=True)
    ]
    patches = (torch.stack(nothing) + torch.stack(shown))[None]
    patches[0, 3] += embeddings[word("red")] + embeddings[word("star")] - embeddings[word("<s>")]
    good = alignment.loss(patches, embeddings, cells)
    turned = alignment.loss(patches.flip(1), embeddings, cells)
    assert good < 0.02 < 1 < turned


ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The first model of the small profile, in a project folder of its own."""
    for name in ("dvc.yaml", "models.lock"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "params.yaml").write_bytes((ROOT / "profiles/small.yaml").read_bytes())
    monkeypatch.chdir(tmp_path)
    dag = read_dag()
    return Run(dag, dag.by_command("python -m stages.train tiny_a"), ["tiny_a"])


def test_what_is_trained_and_trained_again(run: Run) -> None:
    main(run)
    folder = Path("data/trained/tiny_a")
    assert {"model.safetensors", "config.json", "tokenizer.json", "processor_config.json"} <= set(
        folder_digests(folder)
    )
    from transformers import AutoModelForImageTextToText

    assert AutoModelForImageTextToText.from_pretrained(folder).num_parameters() > 0
    assert run.notes["steps"] == 3 and 0 <= run.notes["dev_accuracy"] <= 1
    assert 0 <= run.notes["dev_pair_accuracy"] <= 1
    first = folder_digests(folder)
    (folder / "left_over.txt").write_text("from an earlier run")
    main(run)
    assert folder_digests(folder) == first


def test_shipped_profiles_have_valid_models() -> None:
    from vouch.demo.config import Config

    for profile in sorted((ROOT / "profiles").glob("*.yaml")):
        for settings in yaml.safe_load(profile.read_text("utf-8"))["train"].values():
            Config.model_validate(settings)


def test_dvc_lock_knows_the_training_code_as_it_is() -> None:
    """Red after an edit of vouch/demo: train again, or `dvc commit -f train` where the scenes and steps are the same."""
    trained = [stage for stage in Repo(str(ROOT)).index.stages if stage.addressing.startswith("train@")]
    assert len(trained) >= 4
    changed = {
        stage.addressing: status for stage in trained for dep in stage.deps if (status := dep.status())
    }
    assert not changed, changed
