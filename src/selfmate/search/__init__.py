"""Players and searches: one tree for play and analysis, the driver of pools of games."""
