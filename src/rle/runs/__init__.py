"""One run: the training loop, its directory on disk, and what can be done with it."""
