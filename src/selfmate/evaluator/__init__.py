"""One interface for every net on every device: leaf batches in, priors and win-draw-loss out."""
