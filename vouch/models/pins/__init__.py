"""pin: which weights exactly a model is. Resolves an entry of models.lock, on a machine with a network."""
