// Python: Seat, Pool.
#include "search/pool.h"

#include "bindings/arrays.h"
#include "bindings/bindings.h"

namespace selfmate {
namespace {

void check_pool(std::size_t slots, std::size_t lanes, std::size_t leaves_per_slot, std::uint32_t max_plies) {
    if (!slots || slots > 1'000'000 || !lanes || lanes > slots || !leaves_per_slot ||
        max_plies > SelfPlayConfig::MAX_PLIES)
        throw nb::value_error("1 <= lanes <= slots, leaves_per_slot >= 1, max_plies <= 10000");
}

double checked_seconds(double seconds) {
    if (!(seconds >= 0 && seconds <= 3600)) throw nb::value_error("seconds go from 0 to 3600");
    return seconds;
}

// Calls a member function without the GIL, because it may block on the mutex of the pool.
template <class T>
auto without_gil(T (Pool::*function)()) {
    return [function](Pool& pool) {
        nb::gil_scoped_release release;
        return (pool.*function)();
    };
}
template <class T>
auto without_gil(T (Pool::*function)() const) {
    return [function](const Pool& pool) {
        nb::gil_scoped_release release;
        return (pool.*function)();
    };
}

void bind_seat(nb::module_& m) {
    nb::class_<Seat>(
        m, "Seat",
        "A player of a pool: a search with the number of its evaluator; random legal moves with 0 visits; or\n"
        "`Seat.external()`, whose moves come from `Pool.play`.\n\n"
        ">>> Seat(visits=100, evaluator=1).evaluator, Seat(visits=0).is_random, Seat.external().is_external\n"
        "(1, True, True)\n")
        .def(
            "__init__",
            [](Seat* self, std::uint32_t visits, std::uint8_t evaluator, const SearchConfig& search,
               const std::optional<Encoding>& encoding) {
                new (self) Seat{.search = search,
                                .visits = visits,
                                .evaluator = evaluator,
                                .encoding = encoding.value_or(Encoding{})};
            },
            nb::kw_only(), "visits"_a, "evaluator"_a = 0, "search"_a = SearchConfig{}, "encoding"_a = nb::none(),
            "`encoding`: of the evaluator, the variant's own by default.")
        .def_static("external", [] { return Seat{.visits = 0, .external = true}; })
        .def_ro("visits", &Seat::visits)
        .def_ro("evaluator", &Seat::evaluator)
        .def_ro("is_external", &Seat::external)
        .def_ro("search", &Seat::search)
        .def_prop_ro("is_random", &Seat::plays_random_moves)
        .def("__getstate__",
             [](const Seat& self) {
                 const auto encoding = self.encoding.is_default() ? std::nullopt : std::optional(self.encoding);
                 return std::make_tuple(self.visits, self.evaluator, self.search, self.external, encoding);
             })
        .def("__setstate__",
             [](Seat& self,
                const std::tuple<std::uint32_t, std::uint8_t, SearchConfig, bool, std::optional<Encoding>>& state) {
                 const auto& [visits, evaluator, search, external, encoding] = state;
                 new (&self) Seat{.search = search,
                                  .visits = visits,
                                  .evaluator = evaluator,
                                  .external = external,
                                  .encoding = encoding.value_or(Encoding{})};
             });
}

void bind_construction(nb::class_<Pool>& pool) {
    pool.def(
            "__init__",
            [](Pool* self, const std::string& name, const SearchConfig& search, const SelfPlayConfig& selfplay,
               std::uint64_t seed, std::size_t slots, std::size_t lanes, int threads, std::size_t leaves_per_slot,
               std::size_t batch, bool cache, const std::optional<Encoding>& encoding) {
                const VariantName variant = resolve_variant(name);
                check_pool(slots, lanes, leaves_per_slot, selfplay.max_plies);
                const PoolConfig config{.variant = variant.variant,
                                        .chess960 = variant.chess960,
                                        .seed = seed,
                                        .selfplay = selfplay,
                                        .cache = cache,
                                        .slots = slots,
                                        .lanes = lanes,
                                        .threads = thread_count(threads),
                                        .leaves_per_slot = leaves_per_slot,
                                        .batch = batch};
                new (self) Pool(
                    config,
                    {Seat{.search = search, .visits = selfplay.visits, .encoding = encoding.value_or(Encoding{})}});
            },
            "variant"_a, "search"_a, "selfplay"_a, nb::kw_only(), "seed"_a, "slots"_a = 64, "lanes"_a = 1,
            "threads"_a = 0, "leaves_per_slot"_a = 1, "batch"_a = 0, "cache"_a = true, "encoding"_a = nb::none(),
            "Self-play: seat 0 plays both sides. `cache`: a leaf that was evaluated in the same search or in the one\n"
            "before it is not evaluated again; the games are the same. `encoding`: of the evaluator, the variant's "
            "own\n"
            "by default.")
        .def(
            "__init__",
            [](Pool* self, const std::string& name, std::vector<Seat> seats, std::uint64_t seed,
               std::uint32_t max_plies, std::size_t slots, std::size_t lanes, int threads, std::size_t leaves_per_slot,
               std::size_t batch, const ScoreRules& rules, std::uint64_t max_id_lead, bool greedy, bool cache) {
                const VariantName variant = resolve_variant(name);
                check_pool(slots, lanes, leaves_per_slot, max_plies);
                if (seats.empty() || seats.size() > Pool::MAX_SEATS) throw nb::value_error("1 to 256 seats");
                const PoolConfig config{.variant = variant.variant,
                                        .chess960 = variant.chess960,
                                        .seed = seed,
                                        .selfplay = SelfPlayConfig::of_match(max_plies),
                                        .score_rules = rules,
                                        .max_id_lead = max_id_lead,
                                        .greedy = greedy,
                                        .cache = cache,
                                        .slots = slots,
                                        .lanes = lanes,
                                        .threads = thread_count(threads),
                                        .leaves_per_slot = leaves_per_slot,
                                        .batch = batch};
                new (self) Pool(config, std::move(seats));
            },
            "variant"_a, "seats"_a, nb::kw_only(), "seed"_a = 0, "max_plies"_a = 512, "slots"_a = 64, "lanes"_a = 1,
            "threads"_a = 0, "leaves_per_slot"_a = 1, "batch"_a = 0, "rules"_a = ScoreRules{}, "max_id_lead"_a = 0,
            "greedy"_a = false, "cache"_a = true,
            "Games between players; games name seats by their index. `batch`: leaves of a batch, at most (0: of all\n"
            "games, divided by the lanes). `max_id_lead`: a game begins only if its id is less than this above the\n"
            "smallest unfinished id (0: no limit). `greedy`: a batch takes all leaves that fit, and a partial batch\n"
            "waits while two others are open. `cache`: as for self-play.");
}

// Queues and moves of external players.
void bind_games(nb::class_<Pool>& pool) {
    pool.def(
            "start",
            [](Pool& self, std::uint64_t first_game, std::uint64_t games) {
                std::vector<GameSpec> specs;
                for (std::uint64_t i = 0; i < games; ++i) specs.push_back({.id = first_game + i});
                nb::gil_scoped_release release;
                self.add(std::move(specs));
            },
            "first_game"_a, "games"_a,
            "Queue self-play games with the ids first_game, first_game + 1, …; seat 0 plays both sides.")
        .def(
            "start_games",
            [](Pool& self, const std::vector<std::tuple<std::string, std::uint8_t, std::uint8_t>>& games,
               std::uint64_t first_game, bool random_opening) {
                std::vector<GameSpec> specs;
                for (const auto& [fen, white, black] : games)
                    specs.push_back({.id = first_game + specs.size(),
                                     .start_fen = fen,
                                     .white_seat = white,
                                     .black_seat = black,
                                     .random_opening = random_opening});
                nb::gil_scoped_release release;
                self.add(std::move(specs));
            },
            "games"_a, "first_game"_a = 0, nb::kw_only(), "random_opening"_a = true,
            "Queue games of (opening, white seat, black seat) with the ids first_game, first_game + 1, …. An opening\n"
            "is a FEN, or empty for the variant's start position. `random_opening`: the random plies of self-play\n"
            "follow it.")
        .def(
            "set_temperature_by_move",
            [](Pool& self, const std::vector<std::pair<std::uint32_t, double>>& steps) {
                std::vector<TemperatureStep> checked;
                for (const auto& [move, temperature] : steps) {
                    if (!(temperature >= 0 && temperature <= 10) ||
                        (!checked.empty() && move <= checked.back().from_move))
                        throw nb::value_error("moves that rise, with temperatures from 0 to 10");
                    checked.push_back({.from_move = move, .temperature = temperature});
                }
                nb::gil_scoped_release release;
                self.set_temperature_by_move(std::move(checked));
            },
            "steps"_a,
            "Draw moves at temperatures of (move, temperature), each from its move of the game on (two plies each, "
            "the\n"
            "first is 0), instead of `temperature` for `temperature_plies`. No steps: as in the config.")
        .def(
            "configure",
            [](Pool& self, const SearchConfig& search, const SelfPlayConfig& selfplay) {
                check_pool(1, 1, 1, selfplay.max_plies);
                nb::gil_scoped_release release;
                self.configure(search, selfplay);
            },
            "search"_a, "selfplay"_a,
            "Change self-play from the next search of each game on; no later search uses evaluations from before.\n"
            "For an evaluator that has got a new net.")
        .def(
            "resume",
            [](Pool& self, const std::vector<const GameRecord*>& games) {
                std::vector<GameRecord> copies;
                for (const GameRecord* game : games) copies.push_back(*game);
                self.resume(std::move(copies));
            },
            "games"_a,
            "Queue games of another pool's `unfinished_games`, before all other games. They continue as they would "
            "have "
            "there.")
        .def(
            "take_move_requests",
            [](Pool& self, double seconds) {
                std::vector<MoveRequest> requests;
                {
                    nb::gil_scoped_release release;
                    requests = self.take_move_requests(checked_seconds(seconds));
                }
                std::vector<std::tuple<std::size_t, std::uint64_t, std::string, std::vector<Move>>> tuples;
                for (MoveRequest& each : requests)
                    tuples.emplace_back(each.slot, each.id, std::move(each.start_fen), std::move(each.moves));
                return tuples;
            },
            "seconds"_a = 0.0,
            "Return the games that need a move of an external seat, as (slot, game id, opening, moves so far), each\n"
            "once per move. Blocks up to `seconds` until there is one.")
        .def(
            "play",
            [](Pool& self, std::size_t slot, Move move, std::optional<int> score) {
                nb::gil_scoped_release release;
                self.play(slot, move, score);
            },
            "slot"_a, "move"_a, "score"_a = nb::none(),
            "Play the move of an external seat; `score`: the player's score of the position, in centipawns. Raises\n"
            "IllegalMove; then the game still needs its move.")
        .def(
            "forfeit",
            [](Pool& self, std::size_t slot, const std::string& result, const std::string& reason) {
                std::optional<Winner> winner;
                if (result == "1-0")
                    winner = Winner::WHITE;
                else if (result == "0-1")
                    winner = Winner::BLACK;
                else if (result == "1/2-1/2")
                    winner = Winner::NONE;
                else if (result != "*")
                    throw nb::value_error("a result is 1-0, 0-1, 1/2-1/2 or *");
                if (reason.empty() || reason.size() > 4096) throw nb::value_error("a reason of 1 to 4096 characters");
                nb::gil_scoped_release release;
                self.forfeit(slot, winner, reason);
            },
            "slot"_a, "result"_a, "reason"_a, "End a game that needs a move of an external seat, as a referee.");
}

void bind_batches(nb::class_<Pool>& pool) {
    pool.def("idle", without_gil(&Pool::idle),
             "Return whether `gather` returns no leaves until evaluations or external moves arrive.")
        .def("games_to_evaluate", without_gil(&Pool::games_to_evaluate),
             "Return, for each evaluator, the number of games whose next leaves are in no batch.")
        .def_prop_ro(
            "event_count",
            [](const Pool& self) {
                nb::gil_scoped_release release;
                return self.event_count();
            },
            "Number of events so far: evaluations applied, external moves, games finished or added")
        .def(
            "wait_for_event",
            [](const Pool& self, std::uint64_t seen, double seconds) {
                nb::gil_scoped_release release;
                self.wait_for_event(seen, checked_seconds(seconds));
            },
            "seen"_a, "seconds"_a, "Block until `Pool.event_count` differs from `seen`, at most for `seconds`.")
        .def(
            "gather_into",
            [](Pool& self, LeafBuffers& buffers, std::uint8_t evaluator) {
                nb::gil_scoped_release release;
                buffers.size = 0;
                const Encoding& encoding = self.encoding(evaluator);
                if (encoding.bitboards != buffers.encoding.bitboards || encoding.scalars != buffers.encoding.scalars)
                    throw Error("SearchError", "memory for leaves of another encoding", "");
                buffers.ticket = self.gather(evaluator, [&](std::size_t rows, std::size_t max_moves) {
                    return buffers.allocate(rows, max_moves);
                });
            },
            "buffers"_a, "evaluator"_a = 0,
            "As `gather`, but write the batch into `buffers`. Its size is 0 if there is no batch now.")
        .def(
            "gather",
            [](Pool& self, std::uint8_t evaluator) {
                LeafBatch batch;
                {
                    nb::gil_scoped_release release;
                    batch = self.gather(evaluator);
                }
                return LeafArrays(std::move(batch));
            },
            "evaluator"_a = 0, "Return a batch of leaves for an evaluator, with a ticket; size 0 if there is none now.")
        .def(
            "run",
            [](Pool& self, const std::string& name) {
                const NativeEvaluator evaluator = native_evaluator(name);
                nb::gil_scoped_release release;
                self.run(evaluator);
            },
            "evaluator"_a, "Play all games to their end with 'uniform', 'fake' or 'heuristic-1'.");
}

void bind_state(nb::class_<Pool>& pool) {
    pool.def("done", without_gil(&Pool::done), "Return whether no game is queued or unfinished.")
        .def("drain", without_gil(&Pool::drain), "Remove and return the finished games, by id.")
        .def(
            "unfinished_games",
            [](const Pool& self, std::optional<std::size_t> most) {
                nb::gil_scoped_release release;
                return self.unfinished_games(most.value_or(SIZE_MAX));
            },
            "most"_a = nb::none(),
            "Return the games that are not over, with the moves so far, by id; `most`: only those with the smallest "
            "ids.")
        .def_prop_ro("playouts", without_gil(&Pool::playouts), "Visits of all finished searches")
        .def_prop_ro("searched_plies", without_gil(&Pool::searched_plies), "Moves that a search has chosen")
        .def_prop_ro("evaluators", &Pool::evaluators, "1 + the largest evaluator number of a seat with visits")
        .def(
            "encoding", [](const Pool& self, std::uint8_t evaluator) { return self.encoding(evaluator); },
            "evaluator"_a = 0, "Return the encoding of the leaves for an evaluator.")
        .def_static(
            "seconds_waited", &Pool::seconds_waited,
            "Return the seconds for which the last `gather` or `apply` of this thread waited for other threads.")
        .def_prop_ro("lane_rows", &Pool::lane_rows, "Leaves of a batch, at most")
        .def_prop_ro("finished_games", without_gil(&Pool::finished_games), "Finished games that are not drained yet");
}

}  // namespace

void bind_pool(nb::module_& m) {
    bind_seat(m);
    nb::class_<Pool> pool(
        m, "Pool",
        "Many games at once with batched evaluation: gather, evaluate, apply, drain. Self-play has one search for\n"
        "both sides, games between players have seats. Thread-safe.\n\n"
        ">>> pool = Pool('gardner', [Seat(visits=32), Seat(visits=0)], max_plies=60)\n"
        ">>> pool.start_games([('rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1', 0, 1)])\n"
        ">>> pool.run('heuristic-1')\n"
        ">>> [(record.white_seat, record.black_seat, record.result) for record in pool.drain()]\n"
        "[(0, 1, '1-0')]\n");
    bind_apply(pool);
    bind_construction(pool);
    bind_games(pool);
    bind_batches(pool);
    bind_state(pool);
}

}  // namespace selfmate
