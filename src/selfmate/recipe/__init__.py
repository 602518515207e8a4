"""Recipes: the TOML file that fully describes a training run."""
