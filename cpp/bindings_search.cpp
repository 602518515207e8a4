// What Python sees of encoding, search, self-play and the learner's window. Arrays are numpy arrays that own
// what they show; long work runs without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <thread>

#include "buffer.h"
#include "error.h"
#include "pool.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace selfmate {
namespace {

template <class T>
using Matrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;
template <class T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Hands a vector over to numpy.
template <class Array, class T>
Array to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(values));
    const nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
    return Array(owned->data(), shape, owner);
}

// A batch of leaves or samples as Python holds it: made once, then only read.
struct Leaves {
    std::uint64_t ticket;
    std::size_t size;
    Matrix<Bitboard> bits;
    Matrix<float> scalars;
    Matrix<std::uint16_t> moves;
    Column<std::uint16_t> counts;
    Column<Key> keys;

    explicit Leaves(LeafBatch&& batch)
        : ticket(batch.ticket),
          size(batch.size),
          bits(to_numpy<Matrix<Bitboard>>(std::move(batch.bits), {size, std::size_t(BITBOARDS)})),
          scalars(to_numpy<Matrix<float>>(std::move(batch.scalars), {size, std::size_t(SCALARS)})),
          moves(to_numpy<Matrix<std::uint16_t>>(std::move(batch.moves), {size, batch.width})),
          counts(to_numpy<Column<std::uint16_t>>(std::move(batch.counts), {size})),
          keys(to_numpy<Column<Key>>(std::move(batch.keys), {size})) {}
};

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

// Memory that somebody else owns, for leaves to be written into: flat arrays with room for some rows.
struct LeafRoom {
    using Bits = nb::ndarray<Bitboard, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Scalars = nb::ndarray<float, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Moves = nb::ndarray<std::uint16_t, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    Bits bits;
    Scalars scalars;
    Moves moves, counts;
    std::vector<std::size_t> widths;  // that a batch may have, rising
    std::size_t rows;
    std::vector<Key> keys;
    std::size_t size = 0, width = 0;
    std::uint64_t ticket = 0;

    LeafRows place(std::size_t wanted, std::size_t most_moves) {
        if (wanted > rows)
            throw Error("SearchError", "room for " + std::to_string(rows) + " leaves, not " + std::to_string(wanted),
                        std::to_string(wanted));
        size = wanted;
        width = widths.back();
        for (const std::size_t each : widths)
            if (most_moves <= each) width = std::min(width, each);
        return {bits.data(), scalars.data(), moves.data(), counts.data(), keys.data(), width};
    }
};

NativeEvaluator native_evaluator(const std::string& name) {
    if (const NativeEvaluator evaluator = find_native_evaluator(name)) return evaluator;
    throw Error("SearchError",
                "no native evaluator is called " + in_quotes(name) + "; there are uniform, fake and heuristic-1", name);
}

int thread_count(int threads) {
    if (threads < 0 || threads > 1024) throw nb::value_error("threads go from 0 (all) to 1024");
    return threads ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

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

void check_answer(const FloatMatrix& priors, const FloatMatrix& wdl) {
    if (priors.shape(0) != wdl.shape(0) || wdl.shape(1) != 3)
        throw nb::value_error("priors are [B, M] and wdl is [B, 3]");
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

std::string result_text(const GameRecord& record) {
    if (!record.outcome) return "*";
    return record.outcome->winner == Winner::NOBODY  ? "1/2-1/2"
           : record.outcome->winner == Winner::WHITE ? "1-0"
                                                     : "0-1";
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
    nb::class_<SingleSearch>(m, "Search",
                             "One tree on one position: gather leaves, evaluate them, apply, until done.\n\n"
                             ">>> search = Search(Position('atomic'), SearchConfig(), visits=100)\n"
                             ">>> search.run('heuristic-1')\n"
                             ">>> search.result().visits\n"
                             "100\n")
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
            "apply",
            [](SingleSearch& self, std::uint64_t ticket, FloatMatrix priors, FloatMatrix wdl) {
                check_answer(priors, wdl);
                nb::gil_scoped_release release;
                self.apply(ticket, priors.shape(0), priors.data(), priors.shape(1), wdl.data());
            },
            "ticket"_a, "priors"_a.noconvert(), "wdl"_a.noconvert())
        .def(
            "apply_native",
            [](SingleSearch& self, std::uint64_t ticket, const std::string& name) {
                const NativeEvaluator evaluator = native_evaluator(name);
                nb::gil_scoped_release release;
                self.apply(ticket, evaluator);
            },
            "ticket"_a, "evaluator"_a, "Answer a ticket with 'uniform', 'fake' or 'heuristic-1'.")
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

void bind_games(nb::module_& m) {
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
        .def_prop_ro("result", &result_text)
        .def_prop_ro(
            "reason",
            [](const GameRecord& self) {
                if (!self.ending.empty()) return self.ending;
                return std::string(self.outcome ? phrase(self.outcome->termination) : "");
            },
            "Why the game ended, by the rules or as a referee said; nothing for one that was cut off or is not over")
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

    nb::class_<Pool>(
        m, "Pool",
        "Many games at once: gather, evaluate, apply, drain. Self-play has one search for everybody, games\n"
        "between players have seats. Any thread may call anything at any time.\n\n"
        ">>> pool = Pool('gardner', [Seat(visits=32), Seat(visits=0)], max_plies=60)\n"
        ">>> pool.start_games([('rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1', 0, 1)])\n"
        ">>> pool.run('heuristic-1')\n"
        ">>> [(record.white_seat, record.black_seat, record.result) for record in pool.drain()]\n"
        "[(0, 1, '1-0')]\n")
        .def(
            "__init__",
            [](Pool* self, const std::string& name, const SearchConfig& search, std::uint64_t seed,
               std::uint32_t visits, std::uint32_t fast_visits, double full_probability, std::uint32_t random_plies,
               double temperature, std::uint32_t temperature_plies, std::uint32_t max_plies, std::size_t slots,
               std::size_t lanes, int threads, std::size_t leaves_per_slot) {
                const VariantName variant = resolve_variant(name);
                check_pool(slots, lanes, leaves_per_slot, max_plies);
                new (self) Pool({variant.variant, variant.chess960, seed, fast_visits, full_probability, random_plies,
                                 temperature, temperature_plies, max_plies},
                                {Seat{search, visits, 0, false}}, slots, lanes, thread_count(threads), leaves_per_slot);
            },
            "variant"_a, "search"_a, nb::kw_only(), "seed"_a, "visits"_a, "fast_visits"_a = 16,
            "full_probability"_a = 1.0, "random_plies"_a = 0, "temperature"_a = 0.0, "temperature_plies"_a = 0,
            "max_plies"_a = 512, "slots"_a = 64, "lanes"_a = 1, "threads"_a = 0, "leaves_per_slot"_a = 1,
            "For self-play: seat 0 plays both sides.")
        .def(
            "__init__",
            [](Pool* self, const std::string& name, std::vector<Seat> seats, std::uint64_t seed,
               std::uint32_t max_plies, std::size_t slots, std::size_t lanes, int threads, std::size_t leaves_per_slot,
               std::size_t batch) {
                const VariantName variant = resolve_variant(name);
                check_pool(slots, lanes, leaves_per_slot, max_plies);
                if (seats.empty() || seats.size() > Pool::MAX_SEATS) throw nb::value_error("1 to 256 seats");
                PoolConfig config{variant.variant, variant.chess960, seed};
                config.max_plies = max_plies;
                new (self) Pool(config, std::move(seats), slots, lanes, thread_count(threads), leaves_per_slot, batch);
            },
            "variant"_a, "seats"_a, nb::kw_only(), "seed"_a = 0, "max_plies"_a = 512, "slots"_a = 64, "lanes"_a = 1,
            "threads"_a = 0, "leaves_per_slot"_a = 1, "batch"_a = 0,
            "For games between players, whose seats are known by their numbers; `seed` is for those without visits.\n"
            "A gather gives at most `batch` leaves (0: one gather gives those of every game that has some).")
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
            [](Pool& self, std::size_t slot, Move move) {
                nb::gil_scoped_release release;
                self.play(slot, move);
            },
            "slot"_a, "move"_a,
            "Play the move that a game waits for. One that is not legal raises IllegalMove, and the game waits on.")
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
        .def(
            "idle",
            [](const Pool& self, std::size_t lane) {
                if (lane >= self.lanes()) throw nb::index_error("no such lane");
                nb::gil_scoped_release release;
                return self.idle(lane);
            },
            "lane"_a = 0, "Whether no game of a lane can go on before a move comes from outside.")
        .def(
            "waiting",
            [](const Pool& self, std::size_t lane) {
                if (lane >= self.lanes()) throw nb::index_error("no such lane");
                nb::gil_scoped_release release;
                return self.waiting(lane);
            },
            "lane"_a = 0, "How many games of a lane need each of the evaluators next.")
        .def_prop_ro(
            "news",
            [](const Pool& self) {
                nb::gil_scoped_release release;
                return self.news();
            },
            "Counts moves from outside, games that end and games that are added: what ends an idle lane's sleep.")
        .def(
            "wait",
            [](const Pool& self, std::uint64_t news, double seconds) {
                nb::gil_scoped_release release;
                self.wait(news, checked_seconds(seconds));
            },
            "news"_a, "seconds"_a, "Sleep until there is other news than this, or for so long.")
        .def(
            "gather_into",
            [](Pool& self, LeafRoom& room, std::size_t lane, std::uint8_t evaluator) {
                if (lane >= self.lanes()) throw nb::index_error("no such lane");
                nb::gil_scoped_release release;
                room.size = 0;
                room.ticket = self.gather(lane, evaluator, [&](std::size_t rows, std::size_t most_moves) {
                    return room.place(rows, most_moves);
                });
            },
            "room"_a, "lane"_a = 0, "evaluator"_a = 0, "As `gather`, into memory that stays where it is.")
        .def(
            "gather",
            [](Pool& self, std::size_t lane, std::uint8_t evaluator) {
                if (lane >= self.lanes()) throw nb::index_error("no such lane");
                LeafBatch batch;
                {
                    nb::gil_scoped_release release;
                    batch = self.gather(lane, evaluator);
                }
                return Leaves(std::move(batch));
            },
            "lane"_a = 0, "evaluator"_a = 0)
        .def(
            "apply",
            [](Pool& self, std::uint64_t ticket, FloatMatrix priors, FloatMatrix wdl) {
                check_answer(priors, wdl);
                nb::gil_scoped_release release;
                self.apply(ticket, priors.shape(0), priors.data(), priors.shape(1), wdl.data());
            },
            "ticket"_a, "priors"_a.noconvert(), "wdl"_a.noconvert())
        .def(
            "apply_native",
            [](Pool& self, std::uint64_t ticket, const std::string& name) {
                const NativeEvaluator evaluator = native_evaluator(name);
                nb::gil_scoped_release release;
                self.apply(ticket, evaluator);
            },
            "ticket"_a, "evaluator"_a, "Answer a ticket with 'uniform', 'fake' or 'heuristic-1'.")
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

void bind_search(nb::module_& m) {
    bind_encoding(m);
    bind_batches(m);
    bind_single_search(m);
    bind_games(m);
}

}  // namespace selfmate
