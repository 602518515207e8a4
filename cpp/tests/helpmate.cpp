// Insufficient material in atomic, proved by exhaustive search: with every pawnless material of a few pieces, whether a
// side can win at all with the help of the other side. The rule (`cannot_win`) must never deny a possible win, and draws
// are those of Lichess. The argument is the number of pieces, kings included: 4 in `make test`, 5 in tests/soak.
//
// A material is a node of a small graph. All its positions are enumerated: a side can win if it wins in one of them (by
// mate or with a move that explodes the king), or if a capture leads to a material with which it can. Positions that no
// game reaches are included, so "cannot win" holds for every position of the material.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/check.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

struct Kind {
    Role role;
    Bitboard squares;  // bishops of the two square colours are different kinds
    char name;         // l, d: bishops on light, on dark squares
};
constexpr Kind KINDS[] = {{KNIGHT, ~Bitboard(0), 'N'},
                          {BISHOP, LIGHT_SQUARES, 'l'},
                          {BISHOP, DARK_SQUARES, 'd'},
                          {ROOK, ~Bitboard(0), 'R'},
                          {QUEEN, ~Bitboard(0), 'Q'}};
constexpr int KIND_COUNT = 5;

// Numbers of pieces by colour and kind, without the kings.
struct Material {
    std::array<std::array<int, KIND_COUNT>, 2> counts = {};

    bool operator<(const Material& other) const { return counts < other.counts; }
    int of(Color color) const {
        int sum = 0;
        for (const int number : counts[color]) sum += number;
        return sum;
    }
    int size() const { return 2 + of(WHITE) + of(BLACK); }
    Material swapped() const { return {{counts[BLACK], counts[WHITE]}}; }
    std::string name() const {
        std::string text;
        for (const Color color : {WHITE, BLACK}) {
            text += color == WHITE ? "K" : " v K";
            for (int kind = 0; kind < KIND_COUNT; ++kind)
                text += std::string(static_cast<std::size_t>(counts[color][kind]), KINDS[kind].name);
        }
        return text;
    }
};

Material material_of(const State& state) {
    Material material;
    for (const Color color : {WHITE, BLACK})
        for (int kind = 0; kind < KIND_COUNT; ++kind)
            material.counts[color][kind] = count(state.of(color, KINDS[kind].role) & KINDS[kind].squares);
    return material;
}

struct Found {
    bool wins[2] = {};  // that a side can win
};

class HelpmateSearch {
public:
    const Found& found(const Material& material) {
        if (const auto known = found_.find(material); known != found_.end()) return known->second;
        Enumeration enumeration(*this, material);
        return found_[material] = enumeration.found;
    }

    std::uint64_t positions() const { return positions_; }

private:
    struct Piece {
        Color color;
        int kind;
    };

    struct Enumeration {
        HelpmateSearch& search;
        const Variant& atomic = *find_variant("atomic");
        std::vector<Piece> pieces;
        Found found;

        Enumeration(HelpmateSearch& search_, const Material& material) : search(search_) {
            // A side with nothing but its king gives no check and captures nothing: only wins of others are looked for.
            for (const Color color : {WHITE, BLACK}) {
                for (int kind = 0; kind < KIND_COUNT; ++kind)
                    for (int i = 0; i < material.counts[color][kind]; ++i) pieces.push_back({color, kind});
                wanted[color] = material.of(color) > 0;
            }
            // Rotation by half a turn and reflection on a diagonal keep square colours: 20 squares of one king are
            // enough. The other king comes first: most mates are in a corner.
            for (Square mated = 0; mated < 64; ++mated)
                for (Square king = 0; king < 64; ++king) {
                    if (king == mated || file_of(king) > rank_of(king) || file_of(king) + rank_of(king) > 7) continue;
                    State state;
                    state.put(WHITE, KING, king);
                    state.put(BLACK, KING, mated);
                    place(state, 0, 0);
                    if (done()) return;
                }
        }

        bool wanted[2] = {};
        bool done() const { return (found.wins[WHITE] || !wanted[WHITE]) && (found.wins[BLACK] || !wanted[BLACK]); }

        // Puts the pieces from `next` on; equal pieces in ascending order of squares.
        void place(State& state, std::size_t next, Square from) {
            if (next == pieces.size()) {
                for (const Color turn : {WHITE, BLACK}) {
                    state.turn = turn;
                    visit(state);
                }
                return;
            }
            const auto [color, kind] = pieces[next];
            const bool same = next && pieces[next - 1].color == color && pieces[next - 1].kind == kind;
            Bitboard free = KINDS[kind].squares & ~state.occupied();
            if (same) free &= ~(bit(from + 1) - 1);
            while (free && !done()) {
                const Square square = take_first(free);
                state.put(color, KINDS[kind].role, square);
                place(state, next + 1, square);
                state.clear(bit(square));
            }
        }

        void visit(const State& state) {
            const Color us = state.turn;
            if (atomic.checkers(state, ~us)) return;  // not legal
            ++search.positions_;
            MoveList moves;
            atomic.legal_moves(state, moves);
            if (!moves.size() && atomic.checkers(state, us)) found.wins[~us] = true;
            for (const Move move : moves) {
                if (!contains(state.of(~us), move.to())) continue;
                State after = state;
                atomic.play(after, move);
                if (atomic.has_ended(after)) {
                    found.wins[us] = true;
                    continue;
                }
                const Found& then = search.found(material_of(after));
                for (const Color color : {WHITE, BLACK}) found.wins[color] |= then.wins[color];
            }
        }
    };

    std::map<Material, Found> found_;
    std::uint64_t positions_ = 0;
};

// A position of a material, whose squares do not matter for the rule.
State example(const Material& material) {
    State state;
    state.put(WHITE, KING, 0);
    state.put(BLACK, KING, 63);
    for (const Color color : {WHITE, BLACK})
        for (int kind = 0; kind < KIND_COUNT; ++kind)
            for (int i = 0; i < material.counts[color][kind]; ++i)
                state.put(color, KINDS[kind].role, first(KINDS[kind].squares & ~state.occupied()));
    return state;
}

// `insufficientAtomicWinningMaterial` of scalachess, written down again, without pawns.
bool is_draw_on_lichess(const Material& material) {
    const auto sum = [&](int kind) { return material.counts[WHITE][kind] + material.counts[BLACK][kind]; };
    const int knights = sum(0), light = sum(1), dark = sum(2), queens = sum(4), size = material.size();
    const bool opposite = light && dark;
    if (material.of(WHITE) && material.of(BLACK)) return light + dark == size - 2 && size <= 4 && opposite;
    if (knights == size - 2) return size <= 4;
    return !queens && !opposite && size <= 3;
}

// Bishops of one square colour alone never mate a bare king; Lichess leaves two and more of them to the players.
bool is_left_open(const Material& material, Color side) {
    const auto& own = material.counts[side];
    return !material.of(~side) && material.of(side) >= 2 &&
           (own[1] == material.of(side) || own[2] == material.of(side));
}

// All materials with `pieces` more pieces, each one once.
void each_material(int pieces, int kind, Material& material, std::vector<Material>& all) {
    if (pieces == 0) {
        all.push_back(material);
        return;
    }
    for (; kind < 2 * KIND_COUNT; ++kind) {
        int& number =
            material.counts[static_cast<std::size_t>(kind / KIND_COUNT)][static_cast<std::size_t>(kind % KIND_COUNT)];
        ++number;
        each_material(pieces - 1, kind, material, all);
        --number;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int most = argc > 1 ? std::atoi(argv[1]) : SHARE == 1 ? 4 : 3;
    CHECK(most >= 2 && most <= 6, "the number of pieces, 2 to 6");
    const Variant& atomic = *find_variant("atomic");
    HelpmateSearch search;
    int draws = 0;
    for (int pieces = 2; pieces <= most; ++pieces) {
        Material none;
        std::vector<Material> all;
        each_material(pieces - 2, 0, none, all);
        for (const Material& material : all) {
            const bool swap = material < material.swapped();
            const Found& found = search.found(swap ? material.swapped() : material);
            const State state = example(material);
            for (const Color side : {WHITE, BLACK}) {
                const std::string name = material.name() + (side == WHITE ? ", White" : ", Black");
                const bool can_win = found.wins[swap ? ~side : side];
                const bool cannot_win = atomic.cannot_win(state, side);
                CHECK(!(cannot_win && can_win), name);
                CHECK((!cannot_win && !can_win) == is_left_open(material, side), name);
            }
            const bool draw = atomic.cannot_win(state, WHITE) && atomic.cannot_win(state, BLACK);
            CHECK(draw == is_draw_on_lichess(material), material.name());
            draws += draw;
        }
    }
    std::printf("%d pieces: %d drawn materials, %llu positions\n", most, draws,
                static_cast<unsigned long long>(search.positions()));
    return finish();
}
