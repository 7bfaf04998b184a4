"""What `liken.encoder` may name beside the pin of a model."""
