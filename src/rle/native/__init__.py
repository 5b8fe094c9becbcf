"""What is computed in C++ of our own: the sources, and building them for this machine."""
