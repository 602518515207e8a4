"""Programs for people in a terminal: play, demo, analysis."""
