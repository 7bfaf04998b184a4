"""Bringing the files of a dataset to this machine: pinned, verified, resumed where it stopped."""
