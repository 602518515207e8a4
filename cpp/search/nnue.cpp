#include "search/nnue.h"

#include <algorithm>
#include <cstdlib>

namespace selfmate {
namespace {

constexpr int MOST_PIECES = 64;

// The index of a piece among the features of a view.
int feature(Color view, Color color, int role, Square square, int ranks) {
    const Square seen = view == WHITE ? square : make_square(file_of(square), ranks - 1 - rank_of(square));
    return (view == color ? 0 : 6 * 64) + role * 64 + seen;
}

std::int32_t dot(const std::int16_t* view, const std::int16_t* weights) {
    std::int32_t sum = 0;
    for (int i = 0; i < NNUE_HIDDEN; ++i) {
        const auto value = std::clamp<std::int16_t>(view[i], 0, ACTIVATION_ONE);
        const auto square = static_cast<std::int16_t>(value * value);
        sum += static_cast<std::int32_t>(square) * weights[i];
    }
    return sum;
}

}  // namespace

bool nnue_fits(const NnueWeights& weights) {
    for (int i = 0; i < NNUE_HIDDEN; ++i) {
        int most = 0;
        for (const auto& row : weights.features) most = std::max(most, std::abs(static_cast<int>(row[i])));
        if (most * MOST_PIECES + std::abs(static_cast<int>(weights.bias[i])) > INT16_MAX) return false;
    }
    for (int bucket = 0; bucket < NNUE_BUCKETS; ++bucket) {
        std::int64_t most = std::abs(static_cast<std::int64_t>(weights.output_bias[bucket]));
        for (const std::int16_t weight : weights.output[bucket])
            most += std::int64_t{ACTIVATION_ONE} * ACTIVATION_ONE * std::abs(static_cast<int>(weight));
        if (most > INT32_MAX) return false;
    }
    return weights.scale > 0 && weights.scale <= 10'000;
}

NnueLine::NnueLine(const NnueWeights& weights, const Variant& variant, int plies)
    : weights_(weights), ranks_(variant.ranks), accumulators_(static_cast<std::size_t>(plies) + 2) {
    for (NnueAccumulator& each : accumulators_) {
        each = {};
        for (auto& view : each.views) std::copy_n(weights.bias, NNUE_HIDDEN, view);
    }
}

int NnueLine::evaluate(const State& state, int ply) {
    // 1. The first layer
    const NnueAccumulator& before = accumulators_[static_cast<std::size_t>(ply)];
    NnueAccumulator& now = accumulators_[static_cast<std::size_t>(ply) + 1];
    update(now, before, state);
    // 2. The output
    const int bucket = nnue_bucket(count(state.occupied()));
    const std::int16_t* const output = weights_.output[bucket];
    const std::int32_t sum = dot(now.views[state.turn], output) + dot(now.views[~state.turn], output + NNUE_HIDDEN) +
                             weights_.output_bias[bucket];
    return static_cast<int>(std::int64_t{sum} * weights_.scale / (ACTIVATION_ONE * ACTIVATION_ONE * OUTPUT_ONE));
}

void NnueLine::update(NnueAccumulator& to, const NnueAccumulator& from, const State& state) const {
    // 1. The pieces that differ, as rows of either view
    const std::int16_t* rows[2][2 * MOST_PIECES];  // [view]
    int added = 0, all = 0;
    const auto list = [&](Color color, int role, Bitboard squares) {
        while (squares) {
            const Square square = take_first(squares);
            for (const Color view : {WHITE, BLACK})
                rows[view][all] = weights_.features[feature(view, color, role, square, ranks_)];
            ++all;
        }
    };
    for (const bool removes : {false, true}) {
        for (const Color color : {WHITE, BLACK})
            for (int role = 0; role < 6; ++role) {
                const Bitboard old = from.colors[color] & from.roles[role],
                               now = state.colors[color] & state.roles[role];
                list(color, role, removes ? old & ~now : now & ~old);
            }
        if (!removes) added = all;
    }
    // 2. Add and subtract them
    for (const Color view : {WHITE, BLACK}) {
        std::int16_t* const sums = to.views[view];
        std::copy_n(from.views[view], NNUE_HIDDEN, sums);
        for (int row = 0; row < all; ++row) {
            const std::int16_t* const weights = rows[view][row];
            if (row < added)
                for (int i = 0; i < NNUE_HIDDEN; ++i) sums[i] = static_cast<std::int16_t>(sums[i] + weights[i]);
            else
                for (int i = 0; i < NNUE_HIDDEN; ++i) sums[i] = static_cast<std::int16_t>(sums[i] - weights[i]);
        }
    }
    std::copy_n(state.colors, 2, to.colors);
    std::copy_n(state.roles, 6, to.roles);
}

}  // namespace selfmate
