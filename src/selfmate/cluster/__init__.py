"""Training on many machines: self-play on a cluster of Ray."""
