// What Python sees of many games at once and of the learner's window: records, seats, the pool, the buffer. Long work
// runs without the GIL.
#include <thread>

#include "bindings/bindings.h"
#include "data/buffer.h"
#include "search/pool.h"

namespace selfmate {
namespace {

// A batch of samples as Python holds it: made once, then only read.
struct Samples {
    std::size_t size;
    Matrix<Bitboard> bits;
    Matrix<float> scalars;
    Matrix<std::uint16_t> policy_index;
    Matrix<float> policy_weight;
    Matrix<std::uint16_t> legal_index;
    Column<std::uint16_t> legal_counts;
    Matrix<float> wdl;
    Column<float> value_weight, plies, root_value;
    Column<std::uint64_t> game_ids;

    Samples(SampleBatch&& batch, std::size_t max_moves)
        : size(batch.size),
          bits(to_numpy<Matrix<Bitboard>>(std::move(batch.bits), {size, std::size_t(BITBOARDS)})),
          scalars(to_numpy<Matrix<float>>(std::move(batch.scalars), {size, std::size_t(SCALARS)})),
          policy_index(to_numpy<Matrix<std::uint16_t>>(std::move(batch.policy_index), {size, max_moves})),
          policy_weight(to_numpy<Matrix<float>>(std::move(batch.policy_weight), {size, max_moves})),
          legal_index(to_numpy<Matrix<std::uint16_t>>(std::move(batch.legal_index), {size, max_moves})),
          legal_counts(to_numpy<Column<std::uint16_t>>(std::move(batch.legal_counts), {size})),
          wdl(to_numpy<Matrix<float>>(std::move(batch.wdl), {size, std::size_t(3)})),
          value_weight(to_numpy<Column<float>>(std::move(batch.value_weight), {size})),
          plies(to_numpy<Column<float>>(std::move(batch.plies), {size})),
          root_value(to_numpy<Column<float>>(std::move(batch.root_value), {size})),
          game_ids(to_numpy<Column<std::uint64_t>>(std::move(batch.game_ids), {size})) {}
};

int thread_count(int threads) {
    if (threads < 0 || threads > 1024) throw nb::value_error("threads go from 0 (all) to 1024");
    return threads ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void check_pool(std::size_t slots, std::size_t lanes, std::size_t leaves_per_slot, std::uint32_t max_plies) {
    if (!slots || slots > 1'000'000 || !lanes || lanes > slots || !leaves_per_slot || max_plies > 10000)
        throw nb::value_error("1 <= lanes <= slots, leaves_per_slot >= 1, max_plies <= 10000");
}

double checked_seconds(double seconds) {
    if (!(seconds >= 0 && seconds <= 3600)) throw nb::value_error("seconds go from 0 to 3600");
    return seconds;
}

// Who asks a pool may have to wait until it is free, and lets other threads run meanwhile.
template <class T>
auto without_gil(T (Pool::*question)()) {
    return [question](Pool& pool) {
        nb::gil_scoped_release release;
        return (pool.*question)();
    };
}
template <class T>
auto without_gil(T (Pool::*question)() const) {
    return [question](const Pool& pool) {
        nb::gil_scoped_release release;
        return (pool.*question)();
    };
}

const char* result_text(Winner winner) {
    return winner == Winner::NOBODY ? "1/2-1/2" : winner == Winner::WHITE ? "1-0" : "0-1";
}

void bind_scores(nb::module_& m) {
    m.def("centipawns", &centipawns, "value"_a,
          "A value (-1 to 1) in centipawns as lc0 does it: 90 tan(1.5637541897 value). The value is what counts;\n"
          "centipawns are for programs that want them.\n\n"
          ">>> centipawns(0.0), centipawns(0.5), centipawns(-1.0)\n"
          "(0, 89, -12780)\n");
    using Rule = std::optional<std::tuple<int, std::uint32_t, std::uint32_t>>;
    nb::class_<ScoreRules>(
        m, "ScoreRules",
        "Ends by what players say of their positions, each (centipawns, moves, after): so many centipawns in the\n"
        "last so many moves of a side, from a move of the game on. `resign`: lost, when a side says so of itself;\n"
        "`win`: when both sides say so; `draw`: when both sides see no more than this.\n\n"
        ">>> rules = ScoreRules(resign=(600, 2, 0))\n"
        ">>> rules.end([30, -610, 25, -700], white_moved=False, number=2)\n"
        "('1-0', 'Black resigns by score')\n"
        ">>> rules.end([30, None, 25, -700], white_moved=False, number=2)\n")
        .def(
            "__init__",
            [](ScoreRules* self, const Rule& resign, const Rule& win, const Rule& draw) {
                const auto rule = [](const Rule& given) -> std::optional<ScoreRule> {
                    if (!given) return std::nullopt;
                    const auto [bound, moves, after] = *given;
                    if (bound < 0 || bound > 100'000'000 || !moves || moves > 100'000)
                        throw nb::value_error("centipawns from 0 to 100,000,000, moves from 1 to 100,000");
                    return ScoreRule{bound, moves, after};
                };
                new (self) ScoreRules{rule(resign), rule(win), rule(draw)};
            },
            nb::kw_only(), "resign"_a = nb::none(), "win"_a = nb::none(), "draw"_a = nb::none())
        .def(
            "end",
            [](const ScoreRules& self, const std::vector<Score>& scores, bool white_moved,
               std::uint32_t number) -> std::optional<std::pair<std::string, std::string>> {
                const auto end = end_by_score(self, scores, white_moved ? WHITE : BLACK, number);
                if (!end) return std::nullopt;
                return std::pair<std::string, std::string>(result_text(end->winner), end->reason);
            },
            "scores"_a, "white_moved"_a, "number"_a,
            "Result and reason, or None. `scores` are the movers', of every move so far, None where nothing was said;\n"
            "`number` is that of the last move, as in a score sheet.");
}

void bind_records(nb::module_& m) {
    nb::class_<GameRecord>(m, "GameRecord",
                           "A game as it is kept: moves, and what the search found where it is trained on.")
        .def_ro("game_id", &GameRecord::id)
        .def_prop_ro("variant", [](const GameRecord& self) { return self.variant->name; })
        .def_ro("chess960", &GameRecord::chess960)
        .def_ro("start_fen", &GameRecord::start_fen)
        .def_ro("random_plies", &GameRecord::random_plies)
        .def_ro("white_seat", &GameRecord::white_seat)
        .def_ro("black_seat", &GameRecord::black_seat)
        .def_prop_ro("moves", [](const GameRecord& self) { return std::vector<Move>(self.moves); })
        .def_prop_ro(
            "outcome", [](const GameRecord& self) { return self.outcome; },
            "None for a game that was cut off or is not over")
        .def_prop_ro("result",
                     [](const GameRecord& self) { return self.outcome ? result_text(self.outcome->winner) : "*"; })
        .def_prop_ro(
            "reason",
            [](const GameRecord& self) {
                if (!self.ending.empty()) return self.ending;
                return std::string(self.outcome ? phrase(self.outcome->termination) : "");
            },
            "Why the game ended, by the rules or as a referee said; nothing for one that was cut off or is not over")
        .def_prop_ro(
            "scores", [](const GameRecord& self) { return std::vector<Score>(self.scores); },
            "What the mover said of each move, in centipawns, or None; nothing of a game that was read from bytes")
        .def_prop_ro(
            "values",
            [](const GameRecord& self) {
                std::vector<std::pair<int, float>> values;
                for (const TrainedPosition& position : self.positions)
                    values.emplace_back(position.ply, position.value);
                return values;
            },
            "(ply, value) of every position that was searched fully, seen by the side to move")
        .def_prop_ro(
            "positions", [](const GameRecord& self) { return self.positions.size(); },
            "How many positions are trained on")
        .def(
            "trained",
            [](const GameRecord& self) {
                nb::list list;
                for (const TrainedPosition& position : self.positions) {
                    nb::dict visits, weights, entry;
                    for (const Target& target : position.targets) {
                        const std::string move = write_move(target.move);
                        visits[move.c_str()] = target.visits;
                        weights[move.c_str()] = target.weight;
                    }
                    entry["ply"] = position.ply;
                    entry["value"] = position.value;
                    entry["net_value"] = position.net_value;
                    entry["visits"] = visits;
                    entry["weights"] = weights;
                    list.append(entry);
                }
                return list;
            },
            nb::sig("def trained(self) -> list[dict[str, typing.Any]]"),
            "The trained positions: ply, value, net_value, visits and weights by move.")
        .def("to_bytes",
             [](const GameRecord& self) {
                 const std::string bytes = write_record(self);
                 return nb::bytes(bytes.data(), bytes.size());
             })
        .def_static(
            "from_bytes",
            [](nb::bytes bytes) { return read_record({static_cast<const char*>(bytes.data()), bytes.size()}); },
            "data"_a, "Read a record; the game is replayed, and anything that is not one raises RecordError.");
}

void bind_games(nb::module_& m) {
    nb::class_<Seat>(
        m, "Seat",
        "Who plays in a pool: a search and the number of its evaluator; any legal move without visits; or\n"
        "`Seat.outside()`, whose moves `Pool.play` brings.\n\n"
        ">>> Seat(visits=100, evaluator=1).evaluator, Seat(visits=0).is_random, Seat.outside().is_outside\n"
        "(1, True, True)\n")
        .def(
            "__init__",
            [](Seat* self, std::uint32_t visits, std::uint8_t evaluator, const SearchConfig& search) {
                new (self) Seat{search, visits, evaluator, false};
            },
            nb::kw_only(), "visits"_a, "evaluator"_a = 0, "search"_a = SearchConfig{})
        .def_static("outside", [] { return Seat{SearchConfig{}, 0, 0, true}; })
        .def_ro("visits", &Seat::visits)
        .def_ro("evaluator", &Seat::evaluator)
        .def_ro("is_outside", &Seat::outside)
        .def_prop_ro("is_random", &Seat::at_random);

    nb::class_<Pool> pool(
        m, "Pool",
        "Many games at once: gather, evaluate, apply, drain. Self-play has one search for everybody, games\n"
        "between players have seats. Any thread may call anything at any time.\n\n"
        ">>> pool = Pool('gardner', [Seat(visits=32), Seat(visits=0)], max_plies=60)\n"
        ">>> pool.start_games([('rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1', 0, 1)])\n"
        ">>> pool.run('heuristic-1')\n"
        ">>> [(record.white_seat, record.black_seat, record.result) for record in pool.drain()]\n"
        "[(0, 1, '1-0')]\n");
    bind_answers(pool);
    pool.def(
            "__init__",
            [](Pool* self, const std::string& name, const SearchConfig& search, std::uint64_t seed,
               std::uint32_t visits, std::uint32_t fast_visits, double full_probability, std::uint32_t random_plies,
               double temperature, std::uint32_t temperature_plies, std::uint32_t max_plies, std::size_t slots,
               std::size_t lanes, int threads, std::size_t leaves_per_slot, std::size_t batch) {
                const VariantName variant = resolve_variant(name);
                check_pool(slots, lanes, leaves_per_slot, max_plies);
                new (self)
                    Pool({variant.variant, variant.chess960, seed, fast_visits, full_probability, random_plies,
                          temperature, temperature_plies, max_plies},
                         {Seat{search, visits, 0, false}}, slots, lanes, thread_count(threads), leaves_per_slot, batch);
            },
            "variant"_a, "search"_a, nb::kw_only(), "seed"_a, "visits"_a, "fast_visits"_a = 16,
            "full_probability"_a = 1.0, "random_plies"_a = 0, "temperature"_a = 0.0, "temperature_plies"_a = 0,
            "max_plies"_a = 512, "slots"_a = 64, "lanes"_a = 1, "threads"_a = 0, "leaves_per_slot"_a = 1, "batch"_a = 0,
            "For self-play: seat 0 plays both sides.")
        .def(
            "__init__",
            [](Pool* self, const std::string& name, std::vector<Seat> seats, std::uint64_t seed,
               std::uint32_t max_plies, std::size_t slots, std::size_t lanes, int threads, std::size_t leaves_per_slot,
               std::size_t batch, const ScoreRules& rules, std::uint64_t ahead, bool greedy) {
                const VariantName variant = resolve_variant(name);
                check_pool(slots, lanes, leaves_per_slot, max_plies);
                if (seats.empty() || seats.size() > Pool::MAX_SEATS) throw nb::value_error("1 to 256 seats");
                PoolConfig config{variant.variant, variant.chess960, seed};
                config.max_plies = max_plies;
                config.rules = rules;
                config.ahead = ahead;
                config.greedy = greedy;
                new (self) Pool(config, std::move(seats), slots, lanes, thread_count(threads), leaves_per_slot, batch);
            },
            "variant"_a, "seats"_a, nb::kw_only(), "seed"_a = 0, "max_plies"_a = 512, "slots"_a = 64, "lanes"_a = 1,
            "threads"_a = 0, "leaves_per_slot"_a = 1, "batch"_a = 0, "rules"_a = ScoreRules{}, "ahead"_a = 0,
            "greedy"_a = false,
            "For games between players, whose seats are known by their numbers; `seed` is for those without visits.\n"
            "A gather gives at most `batch` leaves (0: those of all games, shared by the lanes). A game begins at "
            "most\n"
            "`ahead` ids before the oldest one that is not over (0: whenever there is room). A `greedy` gather takes\n"
            "all that it has room for, and nothing while two batches are on their way and it would not be full.")
        .def(
            "start",
            [](Pool& self, std::uint64_t first_game, std::uint64_t games) {
                std::vector<Fixture> fixtures;
                for (std::uint64_t i = 0; i < games; ++i) fixtures.push_back({first_game + i, {}, 0, 0});
                self.add(std::move(fixtures));
            },
            "first_game"_a, "games"_a,
            "Self-play games with the ids first_game, first_game + 1, …; seat 0 plays both sides.")
        .def(
            "start_games",
            [](Pool& self, const std::vector<std::tuple<std::string, std::uint8_t, std::uint8_t>>& games,
               std::uint64_t first_game) {
                std::vector<Fixture> fixtures;
                for (const auto& [fen, white, black] : games)
                    fixtures.push_back({first_game + fixtures.size(), fen, white, black});
                nb::gil_scoped_release release;
                self.add(std::move(fixtures));
            },
            "games"_a, "first_game"_a = 0,
            "Games of (opening, white seat, black seat) with the ids first_game, first_game + 1, …. An opening is a\n"
            "FEN; an empty one is the variant's start.")
        .def(
            "resume",
            [](Pool& self, const std::vector<const GameRecord*>& games) {
                std::vector<GameRecord> copies;
                for (const GameRecord* game : games) copies.push_back(*game);
                self.resume(std::move(copies));
            },
            "games"_a, "Games that were in flight when another pool stopped: they go on before others begin.")
        .def(
            "awaiting",
            [](Pool& self, double seconds) {
                std::vector<Awaited> games;
                {
                    nb::gil_scoped_release release;
                    games = self.awaiting(checked_seconds(seconds));
                }
                std::vector<std::tuple<std::size_t, std::uint64_t, std::string, std::vector<Move>>> tuples;
                for (Awaited& game : games)
                    tuples.emplace_back(game.slot, game.id, std::move(game.start_fen), std::move(game.moves));
                return tuples;
            },
            "seconds"_a = 0.0,
            "Games that wait for a move from outside, as (slot, game id, opening, moves so far): each once for each\n"
            "move. Waits for the first of them for so many seconds.")
        .def(
            "play",
            [](Pool& self, std::size_t slot, Move move, std::optional<int> score) {
                nb::gil_scoped_release release;
                self.play(slot, move, score);
            },
            "slot"_a, "move"_a, "score"_a = nb::none(),
            "Play the move that a game waits for; `score`: what its player says of the position, in centipawns. A\n"
            "move that is not legal raises IllegalMove, and the game waits on.")
        .def(
            "forfeit",
            [](Pool& self, std::size_t slot, const std::string& result, const std::string& reason) {
                std::optional<Winner> winner;
                if (result == "1-0")
                    winner = Winner::WHITE;
                else if (result == "0-1")
                    winner = Winner::BLACK;
                else if (result == "1/2-1/2")
                    winner = Winner::NOBODY;
                else if (result != "*")
                    throw nb::value_error("a result is 1-0, 0-1, 1/2-1/2 or *");
                if (reason.empty() || reason.size() > 4096) throw nb::value_error("a reason of 1 to 4096 characters");
                nb::gil_scoped_release release;
                self.forfeit(slot, winner, reason);
            },
            "slot"_a, "result"_a, "reason"_a, "End a game that waits for a move, as a referee does.")
        .def("idle", without_gil(&Pool::idle),
             "Whether no gather would give anything before answers come, or a move from outside.")
        .def("waiting", without_gil(&Pool::waiting),
             "How many games need each of the evaluators next, without those whose leaves are on their way.")
        .def_prop_ro(
            "news",
            [](const Pool& self) {
                nb::gil_scoped_release release;
                return self.news();
            },
            "Counts answers, moves from outside, games that end and games that are added: what ends an idle lane's\n"
            "sleep.")
        .def(
            "wait",
            [](const Pool& self, std::uint64_t news, double seconds) {
                nb::gil_scoped_release release;
                self.wait(news, checked_seconds(seconds));
            },
            "news"_a, "seconds"_a, "Sleep until there is other news than this, or for so long.")
        .def(
            "gather_into",
            [](Pool& self, LeafRoom& room, std::uint8_t evaluator) {
                nb::gil_scoped_release release;
                room.size = 0;
                room.ticket = self.gather(
                    evaluator, [&](std::size_t rows, std::size_t most_moves) { return room.place(rows, most_moves); });
            },
            "room"_a, "evaluator"_a = 0, "As `gather`, into memory that stays where it is.")
        .def(
            "gather",
            [](Pool& self, std::uint8_t evaluator) {
                LeafBatch batch;
                {
                    nb::gil_scoped_release release;
                    batch = self.gather(evaluator);
                }
                return Leaves(std::move(batch));
            },
            "evaluator"_a = 0, "Leaves that games need next, with a ticket for their answers.")
        .def(
            "run",
            [](Pool& self, const std::string& name) {
                const NativeEvaluator evaluator = native_evaluator(name);
                nb::gil_scoped_release release;
                self.run(evaluator);
            },
            "evaluator"_a, "Play everything to the end with 'uniform', 'fake' or 'heuristic-1'.")
        .def("done", without_gil(&Pool::done))
        .def("drain", without_gil(&Pool::drain), "Finished games, by id.")
        .def("in_flight", without_gil(&Pool::in_flight), "Games that are not over, with the moves so far.")
        .def_prop_ro("playouts", without_gil(&Pool::playouts))
        .def_prop_ro("plies", without_gil(&Pool::plies), "Moves that were searched for")
        .def_prop_ro("evaluators", &Pool::evaluators, "How many evaluators its seats name, by number")
        .def_prop_ro("lane_rows", &Pool::lane_rows, "Leaves that a gather gives at most")
        .def_prop_ro("finished", without_gil(&Pool::finished), "Games that are over and not yet drained");
}

void bind_learning(nb::module_& m) {
    nb::class_<Samples>(m, "Samples", "What the learner learns from: inputs and targets of B positions.")
        .def_ro("size", &Samples::size)
        .def_ro("bits", &Samples::bits, nb::rv_policy::reference)
        .def_ro("scalars", &Samples::scalars, nb::rv_policy::reference)
        .def_ro("policy_index", &Samples::policy_index, nb::rv_policy::reference)
        .def_ro("policy_weight", &Samples::policy_weight, nb::rv_policy::reference)
        .def_ro("legal_index", &Samples::legal_index, nb::rv_policy::reference)
        .def_ro("legal_counts", &Samples::legal_counts, nb::rv_policy::reference)
        .def_ro("wdl", &Samples::wdl, nb::rv_policy::reference)
        .def_ro("value_weight", &Samples::value_weight, nb::rv_policy::reference)
        .def_ro("plies", &Samples::plies, nb::rv_policy::reference)
        .def_ro("root_value", &Samples::root_value, nb::rv_policy::reference)
        .def_ro("game_ids", &Samples::game_ids, nb::rv_policy::reference);
    nb::class_<Buffer>(m, "Buffer", "The window of games that the learner samples from.")
        .def(
            "__init__",
            [](Buffer* self, const std::string& name, std::size_t capacity, int threads) {
                new (self) Buffer(*resolve_variant(name).variant, capacity, thread_count(threads));
            },
            "variant"_a, "capacity"_a, "threads"_a = 0)
        .def(
            "add", [](Buffer& self, const GameRecord& record) { self.add(record); }, "record"_a)
        .def(
            "sample",
            [](Buffer& self, std::size_t size, std::uint64_t seed, bool mirror) {
                if (!size || size > 1'000'000) throw nb::value_error("size goes from 1 to 1,000,000");
                SampleBatch batch;
                {
                    nb::gil_scoped_release release;
                    batch = self.sample(size, seed, mirror);
                }
                const std::size_t width = batch.legal_index.size() / size;
                return Samples(std::move(batch), width);
            },
            "size"_a, "seed"_a, "mirror"_a = true)
        .def_prop_ro("positions", &Buffer::positions)
        .def_prop_ro("games", &Buffer::games)
        .def_prop_ro("game_ids", [](const Buffer& self) {
            std::vector<std::uint64_t> ids;
            for (const GameRecord& record : self.records()) ids.push_back(record.id);
            return ids;
        });
}

}  // namespace

void bind_pool(nb::module_& m) {
    bind_scores(m);
    bind_records(m);
    bind_games(m);
    bind_learning(m);
}

}  // namespace selfmate
