// A line of an efficiently updatable net: each position is evaluated as by itself, whatever stood there before.
#include "search/nnue.h"

#include <memory>

#include "board/position.h"
#include "tests/check.h"
#include "util/random.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

constexpr int PLIES = 12;

std::unique_ptr<NnueWeights> random_weights() {
    auto weights = std::make_unique<NnueWeights>();
    std::uint64_t seed = 0;
    const auto draw = [&](int most) {
        return static_cast<std::int16_t>(static_cast<int>(mix(++seed) % static_cast<unsigned>(2 * most + 1)) - most);
    };
    for (auto& row : weights->features)
        for (std::int16_t& weight : row) weight = draw(100);
    for (std::int16_t& weight : weights->bias) weight = draw(100);
    for (auto& row : weights->output)
        for (std::int16_t& weight : row) weight = draw(200);
    for (std::int32_t& weight : weights->output_bias) weight = draw(30'000);
    weights->scale = 300;
    return weights;
}

}  // namespace

int main() {
    const auto weights = random_weights();
    CHECK(nnue_fits(*weights), "random weights");
    for (const Variant& variant : variants()) {
        NnueLine line(*weights, variant, PLIES);
        random_games(std::string(variant.name), 40 / SHARE, 1, [&](const Position& position, Random& random) {
            // Plies in any order: what stands in the line before is a position of another game, or none.
            const int ply = static_cast<int>(random.below(PLIES + 1));
            const int expected = NnueLine(*weights, variant, 0).evaluate(position.state(), 0);
            CHECK(line.evaluate(position.state(), ply) == expected, position.fen(Castling::X_FEN));
        });
    }
    return finish();
}
