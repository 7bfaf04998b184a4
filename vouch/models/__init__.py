"""extract: asks a model every prompt of a dataset, and never the same prompt twice."""
