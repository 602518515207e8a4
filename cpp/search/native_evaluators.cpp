#include "search/native_evaluators.h"

#include <algorithm>
#include <cmath>

#include "data/encode.h"
#include "util/portable_math.h"
#include "util/random.h"

namespace selfmate {
namespace {

// ---- uniform and fake --------------------------------------------------------------------------

void uniform(const Variant&, const State&, Key, std::span<const Move> moves, float* priors, float* wdl) {
    std::fill_n(priors, moves.size(), 1.0f / static_cast<float>(moves.size()));
    wdl[0] = wdl[1] = wdl[2] = 1.0f / 3;
}

// A prior depends on the position and the move, not on the order of generation.
void fake(const Variant& variant, const State& state, Key key, std::span<const Move> moves, float* priors, float* wdl) {
    float sum = 0;
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const std::uint64_t random = mix(key ^ mix(move_index(variant, moves[i], state.turn)));
        const float weight = static_cast<float>(random >> 40) * 0x1p-24f;
        priors[i] = 0.01f + weight * weight * weight;
        sum += priors[i];
    }
    for (std::size_t i = 0; i < moves.size(); ++i) priors[i] /= sum;
    const float win = static_cast<float>(mix(key) >> 40) * 0x1p-24f;
    const float draw = static_cast<float>(mix(key + 1) >> 40) * 0x1p-24f * 0.5f;
    wdl[0] = win * (1 - draw);
    wdl[1] = draw;
    wdl[2] = (1 - win) * (1 - draw);
}

// ---- heuristic-1 -------------------------------------------------------------------------------

// In pawns. The king has no value of its own: its safety is scored below.
constexpr float PIECE_VALUES[7] = {0, 1, 3, 3.25f, 5, 9, 0};
constexpr float MOBILITY = 0.04f;    // per attacked square
constexpr float KING_ZONE = 0.15f;   // per attacked square beside the enemy king
constexpr float EXPLOSION = 2.5f;    // per attacked enemy piece whose capture explodes the enemy king (atomic)
constexpr float PAWN_STEP = 0.06f;   // per rank that a pawn has advanced
constexpr float HILL_STEP = 0.6f;    // per king step towards the hill (king of the hill)
constexpr float RACE_STEP = 1.2f;    // per rank of the king (racing kings)
constexpr float CHECK_GIVEN = 1.5f;  // per check given, where checks win
constexpr float TEMPO = 0.15f;
constexpr float HALF_VALUE_LEAD = 4.0f;  // the lead, in pawns, that has the value 0.5

// The squares that one side attacks. `mobility` counts each piece's targets, without pawns and kings.
struct Attacks {
    Bitboard all = 0, by_pawns = 0;
    int mobility = 0;
};

Attacks attacks_of(const State& state, Color side, Bitboard board) {
    Attacks found;
    const Bitboard occupied = state.occupied();
    found.by_pawns =
        side == WHITE ? pawns_attack<WHITE>(state.of(side, PAWN)) : pawns_attack<BLACK>(state.of(side, PAWN));
    found.all = found.by_pawns;
    const auto add = [&](Bitboard attacked) {
        attacked &= board;
        found.all |= attacked;
        found.mobility += count(attacked & ~state.of(side));
    };
    for (Bitboard set = state.of(side, KNIGHT); set;) add(KNIGHT_ATTACKS[take_first(set)]);
    for (Bitboard set = state.of(side) & state.diagonal_sliders(); set;) add(bishop_attacks(take_first(set), occupied));
    for (Bitboard set = state.of(side) & state.straight_sliders(); set;) add(rook_attacks(take_first(set), occupied));
    for (Bitboard set = state.of(side, KING); set;) found.all |= KING_ATTACKS[take_first(set)] & board;
    return found;
}

float material(const State& state, Color side) {
    float sum = 0;
    for (int role = PAWN; role <= QUEEN; ++role)
        sum += PIECE_VALUES[role] * static_cast<float>(count(state.of(side, Role(role))));
    return sum;
}

// King moves to the four central squares.
int steps_to_hill(Square king) {
    const int file = file_of(king), rank = rank_of(king);
    return std::max({3 - file, file - 4, 3 - rank, rank - 4, 0});
}

// The score of one side, in pawns.
float side_score(const Variant& variant, const State& state, Color side, const Attacks& own) {
    float sum = material(state, side) + MOBILITY * static_cast<float>(own.mobility);
    for (Bitboard pawns = state.of(side, PAWN); pawns;) {
        const int rank = rank_of(take_first(pawns));
        sum += PAWN_STEP * static_cast<float>(side == WHITE ? rank - 1 : variant.ranks - 2 - rank);
    }
    if (variant.royal[~side])
        if (const Bitboard king = state.of(~side, KING)) {
            const Bitboard zone = KING_ATTACKS[first(king)];
            sum += KING_ZONE * static_cast<float>(count(own.all & zone));
            if (variant.kings_may_explode) {
                const Bitboard own_zone = grow(state.of(side, KING));
                sum += EXPLOSION * static_cast<float>(count(own.all & zone & state.of(~side) & ~own_zone));
            }
        }
    if (variant.checks_to_win) sum += CHECK_GIVEN * static_cast<float>(variant.checks_to_win - state.checks_left[side]);
    if (variant.hill) sum -= HILL_STEP * static_cast<float>(steps_to_hill(state.king(side)));
    if (variant.race_goal) sum += RACE_STEP * static_cast<float>(rank_of(state.king(side)));
    return sum;
}

// The lead of the side to move, in pawns.
float lead_of_mover(const Variant& variant, const State& state, const Attacks& own, const Attacks& theirs) {
    const Color us = state.turn;
    if (variant.capture_is_compulsory)  // antichess: the side with fewer pieces is nearer to its win
        return 0.5f * (material(state, ~us) - material(state, us)) + TEMPO;
    return side_score(variant, state, us, own) - side_score(variant, state, ~us, theirs) + TEMPO;
}

// The policy logit of a move.
float move_logit(const Variant& variant, const State& state, Move move, const Attacks& own, const Attacks& theirs) {
    const Color us = state.turn;
    const Square from = move.from(), to = move.to();
    const Role role = state.role_at(from);
    if (contains(state.of(us), to)) return 0.6f;  // castling
    const bool captures = contains(state.of(~us), to) || (role == PAWN && to == state.ep_square);
    const Role victim = captures ? std::max(PAWN, state.role_at(to)) : NO_ROLE;
    float logit = 0;
    if (variant.capture_is_compulsory)
        return 0.2f * (PIECE_VALUES[role] - PIECE_VALUES[victim]) + (contains(theirs.all, to) ? 0.5f : 0.0f);
    if (captures && variant.kings_may_explode) {
        const Bitboard blast = KING_ATTACKS[to] & ~state.of(PAWN);
        if (blast & state.of(~us, KING)) return 6;
        logit += 0.4f * (PIECE_VALUES[victim] - PIECE_VALUES[role]);
        for (Bitboard rest = blast & state.occupied() & ~bit(from); rest;) {
            const Square square = take_first(rest);
            logit += (contains(state.of(~us), square) ? 0.4f : -0.4f) * PIECE_VALUES[state.role_at(square)];
        }
        return logit;
    }
    if (captures) logit += 0.5f + 0.4f * PIECE_VALUES[victim];
    if (move.promotion() != NO_ROLE) logit += move.promotion() == QUEEN ? 2.5f : -1.0f;
    // Attacks on the origin and on the target.
    const float worth = role == KING ? 0 : PIECE_VALUES[role];
    if (contains(theirs.by_pawns, from)) logit += 0.25f * worth;
    const bool guarded = contains(own.by_pawns, to) || (role != PAWN && contains(own.all, to) && role != KING);
    if (role != KING && contains(theirs.by_pawns, to))
        logit -= 0.3f * worth;
    else if (role != KING && contains(theirs.all, to) && !guarded)
        logit -= 0.2f * worth;
    // Checks, and in atomic attacks beside the enemy king.
    if (variant.royal[~us]) {
        const Square king = state.king(~us);
        const Bitboard occupied = state.occupied() ^ bit(from);
        const Role arriving = move.promotion() == NO_ROLE ? role : move.promotion();
        Bitboard seen = 0;
        if (arriving == PAWN) seen = PAWN_ATTACKS[us][to];
        if (arriving == KNIGHT) seen = KNIGHT_ATTACKS[to];
        if (arriving == BISHOP || arriving == QUEEN) seen |= bishop_attacks(to, occupied);
        if (arriving == ROOK || arriving == QUEEN) seen |= rook_attacks(to, occupied);
        if (king != NO_SQUARE && contains(seen, king)) logit += variant.checks_to_win ? 2.0f : 0.7f;
        if (variant.kings_may_explode && king != NO_SQUARE && (seen & KING_ATTACKS[king] & state.of(~us)))
            logit += 1.0f;
    }
    if (role == KING && variant.hill) logit += 0.8f * static_cast<float>(steps_to_hill(from) - steps_to_hill(to));
    if (role == KING && variant.race_goal) logit += 1.0f * static_cast<float>(rank_of(to) - rank_of(from));
    return logit;
}

void heuristic_1(const Variant& variant, const State& state, Key, std::span<const Move> moves, float* priors,
                 float* wdl) {
    const Attacks own = attacks_of(state, state.turn, variant.board),
                  theirs = attacks_of(state, ~state.turn, variant.board);
    // 1. Value: the lead in pawns, mapped to -1..1.
    const float lead = lead_of_mover(variant, state, own, theirs);
    const float value = lead / (HALF_VALUE_LEAD + std::fabs(lead));
    const float draw = 0.25f * (1 - std::fabs(value));
    wdl[0] = (1 - draw + value) / 2;
    wdl[1] = draw;
    wdl[2] = (1 - draw - value) / 2;
    // 2. Policy: a softmax of the logits.
    double sum = 0;
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const double weight = exp_of(std::clamp(move_logit(variant, state, moves[i], own, theirs), -4.0f, 6.0f));
        priors[i] = static_cast<float>(weight);
        sum += weight;
    }
    for (std::size_t i = 0; i < moves.size(); ++i) priors[i] = static_cast<float>(priors[i] / sum);
}

}  // namespace

float heuristic_lead(const Variant& variant, const State& state) {
    return lead_of_mover(variant, state, attacks_of(state, state.turn, variant.board),
                         attacks_of(state, ~state.turn, variant.board));
}

NativeEvaluator find_native_evaluator(std::string_view name) {
    if (name == "uniform") return uniform;
    if (name == "fake") return fake;
    if (name == "heuristic-1") return heuristic_1;
    return nullptr;
}

}  // namespace selfmate
