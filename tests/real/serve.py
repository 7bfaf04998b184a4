"""Runs a real server on 127.0.0.1 with SmolLM2's weights, until it is ended or whoever started it is gone.

    python tests/real/serve.py llama GGUF PORT            llama.cpp, two slots of 1,024 tokens
    python tests/real/serve.py transformers FOLDER PORT   transformers serve
    python tests/real/serve.py convert GGUF FOLDER        the same weights as transformers reads them

Wants build/real in PYTHONPATH, where `make real-tests` has installed requirements.txt. Stdin is a pipe that the
starter holds open.
"""

import os
import sys
import threading
from pathlib import Path

SLOTS, CONTEXT = 2, 1024


def end_with_starter() -> None:
    """Ends this process once nobody holds its stdin any more."""
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()


def llama(gguf: str, port: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = gguf
    params.hostnames, params.port = ["127.0.0.1"], int(port)
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = (
        1  # more wait for each other on a busy machine
    )
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


def transformers(folder: str, port: str) -> None:
    from transformers.cli.transformers import main

    sys.argv = ["transformers", "serve", folder, "--host", "127.0.0.1", "--port", port, "--device", "cpu"]
    main()


def convert(gguf: str, folder: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaForCausalLM

    source = {"pretrained_model_name_or_path": Path(gguf).parent, "gguf_file": Path(gguf).name}
    quantised = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = LlamaForCausalLM(config).float()
    model.load_state_dict(quantised.state_dict())
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=2)
    part = Path(f"{folder}.part")
    model.save_pretrained(part)
    AutoTokenizer.from_pretrained(**source).save_pretrained(part)
    part.rename(folder)


if __name__ == "__main__":
    end_with_starter()
    {"llama": llama, "transformers": transformers, "convert": convert}[sys.argv[1]](*sys.argv[2:])
