"""Images, questions and sampled texts as vectors of an encoder."""
