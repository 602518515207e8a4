#include "data/buffer.h"

#include <algorithm>

#include "util/error.h"

namespace selfmate {
namespace {

constexpr float PIECE_VALUES[7] = {0, 1, 3, 3, 5, 9, 0};  // by role

float material_balance(const State& state, Color side) {
    float sum = 0;
    for (int role = PAWN; role <= QUEEN; ++role)
        sum += PIECE_VALUES[role] *
               static_cast<float>(count(state.of(side, Role(role))) - count(state.of(~side, Role(role))));
    return sum;
}

// base^exponent by multiplication: `pow` differs from machine to machine.
double power_of(double base, std::size_t exponent) {
    double power = 1;
    for (; exponent; --exponent) power *= base;
    return power;
}

// 5. What follows: the reply to the move that was played, and the mean values of the plies ahead.
template <class IndexOf>
void add_futures(SampleBatch& batch, std::size_t row, const GameRecord& game, const TrainedPosition& position,
                 IndexOf index_of) {
    const std::size_t ply = position.ply, plies = game.moves.size();
    if (ply + 1 < plies) {
        batch.reply_index[row] = index_of(game.moves[ply + 1]);
        batch.reply_weight[row] = 1;
    }
    // The result for the side to move here: batch.wdl is that of the game, or of its judge, and 0 without both.
    const float result = batch.wdl[row * 3] - batch.wdl[row * 3 + 2];
    for (std::size_t i = 0; i < HORIZONS; ++i) {
        const double horizon = static_cast<double>(AHEAD[i]), keep = 1 - 1 / horizon;
        double sum = 0, weight = 0;
        for (const TrainedPosition& later : game.positions) {
            if (later.ply <= ply) continue;
            const double share = power_of(keep, later.ply - ply - 1) / horizon;
            sum += share * static_cast<double>((later.ply - ply) % 2 ? -later.value : later.value);
            weight += share;
        }
        if (batch.value_weight[row] > 0 && plies > ply) {
            const double share = power_of(keep, plies - ply - 1);
            sum += share * static_cast<double>(result);
            weight += share;
        }
        if (weight > 0) batch.value_ahead[row * HORIZONS + i] = static_cast<float>(sum / weight);
        batch.ahead_weight[row] = weight > 0 ? 1.0f : 0.0f;
    }
}

}  // namespace

Buffer::Buffer(const Variant& variant, std::size_t capacity, int threads, const Encoding* encoding)
    : variant_(&variant),
      encoding_(encoding ? *encoding : encoding_of(variant)),
      capacity_(capacity),
      threads_(threads) {}

void Buffer::add(GameRecord record) {
    if (record.variant != variant_)
        throw Error("RecordError",
                    "a game of " + std::string(record.variant->name) + " in a buffer of " + std::string(variant_->name),
                    record.variant->name);
    positions_ += record.positions.size();
    games_.push_back(std::move(record));
    while (games_.size() > 1 && positions_ - games_.front().positions.size() >= capacity_) {
        positions_ -= games_.front().positions.size();
        games_.pop_front();
    }
    changed_ = true;
}

void Buffer::forget_before(std::uint64_t id) {
    while (!games_.empty() && games_.front().id < id) {
        positions_ -= games_.front().positions.size();
        games_.pop_front();
        changed_ = true;
    }
}

SampleBatch Buffer::sample(std::size_t size, std::uint64_t seed, bool mirror, Lookahead lookahead) {
    SampleBatch batch = prepare(size);
    threads_.each(size, [&](std::size_t row) {
        Random random(seed, row);
        const std::size_t drawn = static_cast<std::size_t>(random.bits() % positions_);
        sample_row(batch, row, drawn, random, mirror, lookahead);
    });
    return batch;
}

SampleBatch Buffer::sample_at(const std::vector<std::uint64_t>& drawn, std::uint64_t seed, bool mirror,
                              Lookahead lookahead) {
    SampleBatch batch = prepare(drawn.size());
    for (const std::uint64_t position : drawn)
        if (position >= positions_) throw Error("RecordError", "a position beyond the buffer's", "");
    threads_.each(drawn.size(), [&](std::size_t row) {
        Random random(seed, row);
        sample_row(batch, row, static_cast<std::size_t>(drawn[row]), random, mirror, lookahead);
    });
    return batch;
}

SampleBatch Buffer::prepare(std::size_t size) {
    if (!positions_) throw Error("RecordError", "the buffer has no position to sample", "");
    if (changed_) {
        ends_.clear();
        std::size_t sum = 0;
        for (const GameRecord& game : games_) ends_.push_back(sum += game.positions.size());
        changed_ = false;
    }
    const std::size_t width = static_cast<std::size_t>(encoding_.max_moves);
    SampleBatch batch;
    batch.size = size;
    batch.bits.resize(size * static_cast<std::size_t>(encoding_.bitboards));
    batch.scalars.resize(size * static_cast<std::size_t>(encoding_.scalars));
    batch.policy_index.assign(size * width, 0);
    batch.policy_weight.assign(size * width, 0);
    batch.legal_index.assign(size * width, 0);
    batch.legal_counts.resize(size);
    batch.wdl.assign(size * 3, 0);
    batch.value_weight.resize(size);
    batch.plies.resize(size);
    batch.played.resize(size);
    batch.material.resize(size);
    batch.final_material.assign(size, 0);
    batch.root_value.resize(size);
    batch.root_draw.resize(size);
    batch.reply_index.assign(size, 0);
    batch.reply_weight.assign(size, 0);
    batch.value_ahead.assign(size * HORIZONS, 0);
    batch.ahead_weight.assign(size, 0);
    batch.game_ids.resize(size);
    return batch;
}

void Buffer::sample_row(SampleBatch& batch, std::size_t row, std::size_t drawn, Random& random, bool mirror_allowed,
                        Lookahead lookahead) const {
    const std::size_t width = static_cast<std::size_t>(encoding_.max_moves);
    // 1. The trained position of this number in the window.
    const std::size_t which =
        static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), drawn) - ends_.begin());
    const GameRecord& game = games_[which];
    const TrainedPosition& position = game.positions[drawn - (ends_[which] - game.positions.size())];

    // 2. Replay the game up to that position.
    State state = validate(parse_fen(*variant_, game.chess960, game.start_fen), false);
    std::vector<Key> keys;
    std::vector<State> past;  // the positions before, if the encoder sees them
    for (std::size_t ply = 0; ply < position.ply; ++ply) {
        keys.push_back(state.key);
        if (encoding_.history > 1) past.push_back(state);
        variant_->play(state, game.moves[ply]);
    }
    const bool repeated = repetitions(state, keys) > 1;

    // 3. Inputs, and policy targets by policy index. Only a position without castling rights may be mirrored.
    const bool mirrored = mirror_allowed && !state.castling && (random.bits() & 1);
    Bitboard* const bits = batch.bits.data() + row * static_cast<std::size_t>(encoding_.bitboards);
    float* const scalars = batch.scalars.data() + row * static_cast<std::size_t>(encoding_.scalars);
    encode(encoding_, *variant_, state, repeated, past, bits, scalars);
    if (mirrored)
        for (int i = 0; i < encoding_.bitboards; ++i) bits[i] = mirror(*variant_, bits[i]);
    const auto index_of = [&](Move move) {
        const std::uint16_t index = move_index(encoding_, *variant_, move, state.turn);
        return mirrored ? mirror_index(encoding_, *variant_, index) : index;
    };
    float sum = 0;
    for (const Target& target : position.targets) sum += target.weight;
    for (std::size_t i = 0; i < std::min(position.targets.size(), width); ++i) {
        batch.policy_index[row * width + i] = index_of(position.targets[i].move);
        batch.policy_weight[row * width + i] = sum > 0 ? position.targets[i].weight / sum : 0;
    }
    MoveList legal;
    variant_->legal_moves(state, legal);
    const std::size_t count = std::min(legal.size(), width);
    for (std::size_t i = 0; i < count; ++i) batch.legal_index[row * width + i] = index_of(legal[i]);
    batch.legal_counts[row] = static_cast<std::uint16_t>(count);

    // 4. Value targets: the result of the game, or the judgement of a truncated one.
    if (game.outcome) {
        const bool draw = game.outcome->winner == Winner::NONE;
        const bool won = game.outcome->winner == winner(state.turn);
        batch.wdl[row * 3 + (draw ? 1 : won ? 0 : 2)] = 1;
    }
    if (!game.outcome && game.judgement) {
        const float value = state.turn == WHITE ? game.judgement->value : -game.judgement->value;
        const float draw = game.judgement->draw;
        batch.wdl[row * 3] = (1 - draw + value) / 2;
        batch.wdl[row * 3 + 1] = draw;
        batch.wdl[row * 3 + 2] = (1 - draw - value) / 2;
    }
    batch.value_weight[row] = game.outcome || game.judgement ? 1.0f : 0.0f;
    batch.plies[row] = static_cast<float>(game.moves.size() - position.ply);
    batch.played[row] = static_cast<float>(position.ply);
    batch.material[row] = material_balance(state, state.turn);
    batch.root_value[row] = position.value;
    batch.root_draw[row] = position.draw;
    batch.game_ids[row] = game.id;
    if (lookahead.futures) add_futures(batch, row, game, position, index_of);
    if (lookahead.endings) {
        const Color side = state.turn;
        for (std::size_t ply = position.ply; ply < game.moves.size(); ++ply) variant_->play(state, game.moves[ply]);
        batch.final_material[row] = material_balance(state, side);
    }
}

}  // namespace selfmate
