"""LLaMA-Adapter V2 by the code that ReForm-Eval measured it with: program.code is a clone of that repository.

Its folder models/interfaces/adapterv2_llama is a copy of OpenGVLab/LLaMA-Adapter, under GPL-3.0. The model's
folder is what `vouch convert` makes of a folder with Meta's LLaMA: tokenizer.model and the folder 7B. In
program.parts there are two more:

    clip     the folder of a CLIP with open_clip_model.safetensors (timm/vit_large_patch14_clip_224.openai)
    weights  what `vouch convert` makes of a folder with the adapter's checkpoint

Settings:

    checkpoint  name of the checkpoint's file, without its ending; BIAS-7B
    size        folder of LLaMA's weights; 7B
    vision      sizes of the layers between CLIP and LLaMA that are not the authors', by their names

Prompt, image and the place of the letter are those of models/interfaces/llama_adapterv2_interface.py.
"""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from vouch_driver import Question, Refused, TorchModel, without_places

ABOUT = {
    "repository": "FudanDISC/ReForm-Eval",
    "commit": "df1cfa7bf15f89591fc2c0e0f654c84d2cbf44bb",
    "licence": "GPL-3.0",
    "environment": "adapters",
    "models": {"reform": ["LLaMA-Adapter V2"]},
}
SYSTEM = (
    "Below is an instruction that describes a task, paired with an input that provides further context. "
    "Write a response that appropriately completes the request."
)
MOST = 1400  # tokens of prompt and answer
VISION = {"v_embed_dim": 768, "v_depth": 8, "v_num_heads": 16, "v_mlp_ratio": 4.0}
ADAPTER = "model."  # of a checkpoint's tensors


class Words:
    """The authors' tokenizer, as TorchModel uses one."""

    def __init__(self, path: str) -> None:
        from models.interfaces.adapterv2_llama.tokenizer import Tokenizer

        self.own = Tokenizer(model_path=path)
        self.eos_token_id, self.unk_token_id = self.own.eos_id, self.own.sp_model.unk_id()

    def decode(self, tokens: Any, **_: Any) -> str:
        """The text of tokens."""
        special = (self.own.bos_id, self.own.eos_id)
        return str(self.own.decode([int(token) for token in tokens if int(token) not in special]))


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        super().__init__(start)
        self.words = str(Path(start.folder) / "tokenizer.model")
        self.tokenizer = Words(self.words)

    def load(self) -> None:
        """See Model.load. The authors want a GPU, fetch CLIP and open pickles; here they get the parts."""
        import torch
        from models.interfaces.adapterv2_llama.llama_adapter import LLaMA_adapter
        from safetensors.torch import load_file

        self.device, self.dtype = self.choose_device()
        settings, parts = self.start.settings, self.start.parts
        llama = Path(self.start.folder) / settings.get("size", "7B")
        tower = str(Path(parts["clip"]) / "open_clip_model.safetensors")
        name = settings.get("checkpoint", "BIAS-7B")
        tuned = load_file(str(Path(parts["weights"]) / f"{name}.safetensors"))
        tuned = {key[len(ADAPTER) :]: one for key, one in tuned.items() if key.startswith(ADAPTER)}
        ranks = [len(one) for key, one in tuned.items() if key.endswith("lora_wq_l1.weight")]

        def kind(wanted: Any) -> None:
            torch.set_default_dtype(self.dtype if wanted is torch.cuda.HalfTensor else torch.float32)

        def moved(tensor: Any, *_: Any, **__: Any) -> Any:
            return tensor.to(self.device)

        with ExitStack() as patches:
            for what, patched in (
                ("clip.clip._download", lambda *_: tower),
                ("torch.load", lambda path, **_: load_file(path)),
                ("torch.set_default_tensor_type", kind),
                ("torch.Tensor.cuda", moved),
            ):
                patches.enter_context(patch(what, patched))
            model = LLaMA_adapter(
                str(llama),
                self.words,
                max_seq_len=MOST,
                query_len=10,
                query_layer=31,
                w_lora=bool(ranks),
                lora_rank=max(ranks, default=16),
                w_new_gate=bool(ranks),
                **{**VISION, **settings.get("vision", {})},
            )
            for path in sorted(llama.glob("*.safetensors")):
                model.llama.load_state_dict(load_file(str(path)), strict=False)
            unknown = model.load_state_dict(tuned, strict=False).unexpected_keys
            if unknown or "adapter_query.weight" not in tuned:
                problem = f"the model has no {unknown[0]}" if unknown else "there is no adapter_query"
                raise ValueError(f"{name}.safetensors: {problem}; convert the adapter's checkpoint")
            full = self.dtype == torch.float32
            self.model = (model.float() if full else model).to(self.device).eval()

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt."""
        texts = [SYSTEM if question.system is None else question.system]
        for asked, answer in [*question.turns, (question.text, question.response)]:
            texts += [
                f"Input:\n{without_places(asked, '')}",
                f"Response:\n{answer}" if answer else "Response:",
            ]
        return "\n\n### ".join(texts)

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode."""
        return list(self.tokenizer.own.encode(text, bos=True, eos=False))

    def mixed(self) -> Any:
        """The authors' mixed precision: LLaMA has the entry's dtype. In float32 there is nothing to mix."""
        import torch

        full = self.dtype == torch.float32
        return nullcontext() if full else torch.autocast(torch.device(self.device).type, self.dtype)

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs. seen: what the adapters add to LLaMA's layers for the image."""
        from PIL import Image

        if len(question.images) != 1:
            raise Refused("LLaMA-Adapter reads one image")
        pixels = self.model.clip_transform(Image.open(question.images[0]).convert("RGB"))[None]
        with self.mixed():
            seen = self.model.forward_visual(pixels.to(self.device))
        return {**super().inputs(question, prompt), "seen": seen}

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits; the authors' forward pass keeps only the last row."""
        tokens, rows, llama = inputs["input_ids"], [], self.model.llama
        if tokens.shape[1] > MOST:
            raise Refused(f"LLaMA-Adapter reads {MOST} tokens, and the prompt has more")
        hook = llama.norm.register_forward_hook(lambda module, given, out: rows.append(out))
        try:
            with self.mixed():
                self.model.forward_inference(inputs["seen"], tokens, 0)
                return llama.output(rows[0])[0]
        finally:
            hook.remove()

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        import torch

        tokens, start = inputs["input_ids"], 0
        if tokens.shape[1] + options["max_new_tokens"] > MOST:
            raise Refused(f"LLaMA-Adapter reads and writes {MOST} tokens")
        for _ in range(options["max_new_tokens"]):
            with self.mixed():
                row = self.model.forward_inference(inputs["seen"], tokens[:, start:], start)
            start = tokens.shape[1]
            for note in options["logits_processor"]:
                row = note(tokens, row)
            new = row.argmax(-1, keepdim=True)
            if options["do_sample"]:
                new = torch.multinomial((row / options["temperature"]).softmax(-1), 1)
            tokens = torch.cat([tokens, new], dim=1)
            ended = any(bool(stop(tokens, row).all()) for stop in options["stopping_criteria"])
            if ended or int(new) == self.tokenizer.eos_token_id:
                break
        return tokens
