"""The keys that params.yaml and models.lock may have, and the check of both at the start of every stage."""
