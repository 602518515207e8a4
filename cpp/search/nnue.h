// An efficiently updatable net (NNUE, Nasu 2018) as the evaluation of alpha-beta. Its first layer is a sum of one row of
// weights for each piece on the board, so that a move changes a few rows only; the rest is one dot product. Integers
// throughout: the same score on every machine. `selfmate nnue` trains it from the games of a run.
//
//   features of a view: [own, other][pawn ... king][square], 768; the view of Black has ranks and colours exchanged
//   hidden[view]      = clamp(bias + sum of the rows of its features, 0, ACTIVATION_ONE)^2
//   score             = (hidden[mover] . output[bucket][0..] + hidden[other] . output[bucket][NNUE_HIDDEN..] + bias) * scale
//   bucket            = by the number of pieces on the board
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "board/variant.h"

namespace selfmate {

constexpr int NNUE_FEATURES = 2 * 6 * 64;
constexpr int NNUE_HIDDEN = 128;
constexpr int NNUE_BUCKETS = 8;
// What stands for 1.0: in the hidden layer, so that its square fits into 16 bits, and in the output weights.
constexpr int ACTIVATION_ONE = 181;
constexpr int OUTPUT_ONE = 256;

struct alignas(64) NnueWeights {
    std::int16_t features[NNUE_FEATURES][NNUE_HIDDEN];
    std::int16_t bias[NNUE_HIDDEN];
    std::int16_t output[NNUE_BUCKETS][2 * NNUE_HIDDEN];
    std::int32_t output_bias[NNUE_BUCKETS];  // in units of ACTIVATION_ONE^2 * OUTPUT_ONE
    std::int32_t scale;                      // centipawns for an output of 1.0
};

// Whether no sum of the net can leave its 16 or 32 bits, whatever stands on the board.
bool nnue_fits(const NnueWeights& weights);

// The bucket of a position with this number of pieces.
inline int nnue_bucket(int pieces) { return std::min((std::max(pieces, 2) - 2) / 4, NNUE_BUCKETS - 1); }

// The first layer of a position, both views, and the pieces that it is the sum of.
struct alignas(64) NnueAccumulator {
    std::int16_t views[2][NNUE_HIDDEN];
    Bitboard colors[2];
    Bitboard roles[6];
};

// Evaluates the positions of a line. A position is computed from the one before it by their difference; whatever was
// evaluated there, the result is that of the position alone.
class NnueLine {
public:
    NnueLine(const NnueWeights& weights, const Variant& variant, int plies);

    // Returns centipawns for the side to move. `ply`: 0 to `plies`.
    int evaluate(const State& state, int ply);

private:
    void update(NnueAccumulator& to, const NnueAccumulator& from, const State& state) const;

    const NnueWeights& weights_;
    int ranks_;
    std::vector<NnueAccumulator> accumulators_;  // [0] is the empty board, [ply + 1] that of a ply
};

}  // namespace selfmate
