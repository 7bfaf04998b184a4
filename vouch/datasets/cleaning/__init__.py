"""From the entries of a source to checked items: what is refused, what is flagged, what is written."""
