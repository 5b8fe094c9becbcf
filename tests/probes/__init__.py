"""Tiny worlds with known answers, for tests of everything above the tasks."""
