"""The ladder: reference engines of known strength, adaptive pairing, strength over training."""
