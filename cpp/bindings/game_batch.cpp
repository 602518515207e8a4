// Python: GameBatch.
#include "data/game_batch.h"

#include "bindings/arrays.h"
#include "bindings/bindings.h"

namespace selfmate {
namespace {

constexpr std::size_t MAX_GAMES = 1'000'000;
constexpr std::uint32_t MAX_PLIES = 65'535;

GameBatchConfig checked_config(const std::string& name, std::int64_t games, const std::vector<std::string>& starts,
                               std::uint64_t seed, std::int64_t max_plies, int threads) {
    const auto check = [](const char* what, std::int64_t number, std::int64_t most) {
        if (number < 1 || number > most)
            throw Error(
                "EnvError",
                std::string(what) + " must be from 1 to " + std::to_string(most) + ", not " + std::to_string(number),
                std::to_string(number));
    };
    check("games", games, MAX_GAMES);
    check("max_plies", max_plies, MAX_PLIES);
    check("threads", threads, 1024);
    const VariantName variant = resolve_variant(name);
    GameBatchConfig config{.variant = variant.variant,
                           .chess960 = variant.chess960,
                           .starts = {},
                           .games = static_cast<std::size_t>(games),
                           .seed = seed,
                           .max_plies = static_cast<std::uint32_t>(max_plies),
                           .threads = threads};
    std::vector<std::string> fens = starts;
    if (fens.empty()) fens.emplace_back(variant.variant->start);
    for (const std::string& fen : fens) {
        config.starts.push_back(validate(parse_fen(*variant.variant, variant.chess960, fen), false));
        if (outcome(*variant.variant, config.starts.back(), {}, true))
            throw Error("EnvError", "a game cannot start where it is over: " + fen, fen);
    }
    return config;
}

Observations checked_observations(const GameBatch& self, nb::handle planes, nb::handle masks) {
    const std::size_t games = self.size();
    const Encoding& encoding = self.encoding();
    const auto ranks = static_cast<std::size_t>(encoding.ranks), files = static_cast<std::size_t>(encoding.files);
    const auto policy = static_cast<std::size_t>(encoding.policy_size);
    bool* const legal = checked_array<bool>(masks, "masks", {games, policy}, "ArrayError").data;
    return {.planes = checked_array<float>(planes, "planes", {games, DENSE_PLANES, ranks, files}, "ArrayError").data,
            .masks = reinterpret_cast<std::uint8_t*>(legal)};
}

}  // namespace

void bind_game_batch(nb::module_& m) {
    nb::class_<GameBatch>(
        m, "GameBatch",
        "Many games of one variant, stepped side by side by actions (policy indices); a game that ends begins again "
        "at\n"
        "once. Observations and results are written into arrays of the caller. Use it through `selfmate.envs`.")
        .def(
            "__init__",
            [](GameBatch* self, const std::string& name, std::int64_t games, const std::vector<std::string>& starts,
               std::uint64_t seed, std::int64_t max_plies,
               int threads) { new (self) GameBatch(checked_config(name, games, starts, seed, max_plies, threads)); },
            "variant"_a, "games"_a, nb::kw_only(), "starts"_a = std::vector<std::string>{}, "seed"_a = 0,
            "max_plies"_a = 512, "threads"_a = 1)
        .def(
            "reset",
            [](GameBatch& self, std::uint64_t seed, nb::object planes, nb::object masks) {
                const Observations out = checked_observations(self, planes, masks);
                nb::gil_scoped_release release;
                self.reset(seed, out);
            },
            nb::sig("def reset(self, seed: int, planes: typing.Any, masks: typing.Any) -> None"),
            "Begin all games again; write planes float32[N, C, H, W] and masks bool[N, policy_size]. Raises "
            "ArrayError.")
        .def(
            "step",
            [](GameBatch& self, nb::object actions, nb::object planes, nb::object masks, nb::object rewards,
               nb::object terminated, nb::object truncated) {
                const std::size_t games = self.size();
                const auto chosen = checked_array<const std::int64_t>(actions, "actions", {games}, "ArrayError");
                const Observations out = checked_observations(self, planes, masks);
                const auto flags = [&](nb::handle object, const char* name) {
                    return reinterpret_cast<std::uint8_t*>(
                        checked_array<bool>(object, name, {games}, "ArrayError").data);
                };
                const StepResults results{
                    .rewards = checked_array<float>(rewards, "rewards", {games}, "ArrayError").data,
                    .terminated = flags(terminated, "terminated"),
                    .truncated = flags(truncated, "truncated")};
                nb::gil_scoped_release release;
                self.step({chosen.data, games}, out, results);
            },
            nb::sig("def step(self, actions: typing.Any, planes: typing.Any, masks: typing.Any, rewards: typing.Any, "
                    "terminated: typing.Any, truncated: typing.Any) -> None"),
            "Make one move in each game: actions int64[N]; rewards float32[N], terminated and truncated bool[N] are\n"
            "written besides planes and masks. Raises ArrayError, or IllegalMove before any move is made.")
        .def(
            "random_actions",
            [](GameBatch& self, nb::object actions) {
                const auto out = checked_array<std::int64_t>(actions, "actions", {self.size()}, "ArrayError");
                self.random_actions({out.data, self.size()});
            },
            nb::sig("def random_actions(self, actions: typing.Any) -> None"),
            "Write a legal action of each game, drawn uniformly, into int64[N]. Raises ArrayError.")
        .def_prop_ro("games", &GameBatch::size)
        .def(
            "turns",
            [](const GameBatch& self) {
                std::vector<std::uint8_t> turns;
                for (std::size_t game = 0; game < self.size(); ++game) turns.push_back(self.state(game).turn == WHITE);
                const std::size_t games = self.size();
                return to_numpy<Column<std::uint8_t>>(std::move(turns), {games});
            },
            "Return uint8[N], 1 where White is to move.")
        .def(
            "fens",
            [](const GameBatch& self) {
                std::vector<std::string> fens;
                const Castling castling = self.config().chess960 ? Castling::SHREDDER : Castling::X_FEN;
                for (std::size_t game = 0; game < self.size(); ++game)
                    fens.push_back(write_fen(*self.config().variant, self.state(game), castling));
                return fens;
            },
            "Return the positions as FEN.");
}

}  // namespace selfmate
