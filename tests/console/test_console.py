"""The `vouch` command on a small checkout: switching, pruning, planning, showing."""

import pytest

from tests.pipeline.checkout import ROOT, Checkout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return Checkout(tmp_path_factory.mktemp("console") / "one")


@pytest.fixture
def kept(checkout):
    before = (checkout.path / "params.yaml").read_bytes()
    yield checkout
    (checkout.path / "params.yaml").write_bytes(before)


def line(done):
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("vouch: "), done.stderr
    return done.stderr


def test_the_committed_params_are_the_demo():
    assert (ROOT / "params.yaml").read_bytes() == (ROOT / "profiles/demo.yaml").read_bytes()


@pytest.mark.parametrize("profile", sorted(path.stem for path in (ROOT / "profiles").glob("*.yaml")))
def test_every_profile_names_itself(profile):
    assert f"\nprofile: {profile}\n" in (ROOT / f"profiles/{profile}.yaml").read_text("utf-8")


def test_plan_before_anything_runs(checkout):
    out = checkout.vouch("plan").stdout
    assert "profile small" in out and "4 cells" in out
    assert "88 prompts" in out, "2 models x (24 + 20) items"
    assert "12 forward passes" in out, "2 x (3 + 3) batches of 8"
    assert "14 stages are not up to date" in out
    assert not (checkout.path / "data").exists()


def test_use_sets_values_and_keeps_comments(kept):
    kept.vouch("use", "small", "--set", "score.alpha=0.25")
    text = (kept.path / "params.yaml").read_text("utf-8")
    assert "alpha: 0.25" in text and text.startswith("# As small as")
    assert "alpha: 0.1" in (kept.path / ".vouch/params.yaml.before").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], ["no profile nosuch", "demo"]),
        (["smal"], ["did you mean small?"]),
        (["../params"], ["no profile"]),
        (["small", "--set", "score.alfa=1"], ["score.alfa", "did you mean alpha?"]),
        (["small", "--set", "score.alpha"], ["KEY=VALUE"]),
        (["small", "--set", "score.alpha=none"], ["score.alpha"]),
        (["small", "--set", "score.alpha=[0.1"], ["score.alpha", "YAML"]),
        (["small", "--set", "datasets.left.loader=jsnol"], ["did you mean jsonl?"]),
        (["small", "--set", "variations=[]"], ["variations"]),
    ],
)
def test_a_refused_switch_changes_nothing(kept, arguments, words):
    before = (kept.path / "params.yaml").read_bytes()
    message = line(kept.vouch("use", *arguments, check=False))
    assert all(word in message for word in words), message
    assert (kept.path / "params.yaml").read_bytes() == before


def test_prune_removes_what_no_stage_makes_and_nothing_else(kept):
    made = kept.path / "data/items/left.parquet"
    strays = [kept.path / name for name in ("data/items/old.parquet", "reports/notes.txt", "data/models/old/x.json")]
    outside = kept.path / "elsewhere.txt"
    for path in (made, outside, *strays):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content")
    (kept.path / "data/link").symlink_to(outside)
    listed = kept.vouch("prune", "--dry-run").stdout
    assert all(path.exists() for path in strays) and "would remove data/items/old.parquet" in listed
    kept.vouch("prune")
    assert made.exists() and outside.exists()
    assert not any(path.exists() for path in strays) and not (kept.path / "data/models").exists()
    assert not (kept.path / "data/link").is_symlink()
    assert "nothing to remove" in kept.vouch("prune").stdout


def test_show_without_results_says_what_to_run(checkout):
    assert "dvc repro" in line(checkout.vouch("show", check=False))


def test_outside_a_checkout(checkout, tmp_path):
    other = Checkout.__new__(Checkout)
    other.path = tmp_path
    done = checkout.run("sh", "-c", f"cd {tmp_path} && PYTHONPATH={checkout.path} python -m stages.console.main show",
                        check=False)  # fmt: skip
    assert "not inside a checkout" in line(done)


def test_a_subfolder_of_a_checkout_will_do(checkout):
    done = checkout.run("sh", "-c", "cd docs && python -m stages.console.main plan", check=False)
    assert done.returncode == 0, done.stderr
