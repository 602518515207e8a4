"""Training: self-play, window, learner, gate, and the loop around them."""
