"""A run on several devices: who has what of it, and the processes that make it."""
