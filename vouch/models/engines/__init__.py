"""Model back ends, one file each; vouch/models/requests/engine.py says what a file defines."""
