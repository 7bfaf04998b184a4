"""`vouch server`: models that a server answers for."""
