"""The same numbers on every x86-64 processor that has AVX2, whoever made it.

Numerical libraries choose their kernels by processor when they are loaded, and kernels add numbers in a
different order: AVX2 against AVX-512 in torch, oneDNN and numpy, Intel against AMD in MKL, which heeds
MKL_CBWR on AMD only if it is COMPATIBLE. docs/reproducibility.md says what is equal, and what that costs.
"""

import os
from collections.abc import MutableMapping
from pathlib import Path

TORCH = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "MKL_CBWR": "COMPATIBLE",  # its matrix products, exp and log
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # its convolutions and GELU
}
SETTINGS = TORCH | {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # numpy's exp and log
    "OPENBLAS_CORETYPE": "Haswell",  # its matrix products, and scipy's
    "OPENBLAS_NUM_THREADS": "1",  # by default one per core; each number of threads gives another order
}
KERNELS = "x86-64-v3"  # the ABI's name for the instructions of SETTINGS; other settings need another name


def fix_kernels(environment: MutableMapping[str, str] = os.environ) -> None:
    """Sets variables that are not set yet; has an effect only before torch and numpy are loaded.

    Does nothing if Linux does not list AVX2: torch would use its instructions nevertheless, and crash.
    """
    try:
        with Path("/proc/cpuinfo").open("rb") as file:
            has_avx2 = b" avx2 " in file.read(8192)
    except OSError:
        return
    if has_avx2:
        for name, value in SETTINGS.items():
            environment.setdefault(name, value)


def free_torch(environment: MutableMapping[str, str] = os.environ) -> None:
    """Lets torch choose its kernels by the processor; has an effect only before torch is loaded."""
    for name, value in TORCH.items():
        if environment.get(name) == value:
            del environment[name]


def fixed() -> bool:
    """Whether torch computes with the same kernels on every processor."""
    return TORCH.items() <= os.environ.items()


def computed_on(device: str) -> str:
    """The value of an answer's column `device`; for a CPU it names the kernels, if they are fixed."""
    return f"{device}-{KERNELS}" if device == "cpu" and fixed() else device
