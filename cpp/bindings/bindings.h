// What the files that bind the core to Python share: arrays, and batches of leaves that go out and come back answered.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "search/leaf_batch.h"
#include "util/error.h"

namespace selfmate {

namespace nb = nanobind;
using namespace nb::literals;

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

// A batch of leaves as Python holds it: made once, then only read.
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

inline NativeEvaluator native_evaluator(const std::string& name) {
    if (const NativeEvaluator evaluator = find_native_evaluator(name)) return evaluator;
    throw Error("SearchError",
                "no native evaluator is called " + in_quotes(name) + "; there are uniform, fake and heuristic-1", name);
}

// How a machine that gave leaves away takes the answers: those of arrays, or of an evaluator of our own.
template <class Machine>
void bind_answers(nb::class_<Machine>& machine) {
    machine
        .def(
            "apply",
            [](Machine& self, std::uint64_t ticket, FloatMatrix priors, FloatMatrix wdl) {
                if (priors.shape(0) != wdl.shape(0) || wdl.shape(1) != 3)
                    throw nb::value_error("priors are [B, M] and wdl is [B, 3]");
                nb::gil_scoped_release release;
                self.apply(ticket, priors.shape(0), priors.data(), priors.shape(1), wdl.data());
            },
            "ticket"_a, "priors"_a.noconvert(), "wdl"_a.noconvert())
        .def(
            "apply_native",
            [](Machine& self, std::uint64_t ticket, const std::string& name) {
                const NativeEvaluator evaluator = native_evaluator(name);
                nb::gil_scoped_release release;
                self.apply(ticket, evaluator);
            },
            "ticket"_a, "evaluator"_a, "Answer a ticket with 'uniform', 'fake' or 'heuristic-1'.");
}

}  // namespace selfmate
