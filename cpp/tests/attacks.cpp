// Attack tables against rays computed square by square.
#include "board/attacks.h"

#include "tests/check.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

Bitboard ray_attacks(Square from, Bitboard occupied, bool straight) {
    Bitboard seen = 0;
    for (int file_step = -1; file_step <= 1; ++file_step)
        for (int rank_step = -1; rank_step <= 1; ++rank_step) {
            if ((file_step == 0 && rank_step == 0) || ((file_step == 0 || rank_step == 0) != straight)) continue;
            int file = file_of(from) + file_step, rank = rank_of(from) + rank_step;
            for (; file >= 0 && file < 8 && rank >= 0 && rank < 8; file += file_step, rank += rank_step) {
                seen |= bit(make_square(file, rank));
                if (contains(occupied, make_square(file, rank))) break;
            }
        }
    return seen;
}

bool adjacent(Square a, Square b) {
    return std::abs(file_of(a) - file_of(b)) <= 1 && std::abs(rank_of(a) - rank_of(b)) <= 1;
}

}  // namespace

int main() {
    Random random(1);
    for (Square a = 0; a < 64; ++a) {
        for (int i = 0; i < 500; ++i) {
            const Bitboard occupied = random.bits() & random.bits();
            CHECK(rook_attacks(a, occupied) == ray_attacks(a, occupied, true), square_name(a));
            CHECK(bishop_attacks(a, occupied) == ray_attacks(a, occupied, false), square_name(a));
        }
        for (Square b = 0; b < 64; ++b) {
            const std::string where = square_name(a) + square_name(b);
            const int files = std::abs(file_of(a) - file_of(b)), ranks = std::abs(rank_of(a) - rank_of(b));
            CHECK(contains(KING_ATTACKS[a], b) == (a != b && adjacent(a, b)), where);
            CHECK(contains(KNIGHT_ATTACKS[a], b) == (files * ranks == 2), where);
            CHECK(contains(PAWN_ATTACKS[WHITE][a], b) == (files == 1 && rank_of(b) - rank_of(a) == 1), where);
            CHECK(contains(PAWN_ATTACKS[BLACK][a], b) == (files == 1 && rank_of(a) - rank_of(b) == 1), where);
            const bool aligned = a != b && (files == 0 || ranks == 0 || files == ranks);
            CHECK((LINE[a][b] != 0) == aligned, where);
            CHECK(count(BETWEEN[a][b]) == (aligned ? std::max(files, ranks) - 1 : 0), where);
            CHECK((BETWEEN[a][b] & ~LINE[a][b]) == 0 && BETWEEN[a][b] == BETWEEN[b][a], where);
        }
        CHECK(knights_attack(bit(a)) == KNIGHT_ATTACKS[a], square_name(a));
        CHECK(grow(bit(a)) == (KING_ATTACKS[a] | bit(a)), square_name(a));
    }
    return finish();
}
