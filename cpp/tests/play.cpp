// One tree through a game: reused from move to move, pruned when full, shared by threads, with abandoned leaves. Checks
// the invariants of the tree; most useful with sanitizers.
#include "search/search.h"
#include "tests/check.h"

using namespace selfmate;
using namespace selfmate::test;

namespace {

// Invariants: every node but the root is the child of one edge; indices of nodes and edges grow from parent to child;
// nothing is in flight; an edge has at least as many visits as its child.
void check_tree(const Search& search, const std::string& where) {
    const Tree& tree = search.tree();
    std::vector<int> parents(tree.nodes.size(), 0);
    std::size_t edges = 0;
    for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
        const Node& node = tree.nodes[i];
        if (i && !parents[i]) continue;  // an abandoned leaf
        CHECK(node.first_edge >= edges, where);
        edges = node.first_edge + node.edges;
        CHECK(edges <= tree.edges.size(), where);
        CHECK(!node.in_flight && !node.unevaluated, where);
        for (std::size_t j = 0; j < node.edges; ++j) {
            const Edge& edge = tree.edges_of(node)[j];
            CHECK(!edge.in_flight, where);
            if (edge.child == NO_NODE) continue;
            CHECK(edge.child > i && edge.child < tree.nodes.size(), where);
            CHECK(++parents[edge.child] == 1, where);
            CHECK(edge.visits >= tree.nodes[edge.child].visits || tree.nodes[edge.child].proof.known(), where);
        }
    }
}

void play(const Variant& variant, int threads, std::uint64_t seed) {
    const std::string where(variant.name);
    const NativeEvaluator evaluator = find_native_evaluator("heuristic-1");
    const SearchConfig config{.stop_when_proven = false, .max_bytes = 200'000, .lcb = seed % 2 == 1};
    Threads pool(threads);
    Random random(seed);
    State state = validate(parse_fen(variant, false, variant.start), false);
    std::vector<Key> keys;
    Search search;
    bool begun = false;
    for (int ply = 0; ply < 40 / SHARE; ++ply) {
        MoveList moves;
        variant.legal_moves(state, moves);
        if (!moves.size()) break;
        const std::size_t reach = std::min<std::size_t>(state.halfmove_clock, keys.size());
        const bool found = search.move_to({.variant = variant,
                                           .root = state,
                                           .history = std::span(keys).last(reach),
                                           .config = config,
                                           .visits = 1500,
                                           .seed = seed});
        CHECK(!found || begun, where);
        check_tree(search, where);
        // 700 visits by threads, then some leaves of which half are abandoned, then the rest on one thread.
        while (search.visits() < 700 && search.wants_playout()) {
            search.run_for(1, evaluator, 700 - search.visits(), pool);
            if (search.full()) search.prune();
        }
        check_tree(search, where);
        std::vector<std::uint32_t> leaves;
        for (int i = 0; i < 20 && search.wants_playout(); ++i)
            if (search.playout() == Playout::LEAF) leaves.push_back(search.last_leaf());
        for (std::size_t i = 0; i < leaves.size(); ++i)
            i % 2 ? search.abandon(leaves[i]) : search.evaluate(leaves[i], evaluator);
        check_tree(search, where);
        search.run(evaluator);
        check_tree(search, where);
        CHECK(search.done(), where);
        CHECK(search.tree().bytes() < config.max_bytes * 2, where);
        // Mostly the best move, so that the tree is reused.
        const std::vector<MoveStats> stats = search.moves();
        CHECK(stats.size() == moves.size(), where);
        const std::size_t chosen = random.below(4) ? 0 : random.below(static_cast<std::uint32_t>(stats.size()));
        for (const Move move : search.principal_variation(search.best())) CHECK(move.from() != move.to(), where);
        begun = true;
        keys.push_back(state.key);
        variant.play(state, stats[chosen].move);
    }
}

// Threads on a tree whose arrays are reallocated several times: no visit is lost.
void share(const Variant& variant, int threads) {
    const std::string where(variant.name);
    constexpr std::uint32_t VISITS = 30'000 / SHARE;
    Threads pool(threads);
    Search search;
    const SearchConfig config{.stop_when_proven = false};
    const State state = validate(parse_fen(variant, false, variant.start), false);
    search.begin({.variant = variant, .root = state, .config = config, .visits = VISITS, .seed = 1});
    while (!search.done()) search.run_for(0.05, find_native_evaluator("heuristic-1"), 0xffffffff, pool);
    check_tree(search, where);
    std::uint32_t visits = 0;
    for (const MoveStats& stats : search.moves()) visits += stats.visits;
    CHECK(visits == VISITS && search.visits() == VISITS, where);
    CHECK(search.root().visits == VISITS + 1, where);
}

}  // namespace

int main() {
    for (const char* name : {"chess", "atomic", "gardner"})
        for (const int threads : {2, 5}) share(*find_variant(name), threads);
    for (const Variant& variant : variants())
        for (const int threads : {1, 4}) play(variant, threads, static_cast<std::uint64_t>(threads));
    return finish();
}
