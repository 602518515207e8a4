// The search tree: nodes and their edges in two growing arrays that are reused from search to search, so that
// a playout allocates nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "bitboard.h"

namespace selfmate {

// What is known for certain about a position, for the side to move there: nothing, a draw, or a win or loss
// in so many plies with best play.
class Proof {
public:
    constexpr Proof() = default;
    static constexpr Proof draw() { return Proof(1); }
    static constexpr Proof win(int plies) { return Proof(2 + plies); }
    static constexpr Proof loss(int plies) { return Proof(-2 - plies); }

    constexpr bool known() const { return raw_ != 0; }
    constexpr bool is_draw() const { return raw_ == 1; }
    constexpr bool is_win() const { return raw_ > 1; }
    constexpr bool is_loss() const { return raw_ < 0; }
    constexpr int plies() const { return is_win() ? raw_ - 2 : is_loss() ? -2 - raw_ : 0; }
    constexpr float value() const { return is_win() ? 1.0f : is_loss() ? -1.0f : 0.0f; }

    // The same fact one ply earlier, for the side that moved here.
    constexpr Proof for_mover() const {
        if (is_win()) return loss(plies() + 1);
        if (is_loss()) return win(plies() + 1);
        return *this;
    }
    // Whether the side that has the choice prefers this to the other: quick wins, then draws, then slow losses.
    constexpr bool better_than(Proof other) const { return rank() > other.rank(); }
    constexpr bool operator==(const Proof&) const = default;

private:
    constexpr explicit Proof(int raw) : raw_(static_cast<std::int16_t>(raw)) {}
    constexpr int rank() const { return is_win() ? 20000 - plies() : is_loss() ? -20000 + plies() : 0; }
    std::int16_t raw_ = 0;
};

constexpr std::uint32_t NO_NODE = 0xffffffff;

struct Edge {
    float prior;
    float value = 0;  // mean over the visits, for the side that moves along this edge
    float draw = 0;   // mean share of draws
    std::uint32_t visits = 0;
    std::uint32_t child = NO_NODE;
    Move move;
    std::uint16_t in_flight = 0;
    Proof proof;  // for the side that moves along this edge
};
static_assert(sizeof(Edge) <= 40);

struct Node {
    std::uint32_t first_edge = 0;
    std::uint16_t edges = 0;
    Proof proof;
    bool waiting = false;     // for its evaluation
    float net_value = 0;      // the evaluator's word
    float value = 0;          // mean over the visits, for the side to move here
    float visited_prior = 0;  // prior of the edges that have been tried
    std::uint32_t visits = 0;
    std::uint32_t in_flight = 0;
};

class Tree {
public:
    std::vector<Node> nodes;
    std::vector<Edge> edges;

    void clear() {
        nodes.clear();
        edges.clear();
    }
    Edge* edges_of(const Node& node) { return edges.data() + node.first_edge; }
    const Edge* edges_of(const Node& node) const { return edges.data() + node.first_edge; }
    std::size_t bytes() const { return nodes.size() * sizeof(Node) + edges.size() * sizeof(Edge); }
};

}  // namespace selfmate
