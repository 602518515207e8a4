// Batches of leaves as an evaluator reads them: one row of bitboards, scalars and policy indices per leaf.
#pragma once

#include <vector>

#include "data/encode.h"
#include "search/search.h"

namespace selfmate {

// The memory that rows are written to, owned by a LeafBatch or by the caller (pinned memory of a device). B is the
// number of rows.
struct LeafRows {
    Bitboard* bits = nullptr;         // [B, bitboards] of the encoding of the search
    float* scalars = nullptr;         // [B, scalars]
    std::uint16_t* moves = nullptr;   // [B, width] policy indices; beyond a row's count the content is unspecified
    std::uint16_t* counts = nullptr;  // [B] legal moves of each row
    Key* keys = nullptr;              // [B] hash of the encoder's input
    std::size_t width = 0;

    void write(std::size_t row, const Variant& variant, const Search& search, std::uint32_t leaf_id) const {
        const Leaf& leaf = search.leaf(leaf_id);
        const std::span<const Edge> edges = search.leaf_edges(leaf_id);
        const std::size_t count = std::min(edges.size(), width);
        const Encoding& encoding = search.encoding();
        if (encoding.is_default()) {
            encode(variant, leaf.state, leaf.repeated, bits + row * BITBOARDS, scalars + row * SCALARS);
            for (std::size_t i = 0; i < count; ++i)
                moves[row * width + i] = move_index(variant, edges[i].move, leaf.state.turn);
        } else {
            encode(encoding, variant, leaf.state, leaf.repeated, leaf.past,
                   bits + row * static_cast<std::size_t>(encoding.bitboards),
                   scalars + row * static_cast<std::size_t>(encoding.scalars));
            for (std::size_t i = 0; i < count; ++i)
                moves[row * width + i] = move_index(encoding, variant, edges[i].move, leaf.state.turn);
        }
        counts[row] = static_cast<std::uint16_t>(count);
        keys[row] = leaf.key;
    }
};

// Owns the rows of one batch. `ticket` identifies the batch when its evaluations are applied.
struct LeafBatch {
    std::uint64_t ticket = 0;
    std::size_t size = 0, width = 0;
    std::size_t bitboards = BITBOARDS, scalar_count = SCALARS;  // of a row
    std::vector<Bitboard> bits;
    std::vector<float> scalars;
    std::vector<std::uint16_t> moves;  // padded with 0
    std::vector<std::uint16_t> counts;
    std::vector<Key> keys;

    LeafBatch() = default;
    LeafBatch(std::size_t size_, const Encoding& encoding)
        : size(size_),
          width(static_cast<std::size_t>(encoding.max_moves)),
          bitboards(static_cast<std::size_t>(encoding.bitboards)),
          scalar_count(static_cast<std::size_t>(encoding.scalars)),
          bits(size * bitboards),
          scalars(size * scalar_count),
          moves(size * width, 0),
          counts(size),
          keys(size) {}

    LeafRows rows() {
        return {.bits = bits.data(),
                .scalars = scalars.data(),
                .moves = moves.data(),
                .counts = counts.data(),
                .keys = keys.data(),
                .width = width};
    }
};

}  // namespace selfmate
