"""Positions, games in PGN, EPD, perft and drawn boards: the rules of the core for Python."""
