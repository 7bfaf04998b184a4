"""What others released of a model becomes its responses: logits, logs of samples, tables of answers."""
