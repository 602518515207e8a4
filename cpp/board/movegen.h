// Legal move generation for any rules. The generator passes sets of targets to a sink: `MoveList` stores the moves,
// `MoveCount` only counts them.
#pragma once

#include <iterator>

#include "board/legality.h"

namespace selfmate {

template <class Rules>
constexpr int LAST_RANK = Rules::RANKS - 1;
template <class Rules>
constexpr Bitboard PROMOTION_RANKS = rank_mask(0) | rank_mask(LAST_RANK<Rules>);

// Holds up to MAX_MOVES moves; 4 more as slack for `write`.
class MoveList {
public:
    template <class Rules>
    void piece(Square from, Bitboard targets) {
        write(targets, [from](Square to) { return Move(from, to); });
    }
    template <class Rules>
    void pawns(Bitboard targets, int step) {
        write(targets, [step](Square to) { return Move(to - step, to); });
    }
    template <class Rules>
    void promotions(Bitboard targets, int step) {
        while (targets) {
            const Square to = take_first(targets);
            for (const Role role : Rules::PROMOTIONS) moves_[size_++] = Move(to - step, to, role);
        }
    }

    const Move* begin() const { return moves_; }
    const Move* end() const { return moves_ + size_; }
    std::size_t size() const { return size_; }
    Move operator[](std::size_t i) const { return moves_[i]; }
    void clear() { size_ = 0; }

private:
    // Writes four moves per iteration: up to three superfluous writes cost less than a mispredicted branch.
    template <class Make>
    void write(Bitboard targets, Make make) {
        const std::size_t n = static_cast<std::size_t>(count(targets));
        for (std::size_t i = 0; i < n; i += 4)
            for (std::size_t j = 0; j < 4; ++j) moves_[size_ + i + j] = make(take_first(targets) & 63);
        size_ += n;
    }

    std::size_t size_ = 0;
    Move moves_[MAX_MOVES + 4];
};

class MoveCount {
public:
    template <class Rules>
    void piece(Square, Bitboard targets) {
        size_ += static_cast<std::size_t>(count(targets));
    }
    template <class Rules>
    void pawns(Bitboard targets, int) {
        size_ += static_cast<std::size_t>(count(targets));
    }
    template <class Rules>
    void promotions(Bitboard targets, int) {
        size_ += std::size(Rules::PROMOTIONS) * static_cast<std::size_t>(count(targets));
    }
    std::size_t size() const { return size_; }

private:
    std::size_t size_ = 0;
};

template <class Rules, Color US, class Sink>
class Generator {
    using Legality = typename Rules::template Legality<Rules, US>;
    static constexpr Color THEM = ~US;
    static constexpr int UP = US == WHITE ? 8 : -8;

public:
    Generator(const State& state, const Legality& legal, Sink& sink) : state_(state), legal_(legal), sink_(sink) {}

    // `allowed` restricts the targets; only compulsory captures use less than the whole board.
    void run(Bitboard allowed) {
        mask_ = legal_.mask & allowed;
        // 1. The king, and castling with it.
        if constexpr (Rules::ROYAL[US]) {
            sink_.template piece<Rules>(legal_.king, legal_.king_targets());
            if constexpr (Rules::CASTLING) castle();
        } else {
            pieces<KING>(state_.of(KING));
        }
        // 2. Knights and sliders; a queen moves once as a bishop and once as a rook.
        pieces<KNIGHT>(state_.of(KNIGHT));
        pieces<BISHOP>(state_.diagonal_sliders());
        pieces<ROOK>(state_.straight_sliders());
        // 3. Pawns.
        pawns();
        if (state_.ep_square != NO_SQUARE) en_passant();
        // 4. Captures whose legality depends on the capturing piece.
        if constexpr (Legality::HAS_CONTESTED) contested();
    }

private:
    template <Role ROLE>
    void pieces(Bitboard set) {
        set &= state_.of(US);
        const Bitboard occupied = state_.occupied();
        for (Bitboard free = set & ~legal_.restricted; free;) {
            const Square from = take_first(free);
            sink_.template piece<Rules>(from, attacks<ROLE>(from, occupied) & mask_);
        }
        for (Bitboard bound = set & legal_.restricted; bound;) {
            const Square from = take_first(bound);
            sink_.template piece<Rules>(from, legal_.targets(from, attacks<ROLE>(from, occupied) & BOARD<Rules>));
        }
    }

    void pawns() {
        const Bitboard own = state_.of(US, PAWN);
        const Bitboard free = own & ~legal_.restricted;
        const Bitboard empty = BOARD<Rules> & ~state_.occupied();
        const Bitboard them = state_.of(THEM);

        const Bitboard one = shift<UP>(free) & empty;
        steps<UP>(one & mask_);
        if constexpr (Rules::DOUBLE_STEP)
            sink_.template pawns<Rules>(
                shift<UP>(shift<UP>(free & Rules::double_step_from(US)) & empty) & empty & mask_, 2 * UP);
        steps<UP - 1>(shift<UP - 1>(free & ~FILE_A) & them & mask_);
        steps<UP + 1>(shift<UP + 1>(free & ~FILE_H) & them & mask_);

        for (Bitboard bound = own & legal_.restricted; bound;) {
            const Square from = take_first(bound);
            Bitboard reach = shift<UP>(bit(from)) & empty;
            if constexpr (Rules::DOUBLE_STEP)
                if (reach && contains(Rules::double_step_from(US), from)) reach |= shift<UP>(reach) & empty;
            single_pawn(from, legal_.targets(from, reach | (PAWN_ATTACKS[US][from] & them)));
        }
    }

    template <int STEP>
    void steps(Bitboard targets) {
        sink_.template pawns<Rules>(targets & ~PROMOTION_RANKS<Rules>, STEP);
        if (targets & PROMOTION_RANKS<Rules>) sink_.template promotions<Rules>(targets & PROMOTION_RANKS<Rules>, STEP);
    }

    void single_pawn(Square from, Bitboard targets) {
        while (targets) {
            const Square to = take_first(targets);
            if (contains(PROMOTION_RANKS<Rules>, to))
                sink_.template promotions<Rules>(bit(to), to - from);
            else
                sink_.template pawns<Rules>(bit(to), to - from);
        }
    }

    void en_passant() {
        for (Bitboard from_set = PAWN_ATTACKS[THEM][state_.ep_square] & state_.of(US, PAWN); from_set;) {
            const Square from = take_first(from_set);
            if (legal_.en_passant(from, state_.ep_square))
                sink_.template pawns<Rules>(bit(state_.ep_square), state_.ep_square - from);
        }
    }

    void contested() {
        for (Bitboard targets = legal_.contested; targets;) {
            const Square to = take_first(targets);
            Bitboard from_set = state_.attackers(to, state_.occupied()) & state_.of(US) & ~legal_.restricted;
            for (from_set &= ~state_.of(KING); from_set;) {
                const Square from = take_first(from_set);
                if (!legal_.allows(from, to)) continue;
                if (contains(state_.of(PAWN), from))
                    single_pawn(from, bit(to));
                else
                    sink_.template piece<Rules>(from, bit(to));
            }
        }
    }

    void castle() {
        Bitboard rooks = state_.castling & state_.of(US);
        if (!rooks || legal_.checkers) return;
        const Square king = legal_.king;
        while (rooks) {
            const Square rook = take_first(rooks);
            const Square king_to = make_square(rook > king ? 6 : 2, rank_of(king));
            const Square rook_to = make_square(rook > king ? 5 : 3, rank_of(king));
            const Bitboard occupied = state_.occupied() ^ bit(king);
            const Bitboard king_path = BETWEEN[king][king_to];
            const Bitboard path = king_path | bit(king_to) | BETWEEN[rook][rook_to] | bit(rook_to);
            if (path & occupied & ~bit(rook)) continue;
            // The king is off its square while it passes, and the rook has moved when the king arrives.
            bool safe = legal_.safe_for_king(king_to, (occupied ^ bit(rook)) | bit(rook_to));
            for (Bitboard passed = king_path; safe && passed;)
                safe = legal_.safe_for_king(take_first(passed), occupied);
            if (safe) sink_.template piece<Rules>(king, bit(rook));
        }
    }

    const State& state_;
    const Legality& legal_;
    Sink& sink_;
    Bitboard mask_ = 0;
};

template <class Rules, Color US, class Sink>
void generate(const State& state, Sink& sink) {
    if (Rules::has_ended(state)) return;
    const typename Rules::template Legality<Rules, US> legal(state);
    Generator<Rules, US, Sink> generator(state, legal, sink);
    if constexpr (Rules::CAPTURE_IS_COMPULSORY) {
        generator.run(state.of(~US));
        if (!sink.size()) generator.run(~state.of(~US));
    } else {
        generator.run(BOARD<Rules>);
    }
}

template <class Rules, class Sink>
void generate(const State& state, Sink& sink) {
    if (state.turn == WHITE)
        generate<Rules, WHITE>(state, sink);
    else
        generate<Rules, BLACK>(state, sink);
}

}  // namespace selfmate
