"""Helpers without any knowledge of chess: text, files, terminal, signals, processor facts, random seeds."""
