"""The demo: scenes that are drawn and asked about, and the small models that are trained on them."""
