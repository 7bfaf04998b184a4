"""The same numbers on every x86-64 processor that has AVX2.

Numerical libraries choose their kernels by processor when they are loaded, and wider vectors add up in
another order. On AVX2 and on AVX-512, 14 of the demo's 20 tables of letters differed in their last bits, and
52 outputs with them; with these settings the letters and likelihoods are the same bytes on both.
"""

import os
from collections.abc import MutableMapping
from pathlib import Path

SETTINGS = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "MKL_CBWR": "AVX2",  # its matrix products
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # its linear layers, convolutions and GELU
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # numpy's exp, log and sums
    "OPENBLAS_CORETYPE": "Haswell",  # its matrix products, and scipy's
}


def keep_to_avx2(environment: MutableMapping[str, str] = os.environ) -> None:
    """Sets what the environment does not set itself; has an effect only before torch and numpy are loaded.

    Does nothing where Linux names no AVX2: torch would use the instructions all the same, and end.
    """
    try:
        with Path("/proc/cpuinfo").open("rb") as file:
            has_avx2 = b" avx2 " in file.read(8192)
    except OSError:
        return
    if has_avx2:
        for name, value in SETTINGS.items():
            environment.setdefault(name, value)
