// Invariants in every position of random games: keys, bitboards, undo, and round trips of FEN, SAN and UCI.
#include "board/san.h"
#include "tests/check.h"
#include "util/error.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

bool same(const State& a, const State& b) {
    return std::equal(a.colors, a.colors + 2, b.colors) && std::equal(a.roles, a.roles + 6, b.roles) &&
           a.key == b.key && a.castling == b.castling && a.halfmove_clock == b.halfmove_clock &&
           a.fullmove_number == b.fullmove_number && a.turn == b.turn && a.ep_square == b.ep_square &&
           a.checks_left[0] == b.checks_left[0] && a.checks_left[1] == b.checks_left[1];
}

void check_state(const Position& position) {
    const State& state = position.state();
    const std::string where = std::string(position.variant().name) + " " + position.fen(Castling::SHREDDER);
    // Every piece has one colour and one role, on the board.
    Bitboard seen = 0;
    for (const Bitboard role : state.roles) {
        CHECK(!(seen & role), where);
        seen |= role;
    }
    CHECK(!(state.colors[WHITE] & state.colors[BLACK]) && seen == state.occupied(), where);
    CHECK(!(seen & ~position.variant().board), where);
    CHECK(state.key == ZOBRIST.of(state), where);
    // FEN in both dialects is read back as the same state.
    const std::string name = std::string(position.variant().name) + (position.chess960() ? "960" : "");
    for (const Castling castling : {Castling::X_FEN, Castling::SHREDDER})
        CHECK(same(Position(name, position.fen(castling), false).state(), state), where);
}

void check_notation(Position position) {
    const State before = position.state();
    const std::string where = std::string(position.variant().name) + " " + position.fen(Castling::SHREDDER);
    for (const Move move : position.legal_moves()) {
        CHECK(parse_san(position, write_san(position, move)) == move, where + " " + write_move(move));
        CHECK(position.parse_uci(position.uci(move)) == move, where + " " + write_move(move));
        CHECK(position.normalise(move) == move, where + " " + write_move(move));
        position.play(move);
        CHECK(position.undo() == move && same(position.state(), before), where + " " + write_move(move));
    }
}

}  // namespace

int main() {
    for (const std::string& name : variant_names()) {
        random_games(name, 40 / SHARE, 3, [](const Position& position, Random& random) {
            check_state(position);
            if (random.below(4) == 0) check_notation(position);
        });
    }
    return finish();
}
