"""A brute-force solver for forced wins of a few moves, by the rules alone."""

from __future__ import annotations

from selfmate import Position


def winning_moves(position: Position, moves: int) -> set[str]:
    """Return the moves, in UCI, that force a win within `moves` moves of the side to move.

    >>> sorted(winning_moves(Position("atomic", "rnbqkbnr/1ppppppp/p7/4N3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3"), 1))
    ['e5d7', 'e5f7']
    """
    found = set()
    for move in position.legal_moves:
        position.play(move)
        wins = _is_lost(position, moves - 1)
        position.undo()
        if wins:
            found.add(position.uci(move))
    return found


def shortest_win(position: Position, at_most: int) -> int | None:
    """Return the number of moves of the shortest forced win within `at_most`, or None."""
    return next((moves for moves in range(1, at_most + 1) if _is_won(position, moves)), None)


def _is_won(position: Position, moves: int) -> bool:
    """Return whether the side to move can force a win within `moves` of its moves."""
    for move in position.legal_moves:
        position.play(move)
        wins = _is_lost(position, moves - 1)
        position.undo()
        if wins:
            return True
    return False


def _is_lost(position: Position, moves: int) -> bool:
    """Return whether the side to move has lost, or loses within `moves` moves of the other side."""
    outcome = position.outcome()
    if outcome is not None:
        return outcome.winner is (not position.turn)
    if moves == 0:
        return False
    for move in position.legal_moves:
        position.play(move)
        won = position.outcome() is None and _is_won(position, moves)
        position.undo()
        if not won:
            return False
    return True
