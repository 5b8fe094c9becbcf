"""Random Latent Exploration in agents that are not this package's own: one module per library."""
