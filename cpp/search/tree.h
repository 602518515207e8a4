// The search tree: nodes and edges in two growing arrays that are reused from search to search, so that a playout
// allocates nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "board/bitboard.h"
#include "search/proof.h"

namespace selfmate {

constexpr std::uint32_t NO_NODE = 0xffffffff;
constexpr std::uint32_t EXPANDING = 0xfffffffe;  // the child of an edge that a playout is expanding

// A legal move of a node. Values are in -1..1, for the side that moves along the edge.
struct Edge {
    float prior;
    float value = 0;  // mean over the visits
    float draw = 0;   // mean probability of a draw over the visits
    std::uint32_t visits = 0;
    std::uint32_t child = NO_NODE;  // index of a node, NO_NODE or EXPANDING
    Move move;
    std::uint16_t in_flight = 0;  // playouts that passed this edge and are not backed up yet
    Proof proof;
};
static_assert(sizeof(Edge) <= 40);

// A position. Values are in -1..1, for the side to move.
struct Node {
    std::uint32_t first_edge = 0;
    std::uint16_t edges = 0;
    Proof proof;
    bool unevaluated = false;  // a leaf whose evaluation has not been applied yet
    bool by_rules = false;     // the rules decided it when it was written: the evaluator was not asked
    float net_value = 0;       // of the evaluator, or the result if `by_rules`
    float value = 0;           // mean over the visits
    float visited_prior = 0;   // sum of the priors of edges with visits or playouts in flight
    std::uint32_t visits = 0;
    std::uint32_t in_flight = 0;  // playouts that passed this node and are not backed up yet
};

inline Node new_node(std::size_t first_edge, std::size_t edges, Proof proof) {
    Node node;
    node.first_edge = static_cast<std::uint32_t>(first_edge);
    node.edges = static_cast<std::uint16_t>(edges);
    node.proof = proof;
    if (proof.known()) {
        node.by_rules = true;
        node.net_value = proof.value();
    }
    return node;
}

// A growing array of trivially copyable values by `realloc`, which remaps the pages of large blocks instead of copying
// them and returns truncated memory to the system. A std::vector holds the old and the new block at once while it
// grows, which would exceed a memory limit.
template <class T>
class Arena {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Arena() = default;
    Arena(Arena&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    Arena& operator=(Arena&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~Arena() { std::free(data_); }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

    void clear() { size_ = 0; }
    // Appends n uninitialised values and returns the first.
    T* add(std::size_t n) {
        reserve(n);
        size_ += n;
        return data_ + size_ - n;
    }
    // Adding up to n values after this call does not move the array.
    void reserve(std::size_t n) {
        if (size_ + n > capacity_) reallocate(std::max(size_ + n, capacity_ + capacity_ / 2 + 64));
    }
    std::size_t capacity() const { return capacity_; }
    // Truncates to n values, and frees memory beyond twice their size.
    void truncate(std::size_t n) {
        size_ = n;
        if (capacity_ > 2 * n + 64) reallocate(n + 64);
    }

private:
    void reallocate(std::size_t capacity) {
        T* const data = static_cast<T*>(std::realloc(static_cast<void*>(data_), capacity * sizeof(T)));
        if (!data) throw std::bad_alloc();
        data_ = data;
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

// Owns all nodes and edges of a search; node 0 is the root. Invariants: a node's index is larger than its parent's, and
// the edges of a node are contiguous, behind those of every node with a smaller index. Nodes may be unreachable (an
// abandoned leaf) until the next `compact`.
class Tree {
public:
    Arena<Node> nodes;
    Arena<Edge> edges;

    void clear() {
        nodes.clear();
        edges.clear();
    }
    Edge* edges_of(const Node& node) { return edges.data() + node.first_edge; }
    const Edge* edges_of(const Node& node) const { return edges.data() + node.first_edge; }
    std::size_t bytes() const { return nodes.size() * sizeof(Node) + edges.size() * sizeof(Edge); }

    // Makes `root` node 0 and keeps its descendants that have at least `min_visits` visits, as far as their parents are
    // kept. In-place, in two passes. An edge whose child is dropped keeps its statistics. No leaf may be in flight.
    void compact(std::uint32_t root, std::uint32_t min_visits) {
        // 1. New index of every node that is kept.
        std::vector<std::uint32_t> new_index(nodes.size(), NO_NODE);
        new_index[root] = 0;
        std::uint32_t kept = 0;
        for (std::uint32_t i = root; i < nodes.size(); ++i) {
            if (new_index[i] == NO_NODE) continue;
            new_index[i] = kept++;
            const Edge* const of = edges_of(nodes[i]);
            for (std::uint32_t j = 0; j < nodes[i].edges; ++j)
                if (of[j].child != NO_NODE && nodes[of[j].child].visits >= min_visits)
                    new_index[of[j].child] = 0;  // reached; the index follows when the loop arrives there
        }
        // 2. Move nodes and edges to the front.
        std::uint32_t next_edge = 0;
        for (std::uint32_t i = root; i < new_index.size(); ++i) {
            if (new_index[i] == NO_NODE) continue;
            Node node = nodes[i];
            for (std::uint32_t j = 0; j < node.edges; ++j) {
                Edge edge = edges[node.first_edge + j];
                if (edge.child != NO_NODE) edge.child = new_index[edge.child];
                edges[next_edge + j] = edge;
            }
            node.first_edge = next_edge;
            next_edge += node.edges;
            nodes[new_index[i]] = node;
        }
        nodes.truncate(kept);
        edges.truncate(next_edge);
    }
};

}  // namespace selfmate
