"""Benchmarks: speed and agreement, each beside a named peer."""
