"""Benchmarks: speed of the core, the search, nets, self-play, matches and the learner, each beside a named peer."""
