"""How far a vision-language model's answers can be trusted: the library under the pipeline, in layers."""
