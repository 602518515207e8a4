"""Match statistics, SPRT, Elo and TrueSkill from game results."""
