"""Ways to get answers out of a model, one file each; see vouch/models/requests/engine.py for what a file defines."""
