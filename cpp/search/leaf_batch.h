// Leaves as an evaluator takes them: rows of bitboards, scalars and policy indices.
#pragma once

#include <vector>

#include "data/encode.h"
#include "search/search.h"

namespace selfmate {

// Where rows are written: memory of our own (LeafBatch), or of whoever moves them to a device.
struct LeafRows {
    Bitboard* bits = nullptr;         // [size, BITBOARDS]
    float* scalars = nullptr;         // [size, SCALARS]
    std::uint16_t* moves = nullptr;   // [size, width]; what lies beyond a row's moves is some other index
    std::uint16_t* counts = nullptr;  // [size]
    Key* keys = nullptr;              // [size]
    std::size_t width = 0;            // moves that a row has room for

    void write(std::size_t row, const Variant& variant, const Search& search, std::uint32_t id) const {
        const Leaf& leaf = search.leaf(id);
        encode(variant, leaf.state, leaf.repeated, bits + row * BITBOARDS, scalars + row * SCALARS);
        const std::span<const Edge> edges = search.leaf_edges(id);
        const std::size_t count = std::min(edges.size(), width);
        for (std::size_t i = 0; i < count; ++i)
            moves[row * width + i] = move_index(variant, edges[i].move, leaf.state.turn);
        counts[row] = static_cast<std::uint16_t>(count);
        keys[row] = leaf.key;
    }
};

struct LeafBatch {
    std::uint64_t ticket = 0;
    std::size_t size = 0, width = 0;
    std::vector<Bitboard> bits;
    std::vector<float> scalars;
    std::vector<std::uint16_t> moves;  // padded with 0
    std::vector<std::uint16_t> counts;
    std::vector<Key> keys;

    LeafBatch() = default;
    LeafBatch(std::size_t size_, const Encoding& encoding)
        : size(size_),
          width(static_cast<std::size_t>(encoding.max_moves)),
          bits(size * BITBOARDS),
          scalars(size * SCALARS),
          moves(size * width, 0),
          counts(size),
          keys(size) {}

    LeafRows rows() { return {bits.data(), scalars.data(), moves.data(), counts.data(), keys.data(), width}; }
};

}  // namespace selfmate
