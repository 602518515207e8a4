// The generator, which tests legality without making moves, against a reference that makes every pseudo-legal move and
// applies the rule of the variant to the new position. Castling is covered by perft.
#include <algorithm>
#include <set>
#include <vector>

#include "tests/check.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

std::vector<Move> pseudo_legal(const Variant& variant, const State& state) {
    std::vector<Move> moves;
    const Color us = state.turn;
    const Bitboard occupied = state.occupied(), own = state.of(us), them = state.of(~us);
    const int up = us == WHITE ? 8 : -8;
    for (Bitboard from_set = own; from_set;) {
        const Square from = take_first(from_set);
        Bitboard targets = 0;
        switch (state.role_at(from)) {
            case PAWN:
                targets = PAWN_ATTACKS[us][from] & (them | (state.ep_square == NO_SQUARE ? 0 : bit(state.ep_square)));
                if (!contains(occupied, from + up)) {
                    targets |= bit(from + up);
                    const int home = us == WHITE ? 1 : 6;
                    const bool doubles =
                        rank_of(from) == home || (variant.name == "horde" && us == WHITE && rank_of(from) == 0);
                    if (variant.double_step && doubles && !contains(occupied, from + 2 * up))
                        targets |= bit(from + 2 * up);
                }
                break;
            case KNIGHT:
                targets = attacks<KNIGHT>(from, occupied);
                break;
            case BISHOP:
                targets = attacks<BISHOP>(from, occupied);
                break;
            case ROOK:
                targets = attacks<ROOK>(from, occupied);
                break;
            case QUEEN:
                targets = attacks<QUEEN>(from, occupied);
                break;
            default:
                targets = attacks<KING>(from, occupied);
                if (variant.kings_may_explode) targets &= ~them;
        }
        targets &= variant.board & ~own;
        while (targets) {
            const Square to = take_first(targets);
            if (state.role_at(from) == PAWN && (rank_of(to) == 0 || rank_of(to) == variant.ranks - 1))
                for (const Role role : variant.promotions) moves.emplace_back(from, to, role);
            else
                moves.emplace_back(from, to);
        }
    }
    return moves;
}

bool attacked(const State& state, Color side) {
    const Square king = state.king(side);
    return state.attackers(king, state.occupied()) & state.of(~side);
}

// The rule of each variant, applied to the position after the move.
bool leaves_a_legal_position(const Variant& variant, const State& next) {
    const Color us = ~next.turn;
    if (variant.name == "atomic") {
        if (!next.of(us, KING)) return false;
        if (!next.of(~us, KING)) return true;
        if (KING_ATTACKS[next.king(us)] & next.of(~us, KING)) return true;
        return !attacked(next, us);
    }
    if (variant.name == "racingkings") return !attacked(next, WHITE) && !attacked(next, BLACK);
    return !variant.royal[us] || !attacked(next, us);
}

std::set<std::uint16_t> reference(const Position& position) {
    const Variant& variant = position.variant();
    const State& state = position.state();
    std::vector<Move> captures, legal;
    if (variant.has_ended(state)) return {};
    for (const Move move : pseudo_legal(variant, state)) {
        State next = state;
        variant.play(next, move);
        if (!leaves_a_legal_position(variant, next)) continue;
        legal.push_back(move);
        if (position.is_capture(move)) captures.push_back(move);
    }
    if (variant.name == "antichess" && !captures.empty()) legal = captures;
    std::set<std::uint16_t> bits;
    for (const Move move : legal) bits.insert(move.bits());
    return bits;
}

void compare(const Position& position) {
    std::set<std::uint16_t> generated;
    const MoveList moves = position.legal_moves();
    for (const Move move : moves)
        if (!position.is_castling(move))
            CHECK(generated.insert(move.bits()).second, position.fen(Castling::X_FEN) + " " + write_move(move));
    CHECK(generated == reference(position), std::string(position.variant().name) + " " + position.fen(Castling::X_FEN));
    CHECK(position.variant().count_moves(position.state()) == moves.size(), position.fen(Castling::X_FEN));
}

// Random arrangements of pieces that the rules allow, most of them unreachable in a game.
void compare_random_setups(const std::string& name, int positions, std::uint64_t seed) {
    const VariantName variant = resolve_variant(name);
    Random random(seed);
    for (int kept = 0; kept < positions;) {
        Setup setup{.variant = variant.variant, .state = {}};
        const int pieces = 2 + static_cast<int>(random.below(14));
        const auto put = [&](Color color, Role role) {
            const Square square =
                make_square(static_cast<int>(random.below(static_cast<std::uint32_t>(variant.variant->files))),
                            static_cast<int>(random.below(static_cast<std::uint32_t>(variant.variant->ranks))));
            if (!contains(setup.state.occupied(), square)) setup.state.put(color, role, square);
        };
        for (const Color color : {WHITE, BLACK})
            if (variant.variant->royal[color]) put(color, KING);
        for (int i = 0; i < pieces; ++i) put(Color(random.below(2)), Role(PAWN + random.below(5)));
        setup.state.turn = Color(random.below(2));
        // A double step that may have been the last move.
        const Color them = ~setup.state.turn;
        const Bitboard passed =
            (them == WHITE ? setup.state.of(WHITE, PAWN) & rank_mask(3) : setup.state.of(BLACK, PAWN) & rank_mask(4));
        if (variant.variant->double_step && passed)
            setup.state.ep_square = static_cast<std::uint8_t>(first(passed) ^ 8);
        if (variant.variant->checks_to_win) setup.state.checks_left[WHITE] = setup.state.checks_left[BLACK] = 2;
        try {
            const Position position(setup, false);
            compare(position);
            ++kept;
        } catch (const std::runtime_error&) {
        }
    }
}

}  // namespace

int main() {
    for (const Variant& variant : variants()) {
        const std::string name(variant.name);
        random_games(name, 60 / SHARE, 7, [](const Position& position, Random&) { compare(position); });
        compare_random_setups(name, (name == "atomic" ? 30000 : 5000) / SHARE, 11);
    }
    return finish();
}
