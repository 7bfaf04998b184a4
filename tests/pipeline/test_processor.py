"""What a stage, the command and the tests compute with, whatever the processor can do."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from vouch.pipeline.processor import SETTINGS, fix_kernels, free_torch

SHOW = (
    "import torch, numpy; from numpy._core._multiarray_umath import __cpu_features__ as features; "
    "print(torch.backends.cpu.get_cpu_capability(), features['X86_V4'])"
)


@pytest.mark.skipif(
    not Path("/proc/cpuinfo").exists() or b" avx2 " not in Path("/proc/cpuinfo").read_bytes(),
    reason=f"no AVX2 here ({platform.machine()})",
)
@pytest.mark.parametrize("room", ["stages", "vouch.cli"])
def test_torch_and_numpy_fix_kernels(room: str) -> None:
    clean = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    command = [sys.executable, "-c", f"import {room}; {SHOW}"]
    shown = subprocess.run(command, env=clean, capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["AVX2", "False"]


def test_what_a_user_sets_stays() -> None:
    environment = {"MKL_CBWR": "AVX2"}
    fix_kernels(environment)
    free_torch(environment)
    assert environment["MKL_CBWR"] == "AVX2" and "ATEN_CPU_CAPABILITY" not in environment
