"""Leases of GPUs: real processes, on a driver's list that is made up."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.pipeline.conftest import ENV, Start, said

UUIDS = [f"GPU-0000000{number}-aaaa" for number in range(3)]
LISTED = "".join(f"GPU {number}: NVIDIA X (UUID: {uuid})\n" for number, uuid in enumerate(UUIDS))
DIVIDED = LISTED.replace(
    "GPU 2", "  MIG 1g.5gb  Device 0: (UUID: MIG-b)\n  MIG 1g.5gb  Device 1: (UUID: MIG-c)\nGPU 2"
)

LEASE = """
import os, sys, time
from vouch.pipeline.locks import lease
taken = lease(everything="all" in sys.argv)
assert lease() == taken and os.environ.get("CUDA_VISIBLE_DEVICES", "") == ",".join(taken), taken
print(",".join(taken), flush=True)
time.sleep(60 if "stay" in sys.argv else 0)
"""


@pytest.fixture
def start(python: Start, tmp_path: Path) -> Start:
    """start(*arguments, listed=..., **environment): a process that leases."""

    def one(*arguments: str, listed: str = LISTED, code: str = LEASE, **more: str) -> subprocess.Popen[str]:
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\nprintf '{listed}'\n")
        tool.chmod(0o755)
        kept = {name: value for name, value in ENV.items() if name != "CUDA_VISIBLE_DEVICES"}
        path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
        return python(code, *arguments, env={**kept, "PATH": path, "TMPDIR": str(tmp_path), **more})

    return one


def test_each_process_has_its_own_and_a_killed_one_gives_it_back(start: Start) -> None:
    holders = [start("stay") for _ in UUIDS]
    taken = [said(holder) for holder in holders]
    assert sorted(taken) == UUIDS
    late = start()
    assert (
        late.stderr is not None
        and late.stderr.readline() == "all 3 GPUs are in use by other runs; waiting for one\n"
    )
    holders[1].kill()
    assert said(late) == taken[1]


def test_a_split_model_takes_all_of_them_once_they_are_free(start: Start) -> None:
    one = start("stay")
    assert said(one) == UUIDS[0]
    everything = start("all", "stay")
    assert everything.stderr is not None and "waiting" in everything.stderr.readline()
    one.kill()
    assert said(everything) == ",".join(UUIDS)
    late = start()
    assert late.stderr is not None and "waiting" in late.stderr.readline()
    everything.kill()
    assert said(late) in UUIDS


def test_what_the_user_or_the_driver_allows_is_the_choice(start: Start) -> None:
    assert said(start(CUDA_VISIBLE_DEVICES="2,0")) == "2"
    assert said(start(CUDA_VISIBLE_DEVICES="1,-1,0")) == "1"
    assert said(start("all", CUDA_VISIBLE_DEVICES="2, 0")) == "2,0"
    holder = start("stay", CUDA_VISIBLE_DEVICES="GPU-00000001")
    assert said(holder) == "GPU-00000001"
    assert said(start("stay", CUDA_VISIBLE_DEVICES="1,2")) == "2", "the same GPU by another name"
    assert said(start(CUDA_VISIBLE_DEVICES="")) == ""
    assert said(start(listed="")) == "", "no GPU"


def test_parts_of_a_gpu_count_one_by_one(start: Start) -> None:
    assert said(start("all", listed=DIVIDED)) == f"{UUIDS[0]},MIG-b,MIG-c,{UUIDS[2]}"


def test_a_model_is_loaded_on_the_leased_one(start: Start) -> None:
    code = (
        "import os, torch; torch.version.cuda = '13.0'; from vouch.models.loading import choose_device\n"
        "print(choose_device('cpu'), os.environ.get('CUDA_VISIBLE_DEVICES'), end=' ')\n"
        "choose_device('auto'); print(os.environ['CUDA_VISIBLE_DEVICES'])"
    )
    assert said(start(code=code)) == f"cpu None {UUIDS[0]}"
