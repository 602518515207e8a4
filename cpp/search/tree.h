// The search tree: nodes and their edges in two growing arrays that are reused from search to search, so that
// a playout allocates nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "board/bitboard.h"

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
constexpr std::uint32_t BUSY = 0xfffffffe;  // a node that some thread is making

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

inline Node new_node(std::size_t first_edge, std::size_t edges, Proof proof) {
    Node node;
    node.first_edge = static_cast<std::uint32_t>(first_edge);
    node.edges = static_cast<std::uint16_t>(edges);
    node.proof = proof;
    if (proof.known()) node.net_value = proof.value();
    return node;
}

// A growing array of plain values. The C library gives large blocks pages of their own and moves pages, not
// bytes, when they grow; what is cut off goes back to the system. A vector would hold old and new at once, and a
// limit of memory could not be kept.
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
    // Room for n more, to be written by the caller.
    T* add(std::size_t n) {
        reserve(n);
        size_ += n;
        return data_ + size_ - n;
    }
    // Makes room: what is added next, up to n, moves nothing.
    void reserve(std::size_t n) {
        if (size_ + n > capacity_) reallocate(std::max(size_ + n, capacity_ + capacity_ / 2 + 64));
    }
    std::size_t capacity() const { return capacity_; }
    // Keeps the first n, and no more memory than twice what they need.
    void cut(std::size_t n) {
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

    // Makes `root` the first node and keeps what lies below it and has had so many visits, in place: a node always
    // lies behind its parent, and its edges behind those of every node before it. An edge that loses its node keeps
    // what it knows.
    void keep(std::uint32_t root, std::uint32_t least_visits) {
        // 1. Who stays, and where to.
        std::vector<std::uint32_t> place(nodes.size(), NO_NODE);
        place[root] = 0;
        std::uint32_t kept = 0;
        for (std::uint32_t i = root; i < nodes.size(); ++i) {
            if (place[i] == NO_NODE) continue;
            place[i] = kept++;
            const Edge* const of = edges_of(nodes[i]);
            for (std::uint32_t j = 0; j < nodes[i].edges; ++j)
                if (of[j].child != NO_NODE && nodes[of[j].child].visits >= least_visits) place[of[j].child] = 0;
        }
        // 2. Everyone moves forward.
        std::uint32_t next_edge = 0;
        for (std::uint32_t i = root; i < place.size(); ++i) {
            if (place[i] == NO_NODE) continue;
            Node node = nodes[i];
            for (std::uint32_t j = 0; j < node.edges; ++j) {
                Edge edge = edges[node.first_edge + j];
                if (edge.child != NO_NODE) edge.child = place[edge.child];
                edges[next_edge + j] = edge;
            }
            node.first_edge = next_edge;
            next_edge += node.edges;
            nodes[place[i]] = node;
        }
        nodes.cut(kept);
        edges.cut(next_edge);
    }
};

}  // namespace selfmate
