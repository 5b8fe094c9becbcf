"""Gradient steps of plain MLPs in C++ of our own: see `minibatch.cpp`."""
