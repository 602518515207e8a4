#include "board/play.h"
#include "board/rules/antichess.h"
#include "board/rules/atomic.h"
#include "board/rules/chess.h"
#include "board/rules/gardner.h"
#include "board/rules/horde.h"
#include "board/rules/kingofthehill.h"
#include "board/rules/racingkings.h"
#include "board/rules/three_check.h"
#include "board/variant.h"

namespace selfmate {
namespace {

template <class Rules, Color US>
std::uint64_t perft(const State& state, int depth, const std::atomic<bool>& stop) {
    if (depth == 1) {
        MoveCount moves;
        generate<Rules, US>(state, moves);
        return moves.size();
    }
    if (depth >= 5 && stop.load(std::memory_order_relaxed)) return 0;
    MoveList moves;
    generate<Rules, US>(state, moves);
    std::uint64_t nodes = 0;
    for (const Move move : moves) {
        State next = state;
        play<Rules>(next, move);
        nodes += perft<Rules, ~US>(next, depth - 1, stop);
    }
    return nodes;
}

template <class Rules>
constexpr Variant table_of() {
    return {
        .name = Rules::NAME,
        .start = Rules::START,
        .files = Rules::FILES,
        .ranks = Rules::RANKS,
        .pawns = Rules::PAWNS,
        .double_step = Rules::DOUBLE_STEP,
        .castling = Rules::CASTLING,
        .checks_to_win = Rules::CHECKS_TO_WIN,
        .shuffled = Rules::SHUFFLED,
        .kings_may_explode = Rules::CAPTURES_EXPLODE,
        .capture_is_compulsory = Rules::CAPTURE_IS_COMPULSORY,
        .checks_are_forbidden = Rules::CHECKS_ARE_FORBIDDEN,
        .colors_differ = Rules::COLORS_DIFFER,
        .hill = Rules::HILL,
        .race_goal = Rules::RACE_GOAL,
        .royal = {Rules::ROYAL[WHITE], Rules::ROYAL[BLACK]},
        .max_pieces = {Rules::MAX_PIECES[WHITE], Rules::MAX_PIECES[BLACK]},
        .board = BOARD<Rules>,
        .pawn_squares = {Rules::pawn_squares(WHITE), Rules::pawn_squares(BLACK)},
        .promotions = Rules::PROMOTIONS,
        .legal_moves = [](const State& state, MoveList& moves) { generate<Rules>(state, moves); },
        .count_moves =
            [](const State& state) {
                MoveCount moves;
                generate<Rules>(state, moves);
                return moves.size();
            },
        .play = play<Rules>,
        .checkers = Rules::template checkers<Rules>,
        .can_capture_en_passant = can_capture_en_passant<Rules>,
        .has_ended = Rules::has_ended,
        .ending = Rules::ending,
        .without_moves = Rules::without_moves,
        .cannot_win = Rules::cannot_win,
        .perft =
            [](const State& state, int depth, const std::atomic<bool>& stop) {
                if (depth == 0) return std::uint64_t(1);
                return state.turn == WHITE ? perft<Rules, WHITE>(state, depth, stop)
                                           : perft<Rules, BLACK>(state, depth, stop);
            },
    };
}

// A new variant is one header in rules/ and one line here.
constexpr Variant VARIANTS[] = {
    table_of<Chess>(),         table_of<Atomic>(),     table_of<Gardner>(),     table_of<Antichess>(),
    table_of<KingOfTheHill>(), table_of<ThreeCheck>(), table_of<RacingKings>(), table_of<Horde>(),
};

}  // namespace

std::span<const Variant> variants() { return VARIANTS; }

const Variant* find_variant(std::string_view name) {
    for (const Variant& variant : VARIANTS)
        if (variant.name == name) return &variant;
    return nullptr;
}

}  // namespace selfmate
