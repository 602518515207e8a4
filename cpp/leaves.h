// Leaves as an evaluator takes them: rows of bitboards, scalars and policy indices.
#pragma once

#include <vector>

#include "encode.h"
#include "search.h"

namespace selfmate {

struct LeafBatch {
    std::uint64_t ticket = 0;
    std::size_t size = 0, width = 0;    // rows, and moves a row has room for
    std::vector<Bitboard> bits;         // [size, BITBOARDS]
    std::vector<float> scalars;         // [size, SCALARS]
    std::vector<std::uint16_t> moves;   // [size, width], padded with 0
    std::vector<std::uint16_t> counts;  // [size]
    std::vector<Key> keys;              // [size]

    LeafBatch() = default;
    LeafBatch(std::uint64_t ticket_, std::size_t size_, const Encoding& encoding)
        : ticket(ticket_),
          size(size_),
          width(static_cast<std::size_t>(encoding.max_moves)),
          bits(size * BITBOARDS),
          scalars(size * SCALARS),
          moves(size * width, 0),
          counts(size),
          keys(size) {}

    void write(std::size_t row, const Variant& variant, const Search& search, std::uint32_t id) {
        const Leaf& leaf = search.leaf(id);
        encode(variant, leaf.state, leaf.repeated, &bits[row * BITBOARDS], &scalars[row * SCALARS]);
        const std::span<const Edge> edges = search.leaf_edges(id);
        const std::size_t count = std::min(edges.size(), width);
        for (std::size_t i = 0; i < count; ++i)
            moves[row * width + i] = move_index(variant, edges[i].move, leaf.state.turn);
        counts[row] = static_cast<std::uint16_t>(count);
        keys[row] = leaf.key;
    }
};

}  // namespace selfmate
