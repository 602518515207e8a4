// A position with its game history: moves, past states and keys.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "board/fen.h"
#include "board/variant.h"

namespace selfmate {

struct VariantName {
    const Variant* variant;
    bool chess960;
};
// Resolves "atomic", and "chess960" or "atomic960" for the same rules with castling from any squares. Throws
// UnknownVariant.
VariantName resolve_variant(std::string_view name);
std::vector<std::string> variant_names();

// How often a position has occurred, including this time. `past`: keys of the positions before it, oldest first.
int repetitions(const State& state, std::span<const Key> past);

// The outcome of the game, or none. Threefold repetition and the fifty-move rule count only if claimed.
std::optional<Outcome> outcome(const Variant& variant, const State& state, std::span<const Key> past, bool claim_draw);

// Castling is king takes own rook.
inline bool is_castling(const State& state, Move move) { return contains(state.of(state.turn), move.to()); }

// Returns the legal move that `move` means: castling may be written as the king's two steps or as king takes rook.
// Throws IllegalMove.
Move normalise(const Variant& variant, bool chess960, const State& state, Move move);

// Move, state and key stacks have the same length. `play` does not check legality, and also takes the null move.
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

    bool is_castling(Move move) const { return !move.is_null() && selfmate::is_castling(state_, move); }
    bool is_en_passant(Move move) const;
    bool is_capture(Move move) const;
    Bitboard checkers() const { return variant_->checkers(state_, state_.turn); }

    // UCI: castling as the king's two steps, in chess960 as king takes rook.
    std::string uci(Move move) const;
    Move parse_uci(std::string_view uci) const;
    Move normalise(Move move) const { return selfmate::normalise(*variant_, chess960_, state_, move); }
    // As `normalise`, but the null move is allowed outside of check while the game is not over.
    Move playable(Move move) const;

    std::span<const Key> past_keys() const { return keys_; }      // of the positions before this one, oldest first
    std::span<const State> past_states() const { return past_; }  // likewise
    int repetitions() const { return selfmate::repetitions(state_, keys_); }
    std::optional<Outcome> outcome(bool claim_draw) const {
        return selfmate::outcome(*variant_, state_, keys_, claim_draw);
    }
    bool cannot_win(Color side) const { return variant_->cannot_win(state_, side); }

    std::string text_board() const;

private:
    const Variant* variant_;
    bool chess960_;
    State state_;
    std::vector<State> past_;
    std::vector<Key> keys_;  // of `past_`
    std::vector<Move> moves_;
};

// "e2e4", "a7a8q"; throws InvalidMove, also for the null move, which no player may send.
Move parse_move(std::string_view uci);
std::string write_move(Move move);

}  // namespace selfmate
