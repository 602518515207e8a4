"""Positions, PGN, EPD, perft and board pictures: the rules as Python sees them."""
