"""ingest: logits that others released become a model's responses. One file form per file of forms/."""
