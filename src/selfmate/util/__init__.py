"""Text, files, terminal, signals, CPU facts and random streams: helpers that know nothing of chess."""
