"""From a source's rows to checked items: what is refused, what is flagged, what is written."""
