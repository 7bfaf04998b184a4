"""embed: pictures and questions of a dataset as the numbers of a pinned encoder."""
