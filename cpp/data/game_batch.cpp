#include "data/game_batch.h"

#include <algorithm>
#include <utility>

#include "util/error.h"
#include "util/random.h"

namespace selfmate {
namespace {

// The last argument of a random stream of (seed, game, number, purpose).
enum Purpose : std::uint64_t { START = 1, ACTION };

}  // namespace

GameBatch::GameBatch(GameBatchConfig config)
    : config_(std::move(config)),
      encoding_(encoding_of(*config_.variant)),
      slots_(config_.games),
      chosen_(config_.games),
      threads_(config_.threads) {
    for (std::size_t game = 0; game < slots_.size(); ++game) begin(game);
}

void GameBatch::reset(std::uint64_t seed, const Observations& out) {
    config_.seed = seed;
    draws_ = 0;
    threads_.each(slots_.size(), [&](std::size_t game) {
        slots_[game].episode = 0;
        begin(game);
        observe(game, out);
    });
}

void GameBatch::step(std::span<const std::int64_t> actions, const Observations& out, const StepResults& results) {
    // 1. Every action must be legal before any game changes.
    for (std::size_t game = 0; game < slots_.size(); ++game)
        chosen_[game] = slots_[game].moves[find(game, actions[game])];
    // 2. Move, end and begin again, observe.
    threads_.each(slots_.size(), [&](std::size_t game) {
        step_one(game, chosen_[game], results);
        observe(game, out);
    });
}

void GameBatch::random_actions(std::span<std::int64_t> out) {
    const std::uint64_t draw = draws_++;
    for (std::size_t game = 0; game < slots_.size(); ++game) {
        const std::vector<std::uint16_t>& indices = slots_[game].indices;
        Random random(config_.seed, game, draw, ACTION);
        out[game] = indices[random.below(static_cast<std::uint32_t>(indices.size()))];
    }
}

void GameBatch::begin(std::size_t game) {
    Slot& slot = slots_[game];
    Random random(config_.seed, game, slot.episode++, START);
    slot.state = config_.starts[random.below(static_cast<std::uint32_t>(config_.starts.size()))];
    slot.keys.clear();
    list_moves(slot);
}

void GameBatch::list_moves(Slot& slot) const {
    slot.moves.clear();
    config_.variant->legal_moves(slot.state, slot.moves);
    slot.indices.clear();
    for (const Move move : slot.moves) slot.indices.push_back(move_index(*config_.variant, move, slot.state.turn));
}

void GameBatch::observe(std::size_t game, const Observations& out) const {
    const Slot& slot = slots_[game];
    Bitboard bits[BITBOARDS];
    float scalars[SCALARS];
    encode(*config_.variant, slot.state, repetitions(slot.state, slot.keys) > 1, bits, scalars);
    const std::size_t size = static_cast<std::size_t>(DENSE_PLANES * encoding_.squares);
    write_planes(*config_.variant, bits, scalars, out.planes + game * size);
    write_mask(encoding_, slot.indices, out.masks + game * static_cast<std::size_t>(encoding_.policy_size));
}

std::size_t GameBatch::find(std::size_t game, std::int64_t action) const {
    const std::vector<std::uint16_t>& indices = slots_[game].indices;
    const auto found = std::find(indices.begin(), indices.end(), action);
    if (found == indices.end())
        throw Error("IllegalMove", "action " + std::to_string(action) + " is not legal in game " + std::to_string(game),
                    std::to_string(action));
    return static_cast<std::size_t>(found - indices.begin());
}

void GameBatch::step_one(std::size_t game, Move move, const StepResults& results) {
    Slot& slot = slots_[game];
    const Color mover = slot.state.turn;
    slot.keys.push_back(slot.state.key);
    config_.variant->play(slot.state, move);
    const std::optional<Outcome> end = outcome(*config_.variant, slot.state, slot.keys, true);
    const bool truncated = !end && slot.keys.size() >= config_.max_plies;
    results.terminated[game] = end.has_value();
    results.truncated[game] = truncated;
    results.rewards[game] = !end || end->winner == Winner::NONE ? 0.0f : end->winner == winner(mover) ? 1.0f : -1.0f;
    if (end || truncated)
        begin(game);
    else
        list_moves(slot);
}

}  // namespace selfmate
