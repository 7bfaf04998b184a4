"""What can be said of clusters without one: `make slurm` refuses, and the manifest for Kubernetes is whole."""

import re
from pathlib import Path

import pytest
import yaml

from tools.slurm import cluster
from vouch.pipeline.locks import VISIBLE

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
    first, whole = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    claim, job = yaml.safe_load_all(whole)
    assert (claim["kind"], job["apiVersion"], job["kind"]) == ("PersistentVolumeClaim", "batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert set(yaml.safe_load(first)) <= set(container), "what the first job has instead"
    gpus = container["resources"]["limits"]["nvidia.com/gpu"]
    assert (
        f"gpu={gpus}" in container["args"] and container["resources"]["requests"]["cpu"] in container["args"]
    )
    assert all(isinstance(variable["value"], str) for variable in container["env"])
    named = {variable["name"] for variable in container["env"]}
    assert {"HOME", "USER"} <= named, "a user number has none, and DVC stops without"
    assert VISIBLE not in named, "the leases set it"
