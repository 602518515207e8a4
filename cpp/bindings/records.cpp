// Python: centipawns, ScoreRules, GameRecord.
#include <algorithm>
#include <cmath>

#include "bindings/bindings.h"
#include "data/record.h"

namespace selfmate {
namespace {

using Rule = std::optional<std::tuple<int, std::uint32_t, std::uint32_t>>;

std::optional<ScoreRule> checked_rule(const Rule& given) {
    if (!given) return std::nullopt;
    const auto [bound, moves, after] = *given;
    if (bound < 0 || bound > 100'000'000 || !moves || moves > 100'000)
        throw nb::value_error("centipawns from 0 to 100,000,000, moves from 1 to 100,000");
    return ScoreRule{.centipawns = bound, .moves = moves, .from_move = after};
}

void bind_scores(nb::module_& m) {
    m.def("centipawns", &centipawns, "value"_a,
          "Return a value (-1 to 1) in centipawns by lc0's formula, 90 tan(1.5637541897 value).\n\n"
          ">>> centipawns(0.0), centipawns(0.5), centipawns(-1.0)\n"
          "(0, 89, -12780)\n");
    nb::class_<ScoreRules>(
        m, "ScoreRules",
        "Adjudication by the players' scores. Each rule is (centipawns, moves, after): the bound must hold in the "
        "last\n"
        "`moves` moves of a side, from move number `after` on. `resign`: a side's own scores are at most -centipawns;\n"
        "`win`: both sides' scores agree on it; `draw`: both sides' scores are within +-centipawns.\n\n"
        ">>> rules = ScoreRules(resign=(600, 2, 0))\n"
        ">>> rules.end([30, -610, 25, -700], white_moved=False, number=2)\n"
        "('1-0', 'Black resigns by score')\n"
        ">>> rules.end([30, None, 25, -700], white_moved=False, number=2)\n")
        .def(
            "__init__",
            [](ScoreRules* self, const Rule& resign, const Rule& win, const Rule& draw) {
                new (self)
                    ScoreRules{.resign = checked_rule(resign), .win = checked_rule(win), .draw = checked_rule(draw)};
            },
            nb::kw_only(), "resign"_a = nb::none(), "win"_a = nb::none(), "draw"_a = nb::none())
        .def(
            "end",
            [](const ScoreRules& self, const std::vector<Score>& scores, bool white_moved,
               std::uint32_t number) -> std::optional<std::pair<std::string, std::string>> {
                const auto end = adjudicate(self, scores, white_moved ? WHITE : BLACK, number);
                if (!end) return std::nullopt;
                return std::pair<std::string, std::string>(result_text(end->winner), end->reason);
            },
            "scores"_a, "white_moved"_a, "number"_a,
            "Return (result, reason) or None. `scores`: of every move so far, for the side that moved, or None;\n"
            "`number`: the number of the last move, as in a score sheet.")
        .def("__getstate__",
             [](const ScoreRules& self) {
                 const auto fields = [](const std::optional<ScoreRule>& rule) {
                     return rule ? Rule({rule->centipawns, rule->moves, rule->from_move}) : std::nullopt;
                 };
                 return std::make_tuple(fields(self.resign), fields(self.win), fields(self.draw));
             })
        .def("__setstate__", [](ScoreRules& self, const std::tuple<Rule, Rule, Rule>& state) {
            const auto& [resign, win, draw] = state;
            new (&self)
                ScoreRules{.resign = checked_rule(resign), .win = checked_rule(win), .draw = checked_rule(draw)};
        });
}

void bind_record(nb::module_& m) {
    nb::class_<GameRecord>(m, "GameRecord",
                           "The stored form of a game: its moves, and the search results of its trained positions.")
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
            "None for a game that was truncated or is not over")
        .def_prop_ro("result",
                     [](const GameRecord& self) { return self.outcome ? result_text(self.outcome->winner) : "*"; })
        .def_prop_ro(
            "reason",
            [](const GameRecord& self) {
                if (!self.referee_reason.empty()) return self.referee_reason;
                return std::string(self.outcome ? phrase(self.outcome->termination) : "");
            },
            "Why the game ended, by the rules or by a referee; empty if it was truncated or is not over")
        .def_prop_ro(
            "judgement",
            [](const GameRecord& self) -> std::optional<std::pair<float, float>> {
                if (!self.judgement) return std::nullopt;
                return std::pair(self.judgement->value, self.judgement->draw);
            },
            "(value, share of draws) of the last position of a truncated game by a judge, for White; or None")
        .def(
            "judged",
            [](const GameRecord& self, float value, float draw) {
                if (!(std::abs(value) <= 1 && draw >= 0 && draw <= 1 - std::abs(value) + 1e-6f))
                    throw nb::value_error("a value from -1 to 1, and a share of draws up to 1 - |value|");
                if (self.outcome) throw nb::value_error("a game with a result needs no judgement");
                GameRecord copy = self;
                copy.judgement = Judgement{.value = value, .draw = std::clamp(draw, 0.0f, 1 - std::abs(value))};
                return copy;
            },
            "value"_a, "draw"_a,
            "Return the record of a truncated game with a judgement of its last position, for White.")
        .def_prop_ro(
            "resignation",
            [](const GameRecord& self) -> std::optional<std::pair<int, std::string>> {
                if (!self.resignation) return std::nullopt;
                return std::pair<int, std::string>(self.resignation->ply, result_text(winner(~self.resignation->side)));
            },
            "(ply, result) of the first resignation: the number of moves before it, and the result that it claims; or\n"
            "None. A game that was played out goes on from there, and may have another result.")
        .def_prop_ro(
            "scores", [](const GameRecord& self) { return std::vector<Score>(self.scores); },
            "Score of each move in centipawns for the side that moved, or None; empty after `from_bytes`,\n"
            "but for an unfinished game of self-play with resignation")
        .def_prop_ro(
            "values",
            [](const GameRecord& self) {
                std::vector<std::pair<int, float>> values;
                for (const TrainedPosition& position : self.positions)
                    values.emplace_back(position.ply, position.value);
                return values;
            },
            "(ply, value) of every trained position, for the side to move")
        .def_prop_ro(
            "positions", [](const GameRecord& self) { return self.positions.size(); }, "Number of trained positions")
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
                    entry["draw"] = position.draw;
                    entry["net_value"] = position.net_value;
                    entry["visits"] = visits;
                    entry["weights"] = weights;
                    list.append(entry);
                }
                return list;
            },
            nb::sig("def trained(self) -> list[dict[str, typing.Any]]"),
            "Return the trained positions: ply, value, draw, net_value, and visits and weights by move.")
        .def(
            "to_bytes",
            [](const GameRecord& self) {
                std::string bytes;
                {
                    nb::gil_scoped_release release;
                    bytes = write_record(self);
                }
                return nb::bytes(bytes.data(), bytes.size());
            },
            "Return the record as bytes.")
        .def_static(
            "from_bytes",
            [](nb::bytes bytes) {
                const std::string_view data(static_cast<const char*>(bytes.data()), bytes.size());
                nb::gil_scoped_release release;
                return read_record(data);
            },
            "data"_a, "Return the record of bytes. The game is replayed; invalid bytes raise RecordError.")
        .def("__getstate__",
             [](const GameRecord& self) {
                 const std::string bytes = write_record(self);
                 return std::make_tuple(nb::bytes(bytes.data(), bytes.size()), std::vector<Score>(self.scores));
             })
        .def("__setstate__", [](GameRecord& self, const std::tuple<nb::bytes, std::vector<Score>>& state) {
            const auto& [bytes, scores] = state;
            GameRecord record = read_record({static_cast<const char*>(bytes.data()), bytes.size()});
            record.scores = scores;
            new (&self) GameRecord(std::move(record));
        });
}

}  // namespace

void bind_records(nb::module_& m) {
    bind_scores(m);
    bind_record(m);
}

}  // namespace selfmate
