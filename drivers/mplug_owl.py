"""mPLUG-Owl by its authors' code."""

from __future__ import annotations

from typing import Any

from vouch_driver import Question, TorchModel, without_places

ABOUT = {
    "repository": "X-PLUG/mPLUG-Owl",
    "commit": "0f3068fdb47b77aedc71fc39f5735cd7aa35e8f9",
    "licence": "Apache-2.0",
    "folder": "mPLUG-Owl",
    "environment": "mplug_owl",
    "models": {"reform": ["mPLUG-Owl"], "tu": ["mPLUG-Owl"]},
}
SYSTEM = (
    "The following is a conversation between a curious human and AI assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions."
)


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        from mplug_owl.processing_mplug_owl import MplugOwlImageProcessor, MplugOwlProcessor
        from transformers import AutoTokenizer

        super().__init__(start)
        self.tokenizer = AutoTokenizer.from_pretrained(start.folder, local_files_only=True)
        images = MplugOwlImageProcessor.from_pretrained(start.folder, local_files_only=True)
        self.processor = MplugOwlProcessor(images, self.tokenizer)

    def load(self) -> None:
        """See Model.load."""
        from mplug_owl.modeling_mplug_owl import MplugOwlForConditionalGeneration

        self.device, dtype = self.choose_device()
        options = {"torch_dtype": dtype, "local_files_only": True}
        model = MplugOwlForConditionalGeneration.from_pretrained(self.start.folder, **options)
        self.model = model.to(self.device).eval()

    def prompt(self, question: Question) -> str:
        """As pipeline/interface.py writes it; all images come first."""
        lines = [question.system or SYSTEM, *["Human: <image>"] * len(question.images)]
        for asked, answer in question.turns:
            lines += [f"Human: {without_places(asked, '<image>')}", f"AI: {answer}"]
        lines += [f"Human: {without_places(question.text, '<image>')}", f"AI: {question.response or ''}"]
        return "\n".join(lines)

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode; an image is 65 negative numbers."""
        return [int(token) for token in self.processor(text=[text])["input_ids"][0]]

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        from PIL import Image

        shown = [Image.open(path).convert("RGB") for path in question.images]
        made = self.processor(text=[prompt], images=shown or None, return_tensors="pt")
        return {name: value.to(self.device) for name, value in made.items()}

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits; the labels and masks of the authors' forward pass are for its loss."""
        import torch

        ids, shown = inputs["input_ids"], inputs.get("pixel_values")
        ones = torch.ones_like(ids[:, 1:])
        masks = {"non_padding_mask": ones, "non_media_mask": ones, "prompt_mask": ones}
        count = self.tensor([0 if shown is None else len(shown)])
        out = self.model(
            shown, ids, count, labels=ids.clamp(min=0), **masks, attention_mask=inputs["attention_mask"]
        )
        return out.logits[0]
