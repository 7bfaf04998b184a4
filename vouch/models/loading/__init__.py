"""Loading a model folder: configuration, weights, dtype, device."""
