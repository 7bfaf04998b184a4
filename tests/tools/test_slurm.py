"""What can be said of clusters without one: `make slurm` refuses, and the manifest for Kubernetes is whole."""

import re
from pathlib import Path

import pytest
import yaml

from stages.runtime.gpus import VISIBLE
from tools.slurm import cluster

PAGE = Path(__file__).parents[2] / "docs/cluster.md"


def test_another_slurm_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ETC", tmp_path)
    monkeypatch.setattr(cluster, "NEEDED", ("sh",))
    monkeypatch.setattr(cluster, "PORT", 1)  # where nothing listens
    monkeypatch.setattr(cluster.os, "getuid", lambda: 0)
    cluster.check()
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=theirs\n")
    with pytest.raises(SystemExit, match=r"slurm\.conf is of another Slurm"):
        cluster.check()
    assert conf.read_text() == "ClusterName=theirs\n"
    conf.write_text(cluster.MARK + "ClusterName=one\n")
    cluster.check()
    monkeypatch.setattr(cluster, "NEEDED", ("sh", "no-such-daemon"))
    with pytest.raises(SystemExit, match=r"no no-such-daemon here; .*apt-get install slurm-wlm munge"):
        cluster.check()


def test_the_manifest_for_kubernetes_is_whole() -> None:
    text = PAGE.read_text("utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    job = yaml.safe_load(block)
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    gpus = container["resources"]["limits"]["nvidia.com/gpu"]
    assert (
        f"gpu={gpus}" in container["args"] and container["resources"]["requests"]["cpu"] in container["args"]
    )
    assert all(isinstance(variable["value"], str) for variable in container["env"])
    assert VISIBLE not in {variable["name"] for variable in container["env"]}, "the leases set it"
