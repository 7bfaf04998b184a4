"""What jobs ask of a cluster: from params.yaml and models.lock, and through Snakemake itself."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checkouts.small import small as small_profile
from vouch.pipeline.dag import Stage, read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.resources import Model, Site, count_prompts, needs, read_models, resources
from vouch.pipeline.yaml12 import load, loads

ROOT = Path(__file__).parents[2]
H100 = Site(gpu_gb=80, longest=1440, cpu_partition="cpu", gpu_partition="gpu")


def extract(name: str = "m") -> Stage:
    deps = ("data/prompts/d.parquet", f"data/models/{name}.json")
    return Stage(
        f"extract@{name}-d", f"python -m stages.extract {name} d", deps, (), {}, resources={"minutes": 10}
    )


def params(device: str = "auto", **more: Any) -> dict[str, Any]:
    return {
        "extract": {"device": device, "threads": 1, "workers": 2},
        "train": {},
        "models": {},
        "helpers": {},
        **more,
    }


@pytest.mark.parametrize(
    ("billions", "dtype", "device", "gpus"),
    [
        (7.4, "float16", "auto", 1),  # 14.8 GB of weights
        (34.7, "float16", "split", 2),  # 69.4 GB, and a quarter more does not fit into 80
        (34.7, "bfloat16", "split", 2),
        (13.4, "float32", "auto", 1),
        (72.0, "bfloat16", "split", 3),
        (7.4, "float16", "cpu", 0),
        (0.001, "float32", "auto", 0),  # a demo model: no GPU is worth it
        (0.001, "float32", "cuda", 1),  # but who asks for one gets it
    ],
)
def test_gpus_follow_from_the_weights(billions: float, dtype: str, device: str, gpus: int) -> None:
    model = Model(round(billions * 1e9), dtype)
    needed = needs(extract(), params(device), {"m": model}, 80)
    assert needed.gpus == gpus and needed.processors == 3
    assert needed.memory(1) > 1000 * model.gigabytes and needed.memory(2) == pytest.approx(
        2 * needed.memory(1), abs=1000
    )
    asked = resources(extract(), needed, H100)
    assert asked.get("gpu", 0) == gpus and asked["slurm_partition"] == ("gpu" if gpus else "cpu")
    assert asked.get("nodes", 0) == min(gpus, 1), "all of them in one machine"


def test_a_model_larger_than_a_gpu_must_be_split() -> None:
    model = {"m": Model(34_700_000_000, "float16")}
    too_large = "m needs about 93 GB .* a GPU has 80 .*"
    with pytest.raises(UserError, match=rf"{too_large}set extract\.device to split"):
        needs(extract(), params(), model, 80)
    assert needs(extract(), params(), model, None).gpus == 1, "nothing is known of a machine of one's own"
    judge = Stage("judge@d", "python -m stages.judge d", (), (), {})
    assert needs(judge, params(score={}), model, 80).gpus == 0, "nobody judges"
    settings = {"model": "m", "device": "split"}
    assert needs(judge, params(score={"judge": settings}), model, 80).gpus == 2
    asked = needs(judge, params(score={"judge": settings}), model, 80)
    assert asked.runtime(100_000, 1440) > asked.runtime(0, 1440), "as long as the prompts of one model"
    with pytest.raises(UserError, match=rf"{too_large}set score\.judge\.device to split"):
        needs(judge, params(score={"judge": {"model": "m"}}), model, 80)
    embed = Stage("embed@d", "python -m stages.embed d", ("data/models/m.json",), (), {})
    encoder = {"images": {"encoder": "data/models/m.json", "device": "auto"}}
    with pytest.raises(UserError, match=rf"{too_large}take a smaller model for embed"):
        needs(embed, params(embed=encoder), model, 80)


def test_time_follows_from_the_prompts_up_to_the_longest() -> None:
    large, small = (
        needs(extract(), params(), {"m": Model(n, "float16")}, 80) for n in (13 * 10**9, 7 * 10**9)
    )
    assert large.runtime(10_000, 1440) > small.runtime(10_000, 1440) > small.runtime(0, 1440) >= 10
    assert small.runtime(10_000, 1440, attempt=2) == pytest.approx(2 * small.runtime(10_000, 1440), abs=1)
    assert large.runtime(10**7, 1440) == 1440
    server = needs(extract(), params(), {"m": Model(None, server=True)}, 80)
    assert server.gpus == 0 and 60 < server.runtime(3600, 1440) < 100 and server.memory() < 16_000


def test_models_are_those_of_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hub = {"kind": "hub", "repo": "o/llava-72b-hf"}
    entries = {
        "counted": {"source": hub, "dtype": "bfloat16", "parameters": 73_000_000_000},
        "said": {"source": hub, "facts": {"language_model_parameters": 7}},
        "named": {"source": hub},
        "unknown": {"source": {"kind": "hub", "repo": "o/model-v1.5-hf"}},
        "server": {"source": {"kind": "server", "url": "http://h/v1", "name": "x"}},
    }
    Path("models.lock").write_text(yaml.safe_dump({"models": entries}))
    models = read_models(
        params(
            models={"tiny": "data/trained/tiny", **dict.fromkeys(entries, "models.lock")}, train={"tiny": {}}
        )
    )
    assert {name: model.parameters for name, model in models.items()} == {
        "tiny": 0, "counted": 73_000_000_000, "said": 7, "named": 72_000_000_000, "unknown": None, "server": None,
    }  # fmt: skip
    assert models["counted"].gigabytes == 146 and models["server"].server
    assert needs(extract("unknown"), params(), models, 80).gpus == 1, "nobody knows: one whole GPU"


def test_every_stage_of_every_profile_has_its_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    site = Site(cpu_partition="c", gpu_partition="g", account="a")
    for path in sorted(Path("profiles").glob("*.yaml")):
        values = load(path)
        models = read_models(values)
        for stage in read_dag(params=values).stages.values():
            asked = resources(stage, needs(stage, values, models, site.gpu_gb), site)
            assert asked["slurm_account"] == "a" and asked["slurm_partition"] in "cg", stage.name


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("gpu_gib", 80, r"unknown key gpu_gib; did you mean gpu_gb"),
        (5, 1, r"unknown key 5; valid: "),
        ("gpu_gb", "eighty", r"gpu_gb: 'eighty' does not fit; give the memory of one GPU in GB, such as 80"),
        ("gpu_gb", -1, r"gpu_gb: -1 does not fit"),
        ("gpu_gb", float("nan"), r"gpu_gb: nan does not fit"),
        ("gpu_gb", True, r"gpu_gb: True does not fit"),
        ("longest", "1-00:00", r"longest: '1-00:00' does not fit; give whole minutes, such as 1440"),
        ("longest", 0, r"longest: 0 does not fit"),
        ("longest", None, r"longest: None does not fit"),
        (
            "cpu_partition",
            "my partition",
            r"cpu_partition: 'my partition' does not fit; give the name that Slurm",
        ),
        ("gpu_partition", 2024, r"gpu_partition: 2024 does not fit; .*in quotes where it is a number"),
        ("account", "a; touch b", r"account: 'a; touch b' does not fit"),
    ],
)
def test_a_site_that_no_cluster_is(key: Any, value: Any, said: str) -> None:
    with pytest.raises(UserError, match=f"^config: {said}"):
        Site.of({key: value})


def test_a_site_as_clusters_have_them() -> None:
    config = {"gpu_gb": 47.5, "cpu_partition": "cpu,cpu-long", "gpu_partition": "gpu_a100", "account": None}
    assert Site.of(config) == Site(47.5, 1440, None, "cpu,cpu-long", "gpu_a100")


def test_prompts_are_counted_once_they_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as missing:
        count_prompts("data/prompts/d.parquet")
    assert missing.value.filename == "data/prompts/d.parquet", "Snakemake compares it with the inputs"
    for folder in ("data/prompts", "data/runs"):
        Path(folder).mkdir(parents=True)
    Path("data/prompts/d.parquet").write_bytes(bytes(5000))
    assert count_prompts("data/prompts/d.parquet") == 50
    Path("data/runs/vary-d.json").write_text('{"notes": {"prompts": 7}}')
    assert count_prompts("data/prompts/d.parquet") == 7


def checkout(folder: Path) -> dict[str, Any]:
    """What Snakemake reads, in a folder; the values for its params.yaml: a tiny model and one that needs a GPU."""
    for name in ("dvc.yaml", "stages", "vouch", "docs", "decisions", "models.lock", "Snakefile", "profiles"):
        (folder / name).symlink_to(ROOT / name)
    text = small_profile(train=["tiny_a"], models={"llava_v1_5_7b": "models.lock"})
    values: dict[str, Any] = loads(text, "params.yaml")
    values["extract"]["device"] = "auto"
    return values


def plan(folder: Path, values: dict[str, Any], *more: str) -> subprocess.CompletedProcess[str]:
    """`snakemake -n` with the profile for Slurm."""
    (folder / "params.yaml").write_text(yaml.safe_dump(values))
    snakemake = str(Path(sys.executable).with_name("snakemake"))
    command = [snakemake, "-n", "--workflow-profile", "profiles/slurm", *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_the_profile_plans_on_a_machine_without_slurm(tmp_path: Path) -> None:
    said = plan(tmp_path, checkout(tmp_path))
    assert said.returncode == 0, said.stderr
    asked = dict(
        re.findall(r"^rule ([\w-]+):.*?^    resources: (.*?)$", said.stdout, re.MULTILINE | re.DOTALL)
    )
    assert (
        "gpu=1" in asked["extract-llava_v1_5_7b-left"]
        and "slurm_partition=gpu" in asked["extract-llava_v1_5_7b-left"]
    )
    assert (
        "gpu=" not in asked["extract-tiny_a-left"] and "slurm_partition=cpu" in asked["extract-tiny_a-left"]
    )
    assert all("mem_mb=" in one and "runtime=" in one for name, one in asked.items() if name != "all")


def test_nonsense_is_refused_before_a_job_waits_in_a_queue(tmp_path: Path) -> None:
    values = checkout(tmp_path)
    cluster = plan(tmp_path, values, "--config", "gpu_partition=a b")
    values["datasets"]["odd; name"] = values["datasets"]["left"]
    named = plan(tmp_path, values)
    for said, line in (
        (cluster, "vouch: config: gpu_partition: 'a b' does not fit; give the name"),
        (named, "vouch: params.yaml: datasets.odd; name: a name is a lower-case letter, then"),
    ):
        found = [text for text in said.stderr.splitlines() if not text.startswith("Using workflow")]
        assert said.returncode == 1 and len(found) == 1 and found[0].startswith(line), said.stderr
