"""What params.yaml and models.lock may say, and the check of both that every stage starts with."""
