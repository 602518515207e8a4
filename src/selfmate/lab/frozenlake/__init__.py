"""Frozen Lake: learning and search on a world whose exact answer is computed (seed 003, chapter 2).

docs/frozenlake.md is the chapter. In the order of reading: `lake` (the world), `truth` (what can be reached at all),
`q_table`, `dqn` and `mcts` (the three ways to act, each a file that reads from top to bottom), `agents` (them and
their combinations behind one interface), `scores` (what an agent is worth, exactly), `experiments`, `table`, `study`
and `goals` (the figures of docs/results/frozenlake.md), and `trace`, `scene`, `page`, `gif` and `watch` (the picture
of the search).
"""
