"""train: trains the demo's models, real vision-language models small enough for a laptop."""
