// A position with the moves that led to it: what a game knows and a bare state does not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fen.h"
#include "variant.h"

namespace selfmate {

struct VariantName {
    const Variant* variant;
    bool chess960;
};
// "atomic", and "chess960" or "atomic960" for the same rules with castling from any squares.
VariantName resolve_variant(std::string_view name);
std::vector<std::string> variant_names();

class Position {
public:
    Position(std::string_view variant_name, std::optional<std::string_view> fen, bool lenient);
    Position(const Setup& setup, bool lenient);

    const Variant& variant() const { return *variant_; }
    bool chess960() const { return chess960_; }
    const State& state() const { return state_; }
    const std::vector<Move>& moves() const { return moves_; }

    MoveList legal_moves() const;
    bool is_legal(Move move) const;
    void play(Move legal_move);
    Move undo();

    std::string fen(Castling castling) const { return write_fen(*variant_, state_, castling); }
    Castling own_castling() const { return chess960_ ? Castling::SHREDDER : Castling::X_FEN; }

    bool is_castling(Move move) const { return contains(state_.of(state_.turn), move.to()); }
    bool is_en_passant(Move move) const;
    bool is_capture(Move move) const;
    Bitboard checkers() const { return variant_->checkers(state_, state_.turn); }

    // UCI: castling as the king's two steps, in chess960 as king takes rook.
    std::string uci(Move move) const;
    Move parse_uci(std::string_view uci) const;
    // Both ways to write castling become king takes rook; throws IllegalMove.
    Move normalise(Move move) const;

    int repetitions() const;
    std::vector<Key> past_keys() const;  // of the positions before this one, oldest first
    std::optional<Outcome> outcome(bool claim_draw) const;
    bool cannot_win(Color side) const { return variant_->cannot_win(state_, side); }

    std::string text_board() const;

private:
    const Variant* variant_;
    bool chess960_;
    State state_;
    std::vector<State> past_;
    std::vector<Move> moves_;
};

// "e2e4", "a7a8q"; throws InvalidMove.
Move parse_move(std::string_view uci);
std::string write_move(Move move);

}  // namespace selfmate
