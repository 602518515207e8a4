"""Matches: player specs, UCI engine clients, referee, openings, tournaments and their PGN files."""
