// Python: MoveStats, SearchResult, Search, Nnue, AlphaBetaResult, alpha_beta.
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/search_tree.h"
#include "bindings/single_search.h"
#include "search/alpha_beta.h"

namespace selfmate {
namespace {

// Plies to a forced win (positive) or loss (negative), 0 for a draw, None while nothing is proven.
std::optional<int> proven(Proof proof) {
    if (!proof.known()) return std::nullopt;
    return proof.is_loss() ? -proof.plies() : proof.plies();
}

struct SearchedMove {
    MoveStats stats;
    std::vector<Move> pv;
};

struct SearchResult {
    std::vector<SearchedMove> moves;
    std::uint32_t visits, collisions, seldepth;
    float value;
    std::optional<float> net_value;
    std::tuple<float, float, float> wdl;
    std::optional<int> proven_plies;
    double depth;
    std::size_t nodes, edges, bytes;
};

// The result at the root or at another node.
SearchResult result_of(const Search& search, std::uint32_t at = 0) {
    SearchResult result;
    const Node& node = search.tree().nodes[at];
    const Edge* const edges = search.tree().edges_of(node);
    const Proof proof = search.proof(at);
    for (const MoveStats& stats : search.moves(at)) {
        std::size_t edge = 0;
        while (edges[edge].move != stats.move) ++edge;
        result.moves.push_back({.stats = stats, .pv = search.principal_variation(edge, at)});
    }
    result.visits = at ? node.visits : search.visits();
    result.collisions = search.collisions();
    result.seldepth = search.max_depth();
    result.depth = static_cast<double>(search.depth_sum()) / std::max(1u, search.visits());
    result.value = proof.known() ? proof.value() : node.value;
    if (!node.by_rules) result.net_value = node.net_value;
    result.proven_plies = proven(proof);
    result.nodes = search.tree().nodes.size();
    result.edges = search.tree().edges.size();
    result.bytes = search.tree().bytes();
    float draw = 0;
    std::uint32_t visits = 0;
    for (const SearchedMove& move : result.moves) {
        draw += move.stats.draw * static_cast<float>(move.stats.visits);
        visits += move.stats.visits;
    }
    draw = proof.known() ? (proof.is_draw() ? 1.0f : 0.0f) : draw / static_cast<float>(std::max(1u, visits));
    draw = std::min(draw, 1 - std::abs(result.value));
    result.wdl = {(1 - draw + result.value) / 2, draw, (1 - draw - result.value) / 2};
    return result;
}

void bind_results(nb::module_& m) {
    nb::class_<SearchedMove>(m, "MoveStats", "The search result of one move.")
        .def_prop_ro("move", [](const SearchedMove& self) { return self.stats.move; })
        .def_prop_ro("visits", [](const SearchedMove& self) { return self.stats.visits; })
        .def_prop_ro(
            "value", [](const SearchedMove& self) { return self.stats.value; },
            "Mean value for the side to move, -1 to 1")
        .def_prop_ro("draw", [](const SearchedMove& self) { return self.stats.draw; })
        .def_prop_ro("prior", [](const SearchedMove& self) { return self.stats.prior; })
        .def_prop_ro(
            "weight", [](const SearchedMove& self) { return self.stats.weight; },
            "In the improved policy; the weights of all moves sum to 1")
        .def_prop_ro(
            "proven", [](const SearchedMove& self) { return proven(self.stats.proof); },
            "Plies to a forced win (positive) or loss (negative), 0 for a draw, None while nothing is proven")
        .def_prop_ro(
            "net_value", [](const SearchedMove& self) { return self.stats.net_value; },
            "The evaluator's value of the position behind the move, for the side to move at the root, or None")
        .def_prop_ro("pv", [](const SearchedMove& self) { return std::vector<Move>(self.pv); });
    nb::class_<SearchResult>(m, "SearchResult", "The result of a search; `moves` are sorted best first.")
        .def_prop_ro("moves", [](const SearchResult& self) { return std::vector<SearchedMove>(self.moves); })
        .def_prop_ro("best", [](const SearchResult& self) { return self.moves.front().stats.move; })
        .def_prop_ro("pv", [](const SearchResult& self) { return std::vector<Move>(self.moves.front().pv); })
        .def_ro("visits", &SearchResult::visits)
        .def_ro("value", &SearchResult::value)
        .def_ro("net_value", &SearchResult::net_value,
                "The evaluator's value of the position; None where the rules decided it before the evaluator was asked")
        .def_ro("wdl", &SearchResult::wdl)
        .def_ro("proven", &SearchResult::proven_plies)
        .def_ro("depth", &SearchResult::depth)
        .def_ro("seldepth", &SearchResult::seldepth)
        .def_ro("nodes", &SearchResult::nodes)
        .def_ro("edges", &SearchResult::edges)
        .def_ro("bytes", &SearchResult::bytes)
        .def_ro("collisions", &SearchResult::collisions);
}

void bind_single_search(nb::module_& m) {
    nb::class_<SingleSearch> search(m, "Search",
                                    "One search tree. Until `done`: gather leaves, evaluate them, apply.\n\n"
                                    ">>> search = Search(Position('atomic'), SearchConfig(), visits=100)\n"
                                    ">>> search.run('heuristic-1')\n"
                                    ">>> search.result().visits\n"
                                    "100\n");
    bind_apply(search);
    search
        .def(nb::init<const Position&, const SearchConfig&, std::uint32_t, std::uint64_t, const std::vector<Move>&,
                      const std::optional<Encoding>&>(),
             "position"_a, "config"_a, "visits"_a, "seed"_a = 0, "moves"_a = std::vector<Move>{},
             "encoding"_a = nb::none())
        .def(
            "move_to",
            [](SingleSearch& self, const Position& position, const SearchConfig& config, std::uint32_t visits,
               std::uint64_t seed, const std::vector<Move>& moves) {
                nb::gil_scoped_release release;
                return self.move_to(position, config, visits, seed, moves);
            },
            "position"_a, "config"_a, "visits"_a, "seed"_a = 0, "moves"_a = std::vector<Move>{},
            "Begin a search of another position. Keep the position's subtree, and return True, if it is in the tree\n"
            "at most two plies below the last root. `moves`: the only root moves to consider; all if empty.\n\n"
            ">>> position = Position('chess')\n"
            ">>> search = Search(position, SearchConfig(), 1000)\n"
            ">>> search.run('heuristic-1')\n"
            ">>> _ = position.play(search.result().best)\n"
            ">>> search.move_to(position, SearchConfig(), 1000), search.visits, search.result().nodes > 100\n"
            "(True, 0, True)\n")
        .def(
            "abandon", [](SingleSearch& self) { self.abandon(); }, "Abandon the leaves of all open tickets.")
        .def(
            "full", [](const SingleSearch& self) { return self.search.full(); },
            "Return whether the tree exceeds `max_bytes`.")
        .def(
            "prune",
            [](SingleSearch& self) {
                self.abandon();
                nb::gil_scoped_release release;
                self.search.prune();
            },
            "Remove the least visited nodes until the tree has half of `max_bytes`. Abandons all open tickets.")
        .def(
            "gather",
            [](SingleSearch& self, std::size_t max_leaves) {
                LeafBatch batch;
                {
                    nb::gil_scoped_release release;
                    batch = self.gather(max_leaves);
                }
                return LeafArrays(std::move(batch));
            },
            "max_leaves"_a, "Select up to `max_leaves` leaves and return them as a batch with a ticket.")
        .def(
            "run",
            [](SingleSearch& self, const std::string& name, std::optional<std::uint32_t> visits) {
                const NativeEvaluator evaluator = native_evaluator(name);
                nb::gil_scoped_release release;
                self.search.run(evaluator, visits.value_or(0xffffffff));
            },
            "evaluator"_a, "visits"_a = nb::none(),
            "Search with 'uniform', 'fake' or 'heuristic-1' until done, or for `visits` more visits.")
        .def(
            "run_for",
            [](SingleSearch& self, double seconds, const std::string& name, std::uint32_t visits, int threads) {
                const NativeEvaluator evaluator = native_evaluator(name);
                if (threads < 1 || threads > 1024) throw nb::value_error("threads go from 1 to 1024");
                nb::gil_scoped_release release;
                self.search.run_for(seconds, evaluator, visits, self.threads(threads));
            },
            "seconds"_a, "evaluator"_a, "visits"_a = 0xffffffff, "threads"_a = 1,
            "Search with 'uniform', 'fake' or 'heuristic-1' until done, for `visits` more visits or `seconds`, or "
            "until\n"
            "the tree is full.")
        .def("done", [](const SingleSearch& self) { return self.search.done(); })
        .def_prop_ro("visits", [](const SingleSearch& self) { return self.search.visits(); })
        .def_prop_ro(
            "bytes", [](const SingleSearch& self) { return self.search.tree().bytes(); }, "Size of the tree in bytes")
        .def(
            "is_rooted",
            [](const SingleSearch& self) {
                return !self.search.tree().nodes.empty() && !self.search.root().unevaluated;
            },
            "Return whether the root is evaluated, so that there is a result.")
        .def(
            "result",
            [](const SingleSearch& self) {
                if (self.search.tree().nodes.empty() || self.search.root().unevaluated)
                    throw Error("SearchError", "the root has not been evaluated yet", "");
                return result_of(self.search);
            },
            "Return the result at the root. Raises SearchError if it is not evaluated.")
        .def(
            "result_after",
            [](const SingleSearch& self, Move move) -> std::optional<SearchResult> {
                if (self.search.tree().nodes.empty() || self.search.root().unevaluated) return std::nullopt;
                const std::uint32_t at = self.search.root_child(move);
                if (at == NO_NODE || !self.search.tree().nodes[at].edges || self.search.tree().nodes[at].unevaluated)
                    return std::nullopt;
                return result_of(self.search, at);
            },
            "move"_a, "Return the result at the position after a root move, or None if it is not evaluated.")
        .def(
            "tree_rows",
            [](const SingleSearch& self, std::uint32_t max_depth, std::size_t max_nodes, std::uint32_t min_visits) {
                if (self.search.tree().nodes.empty() || self.search.root().unevaluated)
                    throw Error("SearchError", "the root has not been evaluated yet", "");
                return tree_rows(self.search, max_depth, max_nodes, min_visits);
            },
            "max_depth"_a, "max_nodes"_a, "min_visits"_a,
            "Return the root and the moves below it, the most visited first: row of the parent, depth, move, visits,\n"
            "value, draw, prior, net_value, proven, seen by the side to move at the root. Raises SearchError if the\n"
            "root is not evaluated.");
}

// Copies an array of the caller into a part of the weights, which has its size.
template <class T>
void copy_weights(nb::handle array, const char* name, std::initializer_list<std::size_t> shape, T* to) {
    const auto from = checked_array<const T>(array, name, shape, "EvaluatorError");
    std::size_t size = 1;
    for (const std::size_t length : shape) size *= length;
    std::copy_n(from.data, size, to);
}

void bind_nnue(nb::module_& m) {
    nb::class_<NnueWeights>(m, "Nnue", "An efficiently updatable net, the evaluation of `alpha_beta`. Immutable.")
        .def(
            "__init__",
            [](NnueWeights* self, nb::object features, nb::object bias, nb::object output, nb::object output_bias,
               int scale) {
                auto weights = std::make_unique<NnueWeights>();
                copy_weights(features, "features", {NNUE_FEATURES, NNUE_HIDDEN}, &weights->features[0][0]);
                copy_weights(bias, "bias", {NNUE_HIDDEN}, weights->bias);
                copy_weights(output, "output", {NNUE_BUCKETS, 2 * NNUE_HIDDEN}, &weights->output[0][0]);
                copy_weights(output_bias, "output_bias", {NNUE_BUCKETS}, weights->output_bias);
                weights->scale = scale;
                if (!nnue_fits(*weights))
                    throw Error("EvaluatorError", "weights of an NNUE that are too large for its integers", "");
                new (self) NnueWeights(*weights);
            },
            nb::kw_only(), "features"_a, "bias"_a, "output"_a, "output_bias"_a, "scale"_a,
            nb::sig("def __init__(self, *, features: NDArray[numpy.int16], bias: NDArray[numpy.int16], output: "
                    "NDArray[numpy.int16], output_bias: NDArray[numpy.int32], scale: int) -> None"),
            "`features` int16[768, H], `bias` int16[H], `output` int16[8, 2 H], `output_bias` int32[8]; `scale`:\n"
            "centipawns for an output of one, 1 to 10,000. Raises EvaluatorError for other arrays, and for weights "
            "whose\n"
            "sums may overflow.")
        .def(
            "evaluate",
            [](const NnueWeights& self, const Position& position) {
                return NnueLine(self, position.variant(), 0).evaluate(position.state(), 0);
            },
            "position"_a, "Return the evaluation of a position in centipawns, for the side to move.")
        .def_ro("scale", &NnueWeights::scale,
                "Centipawns for an output of one, whose sigmoid is the expected score: a score s has the value\n"
                "tanh(s / (2 scale)), -1 to 1.");
    m.attr("NNUE_HIDDEN") = NNUE_HIDDEN;
    m.attr("NNUE_BUCKETS") = NNUE_BUCKETS;
    m.attr("NNUE_ACTIVATION_ONE") = ACTIVATION_ONE;
    m.attr("NNUE_OUTPUT_ONE") = OUTPUT_ONE;
}

void bind_alpha_beta(nb::module_& m) {
    nb::class_<AlphaBetaResult>(m, "AlphaBetaResult", "The result of `alpha_beta`.")
        .def_ro("score", &AlphaBetaResult::score,
                "Centipawns for the side to move; a forced win in n plies is 1,000,000 - n")
        .def_ro("depth", &AlphaBetaResult::depth, "Of the deepest iteration that was finished")
        .def_ro("best", &AlphaBetaResult::best)
        .def_ro("nodes", &AlphaBetaResult::nodes)
        .def_ro("scores", &AlphaBetaResult::scores, "The score of each depth, from 1 on");
    m.def(
        "alpha_beta",
        [](const Position& position, int depth, std::uint64_t nodes, const NnueWeights* net, bool exact) {
            if (depth < 1 || depth > MAX_ALPHA_BETA_DEPTH) throw nb::value_error("depth goes from 1 to 64");
            if (position.outcome(false))
                throw Error("SearchError", "there is no move to search for: the game is over",
                            position.fen(position.own_castling()));
            nb::gil_scoped_release release;
            return alpha_beta(position.variant(), position.state(), depth, nodes, net, exact);
        },
        "position"_a, "depth"_a, "nodes"_a, "net"_a.none() = nb::none(), nb::kw_only(), "exact"_a = false,
        "Search a position by alpha-beta with the evaluation of a net, or of heuristic-1, until `depth` is reached or\n"
        "`nodes` positions are searched; one ply at least. Repetitions count within the search alone. A game that is "
        "over\n"
        "raises SearchError. `exact`: nothing is pruned, reduced or extended.\n\n"
        ">>> result = alpha_beta(Position('chess', '7k/8/5K2/8/8/8/8/6Q1 w - - 0 1'), depth=4, nodes=10_000)\n"
        ">>> result.best, result.score\n"
        "(Move.from_uci('g1g7'), 999999)\n");
}

}  // namespace

void bind_search(nb::module_& m) {
    bind_results(m);
    bind_nnue(m);
    bind_alpha_beta(m);
    bind_single_search(m);
}

}  // namespace selfmate
