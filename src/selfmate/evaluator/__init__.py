"""Evaluators: one interface for every net on every device. Leaves in, priors and win-draw-loss out."""
