"""A tiny random CLIP of OpenAI's form. Runs in a driver's environment."""

SIDE = 28  # pixels


def save_clip(folder):
    """FOLDER/clip/open_clip_model.safetensors, and the same as a pickle for the authors' code, FOLDER/own/clip.pt.

    Its weights are rounded to half precision, as OpenAI's are.
    """
    import open_clip
    import torch
    from safetensors.torch import save_file

    vision = {"layers": 2, "width": 64, "patch_size": 14, "image_size": SIDE}
    text = {"context_length": 8, "vocab_size": 32, "width": 64, "heads": 1, "layers": 1}
    clip = open_clip.CLIP(32, vision, text, quick_gelu=True)
    with torch.no_grad():
        for value in clip.parameters():
            value.normal_(std=0.2)
    tensors = {name: value.half().float().contiguous() for name, value in clip.state_dict().items()}
    for name in ("clip", "own"):
        (folder / name).mkdir(exist_ok=True)
    save_file(tensors, folder / "clip/open_clip_model.safetensors")
    torch.save(tensors, folder / "own/clip.pt")
