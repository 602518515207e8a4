"""Search for settings of a recipe: trials are training runs, compared by the Elo that `selfmate progress` measures."""
