// Batched games: observations are those of the positions, on one thread and on several, and an illegal action changes
// nothing.
#include "data/game_batch.h"

#include <memory>

#include "tests/check.h"
#include "util/error.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

constexpr std::size_t GAMES = 5;
constexpr int STEPS = 300 / SHARE;

// A batch with the arrays that it writes to.
struct Played {
    Played(const Variant& variant, int threads)
        : batch({.variant = &variant,
                 .starts = {validate(parse_fen(variant, false, variant.start), false)},
                 .games = GAMES,
                 .max_plies = 100,
                 .threads = threads}),
          planes(GAMES * static_cast<std::size_t>(DENSE_PLANES * batch.encoding().squares)),
          masks(GAMES * static_cast<std::size_t>(batch.encoding().policy_size)),
          actions(GAMES),
          rewards(GAMES),
          terminated(GAMES),
          truncated(GAMES) {
        batch.reset(7, observations());
    }
    Observations observations() { return {.planes = planes.data(), .masks = masks.data()}; }
    void step() {
        batch.random_actions(actions);
        batch.step(actions, observations(),
                   {.rewards = rewards.data(), .terminated = terminated.data(), .truncated = truncated.data()});
    }

    GameBatch batch;
    std::vector<float> planes;
    std::vector<std::uint8_t> masks;
    std::vector<std::int64_t> actions;
    std::vector<float> rewards;
    std::vector<std::uint8_t> terminated, truncated;
};

void check_observation(Played& played, const Variant& variant, std::size_t game) {
    const State& state = played.batch.state(game);
    const Encoding& encoding = played.batch.encoding();
    const std::string where = write_fen(variant, state, Castling::X_FEN);
    const auto policy = static_cast<std::size_t>(encoding.policy_size);
    const std::uint8_t* const mask = &played.masks[game * policy];
    MoveList legal;
    variant.legal_moves(state, legal);
    std::size_t count = 0;
    for (std::size_t i = 0; i < policy; ++i) count += mask[i];
    CHECK(count == legal.size(), where);
    for (const Move move : legal) CHECK(mask[move_index(variant, move, state.turn)] == 1, where);
    // Plane 0 and 6 are the pawns of both sides, as many as there are.
    const auto squares = static_cast<std::size_t>(encoding.squares);
    const float* const planes = &played.planes[game * DENSE_PLANES * squares];
    const auto sum = [&](std::size_t plane) {
        float total = 0;
        for (std::size_t i = 0; i < squares; ++i) total += planes[plane * squares + i];
        return static_cast<int>(total);
    };
    CHECK(sum(0) == std::popcount(state.of(state.turn, PAWN)), where);
    CHECK(sum(6) == std::popcount(state.of(~state.turn, PAWN)), where);
}

void check_illegal(Played& played, const Variant& variant) {
    const std::string before = write_fen(variant, played.batch.state(0), Castling::X_FEN);
    played.batch.random_actions(played.actions);
    played.actions.back() = -1;
    bool refused = false;
    try {
        played.batch.step(played.actions, played.observations(),
                          {.rewards = played.rewards.data(),
                           .terminated = played.terminated.data(),
                           .truncated = played.truncated.data()});
    } catch (const Error& error) {
        refused = std::string_view(error.kind()) == "IllegalMove";
    }
    CHECK(refused && write_fen(variant, played.batch.state(0), Castling::X_FEN) == before, before);
}

}  // namespace

int main() {
    for (const Variant& variant : variants()) {
        Played alone(variant, 1), together(variant, 3);
        const std::string where(variant.name);
        int ended = 0;
        for (int step = 0; step < STEPS; ++step) {
            alone.step();
            together.step();
            CHECK(alone.planes == together.planes && alone.masks == together.masks, where);
            CHECK(alone.rewards == together.rewards && alone.terminated == together.terminated, where);
            for (std::size_t game = 0; game < GAMES; ++game) {
                check_observation(alone, variant, game);
                ended += alone.terminated[game] + alone.truncated[game];
            }
        }
        CHECK(ended > 0 || SHARE > 1, where);
        check_illegal(alone, variant);
    }
    return finish();
}
