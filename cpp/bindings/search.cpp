// What Python sees of encoding and of one search, and the leaves that searches give away. Arrays are numpy arrays that
// own what they show; long work runs without the GIL.
#include <memory>

#include "bindings/bindings.h"

namespace selfmate {
namespace {

// Plies to a forced win (positive) or loss (negative), 0 for a draw, None while nothing is proven.
std::optional<int> proven(Proof proof) {
    if (!proof.known()) return std::nullopt;
    return proof.is_loss() ? -proof.plies() : proof.plies();
}

// One search on one position, and its tickets; or one position after another with the same tree.
class SingleSearch {
public:
    SingleSearch(const Position& position, const SearchConfig& config, std::uint32_t visits, std::uint64_t seed,
                 const std::vector<Move>& moves)
        : variant_(&position.variant()), encoding_(encoding_of(*variant_)) {
        check(position, moves);
        search.begin(*variant_, position.state(), history(position), config, visits, seed, moves);
    }

    bool move_to(const Position& position, const SearchConfig& config, std::uint32_t visits, std::uint64_t seed,
                 const std::vector<Move>& moves) {
        check(position, moves);
        abandon();
        variant_ = &position.variant();
        encoding_ = encoding_of(*variant_);
        return search.move_to(*variant_, position.state(), history(position), config, visits, seed, moves);
    }

    // Gives up everything that waits.
    void abandon() {
        for (const auto& [ticket, leaves] : tickets_)
            for (const std::uint32_t leaf : leaves) search.abandon(leaf);
        tickets_.clear();
    }

    Threads& threads(int count) {
        if (!threads_ || threads_->size() != count) threads_ = std::make_unique<Threads>(count);
        return *threads_;
    }

    LeafBatch gather(std::size_t max_leaves) {
        std::vector<std::uint32_t> leaves;
        for (std::size_t tries = 0; leaves.size() < max_leaves && tries < 4 * max_leaves + 64 && search.wants_playout();
             ++tries) {
            const Playout playout = search.playout();
            if (playout == Playout::LEAF) leaves.push_back(search.last_leaf());
            if (playout == Playout::BLOCKED) break;
        }
        LeafBatch batch(leaves.size(), encoding_);
        batch.ticket = next_ticket_++;
        const LeafRows rows = batch.rows();
        for (std::size_t row = 0; row < leaves.size(); ++row) rows.write(row, *variant_, search, leaves[row]);
        if (batch.size) tickets_.emplace_back(batch.ticket, std::move(leaves));
        return batch;
    }

    void apply(std::uint64_t ticket, std::size_t size, const float* priors, std::size_t stride, const float* wdl) {
        if (const auto open = find(ticket); open != tickets_.end() && open->second.size() != size)
            throw Error("SearchError",
                        "ticket " + std::to_string(ticket) + " has " + std::to_string(open->second.size()) +
                            " rows, not " + std::to_string(size),
                        std::to_string(size));
        const std::vector<std::uint32_t> leaves = close(ticket);
        for (std::size_t row = 0; row < size; ++row)
            search.apply(leaves[row], {priors + row * stride, stride}, wdl + row * 3);
    }

    void apply(std::uint64_t ticket, NativeEvaluator evaluator) {
        for (const std::uint32_t leaf : close(ticket)) search.answer(leaf, evaluator);
    }

    Search search;

private:
    static void check(const Position& position, const std::vector<Move>& moves) {
        if (!position.variant().count_moves(position.state()))
            throw Error("SearchError", "there is no move to search for: the game is over",
                        position.fen(Castling::X_FEN));
        for (const Move move : moves)
            if (!position.is_legal(move))
                throw Error("IllegalMove", in_quotes(write_move(move)) + " is not legal here", write_move(move));
    }
    static std::span<const Key> history(const Position& position) {
        const std::span<const Key> keys = position.past_keys();
        return keys.last(std::min<std::size_t>(position.state().halfmove_clock, keys.size()));
    }

    using Tickets = std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>>;

    Tickets::iterator find(std::uint64_t ticket) {
        return std::find_if(tickets_.begin(), tickets_.end(), [&](const auto& each) { return each.first == ticket; });
    }
    std::vector<std::uint32_t> close(std::uint64_t ticket) {
        const auto found = find(ticket);
        if (found == tickets_.end())
            throw Error("SearchError", "ticket " + std::to_string(ticket) + " is not open", std::to_string(ticket));
        std::vector<std::uint32_t> leaves = std::move(found->second);
        tickets_.erase(found);
        return leaves;
    }

    const Variant* variant_;
    Encoding encoding_;
    Tickets tickets_;
    std::uint64_t next_ticket_ = 1;
    std::unique_ptr<Threads> threads_;
};

struct SearchedMove {
    MoveStats stats;
    std::vector<Move> pv;
};

struct SearchResult {
    std::vector<SearchedMove> moves;
    std::uint32_t visits, collisions, seldepth;
    float value, net_value;
    std::tuple<float, float, float> wdl;
    std::optional<int> proven_plies;
    double depth;
    std::size_t nodes, edges, bytes;
};

// What is known at the root, or at another node.
SearchResult result_of(const Search& search, std::uint32_t at = 0) {
    SearchResult result;
    const Node& node = search.tree().nodes[at];
    const Edge* const edges = search.tree().edges_of(node);
    const Proof proof = search.proof(at);
    for (const MoveStats& stats : search.moves(at)) {
        std::size_t edge = 0;
        while (edges[edge].move != stats.move) ++edge;
        result.moves.push_back({stats, search.principal_variation(edge, at)});
    }
    result.visits = at ? node.visits : search.visits();
    result.collisions = search.collisions();
    result.seldepth = search.max_depth();
    result.depth = static_cast<double>(search.depth_sum()) / std::max(1u, search.visits());
    result.value = proof.known() ? proof.value() : node.value;
    result.net_value = node.net_value;
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

void bind_encoding(nb::module_& m) {
    nb::class_<Encoding>(m, "Encoding", "Sizes of a variant's inputs and policy (see cpp/encode.h).")
        .def_ro("variant", &Encoding::variant)
        .def_ro("files", &Encoding::files)
        .def_ro("ranks", &Encoding::ranks)
        .def_ro("planes", &Encoding::planes)
        .def_ro("policy_size", &Encoding::policy_size)
        .def_ro("max_moves", &Encoding::max_moves)
        .def_prop_ro("bitboards", [](const Encoding&) { return BITBOARDS; })
        .def_prop_ro("scalars", [](const Encoding&) { return SCALARS; });
    m.def(
        "encoding", [](const std::string& name) { return encoding_of(*resolve_variant(name).variant); }, "variant"_a,
        ">>> encoding('gardner').planes, encoding('chess').planes, encoding('antichess').planes\n"
        "(49, 73, 76)\n");
    m.def(
        "encode",
        [](const Position& position) {
            const Variant& variant = position.variant();
            std::vector<Bitboard> bits(BITBOARDS);
            std::vector<float> scalars(SCALARS);
            std::vector<std::uint16_t> moves;
            encode(variant, position.state(), position.repetitions() > 1, bits.data(), scalars.data());
            for (const Move move : position.legal_moves())
                moves.push_back(move_index(variant, move, position.state().turn));
            const std::size_t count = moves.size();
            return std::make_tuple(to_numpy<Column<Bitboard>>(std::move(bits), {std::size_t(BITBOARDS)}),
                                   to_numpy<Column<float>>(std::move(scalars), {std::size_t(SCALARS)}),
                                   to_numpy<Column<std::uint16_t>>(std::move(moves), {count}));
        },
        "position"_a, "Bitboards, scalars, and the policy index of each legal move in the order of `legal_moves`.");
    m.def(
        "move_index",
        [](const Position& position, Move move) {
            return move_index(position.variant(), position.normalise(move), position.state().turn);
        },
        "position"_a, "move"_a, "Policy index of a legal move.");
    m.def(
        "index_move",
        [](const Position& position, int index) {
            for (const Move move : position.legal_moves())
                if (move_index(position.variant(), move, position.state().turn) == index) return move;
            throw Error("IllegalMove", "no legal move has the index " + std::to_string(index), std::to_string(index));
        },
        "position"_a, "index"_a, "The legal move that has a policy index.");
    m.def(
        "mirror_index",
        [](const std::string& name, std::uint16_t index) {
            const Variant& variant = *resolve_variant(name).variant;
            if (index >= encoding_of(variant).policy_size) throw nb::index_error("no such policy index");
            return mirror_index(variant, index);
        },
        "variant"_a, "index"_a, "The policy index with left and right exchanged.");
    m.def(
        "mirror_squares",
        [](const std::string& name, Bitboard squares) { return mirror(*resolve_variant(name).variant, squares); },
        "variant"_a, "squares"_a, "A set of squares with left and right exchanged.");
    m.def(
        "evaluate",
        [](const Position& position, const std::string& name) {
            const NativeEvaluator evaluator = native_evaluator(name);
            const MoveList moves = position.legal_moves();
            std::vector<float> priors(moves.size()), wdl(3);
            const Key key = encoded_key(position.state(), position.repetitions() > 1);
            evaluator(position.variant(), position.state(), key, {moves.begin(), moves.end()}, priors.data(),
                      wdl.data());
            const std::size_t count = priors.size();
            return std::make_tuple(to_numpy<Column<float>>(std::move(priors), {count}),
                                   to_numpy<Column<float>>(std::move(wdl), {std::size_t(3)}));
        },
        "position"_a, "evaluator"_a, "Priors of the legal moves and win, draw, loss, as a native evaluator sees them.");
}

void bind_batches(nb::module_& m) {
    nb::class_<Leaves>(m, "Leaves",
                       "Positions that wait for an evaluator: bits[B, P], scalars[B, S], moves[B, M], counts[B].")
        .def_ro("ticket", &Leaves::ticket)
        .def_ro("size", &Leaves::size)
        .def_ro("bits", &Leaves::bits, nb::rv_policy::reference)
        .def_ro("scalars", &Leaves::scalars, nb::rv_policy::reference)
        .def_ro("moves", &Leaves::moves, nb::rv_policy::reference)
        .def_ro("counts", &Leaves::counts, nb::rv_policy::reference)
        .def_ro("keys", &Leaves::keys, nb::rv_policy::reference);
    nb::class_<LeafRoom>(
        m, "LeafRoom",
        "Memory for leaves that stays where it is (a device reads it, say): flat arrays with room for\n"
        "so many rows. A batch has the first of `widths` that holds the moves of every row.")
        .def(
            "__init__",
            [](LeafRoom* self, LeafRoom::Bits bits, LeafRoom::Scalars scalars, LeafRoom::Moves moves,
               LeafRoom::Moves counts, std::vector<std::size_t> widths) {
                const std::size_t rows = counts.shape(0);
                if (widths.empty() || !std::is_sorted(widths.begin(), widths.end()) ||
                    bits.shape(0) < rows * BITBOARDS || scalars.shape(0) < rows * SCALARS ||
                    moves.shape(0) < rows * widths.back())
                    throw nb::value_error("bits, scalars and moves need room for as many rows as counts");
                new (self) LeafRoom{bits, scalars, moves, counts, std::move(widths), rows, std::vector<Key>(rows)};
            },
            "bits"_a.noconvert(), "scalars"_a.noconvert(), "moves"_a.noconvert(), "counts"_a.noconvert(), "widths"_a)
        .def_ro("size", &LeafRoom::size, "Rows of the last gather")
        .def_ro("width", &LeafRoom::width, "Moves that its rows have room for")
        .def_ro("ticket", &LeafRoom::ticket);
}

void bind_single_search(nb::module_& m) {
    nb::class_<SearchConfig>(m, "SearchConfig", "How to search; every value has a default (see cpp/search.h).")
        .def(
            "__init__",
            [](SearchConfig* self, float cpuct, float fpu_reduction, float draw_score, int virtual_loss, bool gumbel,
               int considered, float gumbel_scale, float value_scale, float maxvisit_init, float noise_alpha,
               float noise_epsilon, bool stop_when_proven, std::uint64_t max_bytes, bool lcb) {
                if (considered < 1 || virtual_loss < 0 || noise_alpha <= 0)
                    throw nb::value_error("considered >= 1, virtual_loss >= 0, noise_alpha > 0");
                new (self) SearchConfig{
                    cpuct,       fpu_reduction, draw_score,  virtual_loss,  gumbel,           considered, gumbel_scale,
                    value_scale, maxvisit_init, noise_alpha, noise_epsilon, stop_when_proven, max_bytes,  lcb};
            },
            nb::kw_only(), "cpuct"_a = SearchConfig{}.cpuct, "fpu_reduction"_a = SearchConfig{}.fpu_reduction,
            "draw_score"_a = 0.0f, "virtual_loss"_a = 1, "gumbel"_a = false, "considered"_a = 16,
            "gumbel_scale"_a = 1.0f, "value_scale"_a = 0.1f, "maxvisit_init"_a = 50.0f, "noise_alpha"_a = 0.3f,
            "noise_epsilon"_a = 0.0f, "stop_when_proven"_a = true, "max_bytes"_a = SearchConfig{}.max_bytes,
            "lcb"_a = false)
        .def_ro("gumbel", &SearchConfig::gumbel)
        .def_ro("cpuct", &SearchConfig::cpuct);
    nb::class_<SearchedMove>(m, "MoveStats", "What a search found out about one move at the root.")
        .def_prop_ro("move", [](const SearchedMove& self) { return self.stats.move; })
        .def_prop_ro("visits", [](const SearchedMove& self) { return self.stats.visits; })
        .def_prop_ro(
            "value", [](const SearchedMove& self) { return self.stats.value; }, "For the side to move, -1 to 1")
        .def_prop_ro("draw", [](const SearchedMove& self) { return self.stats.draw; })
        .def_prop_ro("prior", [](const SearchedMove& self) { return self.stats.prior; })
        .def_prop_ro(
            "weight", [](const SearchedMove& self) { return self.stats.weight; }, "In the improved policy")
        .def_prop_ro(
            "proven", [](const SearchedMove& self) { return proven(self.stats.proof); },
            "Plies to a forced win (positive) or loss (negative), 0 for a draw, None while nothing is proven")
        .def_prop_ro(
            "net_value", [](const SearchedMove& self) { return self.stats.net_value; },
            "The evaluator's value of the position behind the move, for the side to move at the root, or None")
        .def_prop_ro("pv", [](const SearchedMove& self) { return std::vector<Move>(self.pv); });
    nb::class_<SearchResult>(m, "SearchResult", "What a search found, its moves best first.")
        .def_prop_ro("moves", [](const SearchResult& self) { return std::vector<SearchedMove>(self.moves); })
        .def_prop_ro("best", [](const SearchResult& self) { return self.moves.front().stats.move; })
        .def_prop_ro("pv", [](const SearchResult& self) { return std::vector<Move>(self.moves.front().pv); })
        .def_ro("visits", &SearchResult::visits)
        .def_ro("value", &SearchResult::value)
        .def_ro("net_value", &SearchResult::net_value)
        .def_ro("wdl", &SearchResult::wdl)
        .def_ro("proven", &SearchResult::proven_plies)
        .def_ro("depth", &SearchResult::depth)
        .def_ro("seldepth", &SearchResult::seldepth)
        .def_ro("nodes", &SearchResult::nodes)
        .def_ro("edges", &SearchResult::edges)
        .def_ro("bytes", &SearchResult::bytes)
        .def_ro("collisions", &SearchResult::collisions);
    nb::class_<SingleSearch> search(m, "Search",
                                    "One tree on one position: gather leaves, evaluate them, apply, until done.\n\n"
                                    ">>> search = Search(Position('atomic'), SearchConfig(), visits=100)\n"
                                    ">>> search.run('heuristic-1')\n"
                                    ">>> search.result().visits\n"
                                    "100\n");
    bind_answers(search);
    search
        .def(nb::init<const Position&, const SearchConfig&, std::uint32_t, std::uint64_t, const std::vector<Move>&>(),
             "position"_a, "config"_a, "visits"_a, "seed"_a = 0, "moves"_a = std::vector<Move>{})
        .def(
            "move_to",
            [](SingleSearch& self, const Position& position, const SearchConfig& config, std::uint32_t visits,
               std::uint64_t seed, const std::vector<Move>& moves) {
                nb::gil_scoped_release release;
                return self.move_to(position, config, visits, seed, moves);
            },
            "position"_a, "config"_a, "visits"_a, "seed"_a = 0, "moves"_a = std::vector<Move>{},
            "Begin a new search on a position, with what is known of it if it lies at most two plies below the last\n"
            "root; says whether it does. `moves` are the only ones to consider, if there are any.\n\n"
            ">>> position = Position('chess')\n"
            ">>> search = Search(position, SearchConfig(), 1000)\n"
            ">>> search.run('heuristic-1')\n"
            ">>> _ = position.play(search.result().best)\n"
            ">>> search.move_to(position, SearchConfig(), 1000), search.visits, search.result().nodes > 100\n"
            "(True, 0, True)\n")
        .def(
            "abandon", [](SingleSearch& self) { self.abandon(); }, "Give up every ticket that is open.")
        .def(
            "full", [](const SingleSearch& self) { return self.search.full(); }, "Whether the tree is at its limit.")
        .def(
            "prune",
            [](SingleSearch& self) {
                self.abandon();
                nb::gil_scoped_release release;
                self.search.prune();
            },
            "Give up the less visited half of the tree; every open ticket is given up too.")
        .def(
            "gather",
            [](SingleSearch& self, std::size_t max_leaves) {
                LeafBatch batch;
                {
                    nb::gil_scoped_release release;
                    batch = self.gather(max_leaves);
                }
                return Leaves(std::move(batch));
            },
            "max_leaves"_a)
        .def(
            "run",
            [](SingleSearch& self, const std::string& name, std::optional<std::uint32_t> visits) {
                const NativeEvaluator evaluator = native_evaluator(name);
                nb::gil_scoped_release release;
                self.search.run(evaluator, visits.value_or(0xffffffff));
            },
            "evaluator"_a, "visits"_a = nb::none(),
            "The search with 'uniform', 'fake' or 'heuristic-1', to its end or for so many more visits.")
        .def(
            "run_for",
            [](SingleSearch& self, double seconds, const std::string& name, std::uint32_t visits, int threads) {
                const NativeEvaluator evaluator = native_evaluator(name);
                if (threads < 1 || threads > 1024) throw nb::value_error("threads go from 1 to 1024");
                nb::gil_scoped_release release;
                self.search.run_for(seconds, evaluator, visits, self.threads(threads));
            },
            "seconds"_a, "evaluator"_a, "visits"_a = 0xffffffff, "threads"_a = 1,
            "The search with 'uniform', 'fake' or 'heuristic-1' for a short time, to so many more visits, or until "
            "the\n"
            "tree is full.")
        .def("done", [](const SingleSearch& self) { return self.search.done(); })
        .def_prop_ro("visits", [](const SingleSearch& self) { return self.search.visits(); })
        .def_prop_ro(
            "bytes", [](const SingleSearch& self) { return self.search.tree().bytes(); }, "What the tree takes")
        .def(
            "is_rooted",
            [](const SingleSearch& self) { return !self.search.tree().nodes.empty() && !self.search.root().waiting; },
            "Whether the root has been evaluated, so that there is a result.")
        .def("result",
             [](const SingleSearch& self) {
                 if (self.search.tree().nodes.empty() || self.search.root().waiting)
                     throw Error("SearchError", "the root has not been evaluated yet", "");
                 return result_of(self.search);
             })
        .def(
            "result_after",
            [](const SingleSearch& self, Move move) -> std::optional<SearchResult> {
                if (self.search.tree().nodes.empty() || self.search.root().waiting) return std::nullopt;
                const std::uint32_t at = self.search.node_behind(move);
                if (at == NO_NODE || !self.search.tree().nodes[at].edges || self.search.tree().nodes[at].waiting)
                    return std::nullopt;
                return result_of(self.search, at);
            },
            "move"_a, "What was found about the position after a move at the root, or None.");
}

}  // namespace

void bind_search(nb::module_& m) {
    bind_encoding(m);
    bind_batches(m);
    bind_single_search(m);
}

}  // namespace selfmate
