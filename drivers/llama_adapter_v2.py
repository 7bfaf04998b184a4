"""LLaMA-Adapter V2 by the code that ReForm-Eval measured it with.

That is a copy of OpenGVLab/LLaMA-Adapter, under GPL-3.0, in the folder models/interfaces/adapterv2_llama. The
model's folder is what `vouch convert` makes of a folder with Meta's LLaMA: tokenizer.model and the folder 7B.
program.parts names two more:

    clip     the folder of a CLIP with open_clip_model.safetensors (timm/vit_large_patch14_clip_224.openai)
    weights  what `vouch convert` makes of a folder with the adapter's checkpoint

Settings:

    checkpoint  name of the checkpoint's file, without its ending; BIAS-7B. Its end names LLaMA's folder
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
CLIP = "open_clip_model.safetensors"
ADAPTER = "models.interfaces.adapterv2_llama.llama_adapter"
TUNED = "model."  # before the name of a tensor of the adapter's checkpoint


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
        self.tokenizer = Words(str(Path(start.folder, "tokenizer.model")))

    def load(self) -> None:
        """See Model.load. The authors want a GPU, fetch files and open pickles; here they get the parts."""
        import torch
        from models.interfaces.adapterv2_llama import llama_adapter
        from safetensors.torch import load_file

        self.device, self.dtype = self.choose_device()
        settings, own = self.start.settings, llama_adapter.LLaMA_adapter
        tower, name = str(Path(self.start.parts["clip"], CLIP)), settings.get("checkpoint", "BIAS-7B")
        tuned = self._tuned(name)

        def built(llama: str, *names: Any, **given: Any) -> Any:
            model = own(llama, *names, **{**given, **settings.get("vision", {})})
            for path in sorted(Path(llama).glob("*.safetensors")):
                model.llama.load_state_dict(load_file(str(path)), strict=False)
            return model

        def kind(wanted: Any) -> None:
            torch.set_default_dtype(self.dtype if wanted is torch.cuda.HalfTensor else torch.float32)

        with ExitStack() as patches:
            for what, patched in (
                ("clip.clip._download", lambda *_: tower),
                (f"{ADAPTER}._MODELS", {name: ""}),
                (f"{ADAPTER}._download", lambda *_: name),
                (f"{ADAPTER}.LLaMA_adapter", built),
                ("torch.load", lambda path, **_: tuned if path == name else load_file(path)),
                ("torch.set_default_tensor_type", kind),
                ("torch.Tensor.cuda", lambda tensor: tensor.to(self.device)),
            ):
                patches.enter_context(patch(what, patched))
            model, self.pixels = llama_adapter.load(name, self.start.folder, max_seq_len=MOST)
            model = model.float() if self.dtype == torch.float32 else model
            self.model = model.to(self.device).eval()  # which makes LLaMA's cache by .cuda()

    def _tuned(self, name: str) -> dict[str, Any]:
        """The adapter's checkpoint as the authors saved it."""
        from safetensors.torch import load_file

        saved = load_file(str(Path(self.start.parts["weights"], f"{name}.safetensors")))
        tuned = {key[len(TUNED) :]: one for key, one in saved.items() if key.startswith(TUNED)}
        if "adapter_query.weight" not in tuned:
            raise ValueError(f"{name}.safetensors: no adapter_query; convert the adapter's checkpoint")
        ranks = [len(one) for key, one in tuned.items() if key.endswith("lora_wq_l1.weight")]
        return {"model": tuned, "config": {"w_lora": bool(ranks), "lora_rank": max(ranks, default=16)}}

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt."""
        texts = [SYSTEM if question.system is None else question.system]
        for asked, answer in [*question.turns, (question.text, question.response)]:
            written = f"Response:\n{answer}" if answer else "Response:"
            texts += [f"Input:\n{without_places(asked, '')}", written]
        return "\n\n### ".join(texts)

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode."""
        return list(self.tokenizer.own.encode(text, bos=True, eos=False))

    def mixed(self) -> Any:
        """The authors' mixed precision: LLaMA has the entry's dtype. In float32 there is nothing to mix."""
        import torch

        full = self.dtype == torch.float32
        return nullcontext() if full else torch.autocast(self.device, self.dtype)

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs. seen: what the adapters add to LLaMA's layers for the image."""
        from PIL import Image

        if len(question.images) != 1:
            raise Refused("LLaMA-Adapter reads one image")
        pixels = self.pixels(Image.open(question.images[0]).convert("RGB"))[None]
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
        """See TorchModel.generate; the steps of the authors' own, which takes fewer options."""
        import torch

        (note,), (ended,) = options["logits_processor"], options["stopping_criteria"]
        tokens, start = inputs["input_ids"], 0
        if tokens.shape[1] + options["max_new_tokens"] > MOST:
            raise Refused(f"LLaMA-Adapter reads and writes {MOST} tokens")
        for _ in range(options["max_new_tokens"]):
            with self.mixed():
                scores = self.model.forward_inference(inputs["seen"], tokens[:, start:], start)
            scores, start = note(tokens, scores), tokens.shape[1]
            chosen = scores.argmax(-1, keepdim=True)
            if options["do_sample"]:
                chosen = torch.multinomial((scores / options["temperature"]).softmax(-1), 1)
            tokens = torch.cat([tokens, chosen], dim=1)
            if int(chosen) == self.tokenizer.eos_token_id or bool(ended(tokens, None).all()):
                break
        return tokens
