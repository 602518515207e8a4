// Shared by all bindings: text, numpy arrays, batches of leaves, and the functions that bind each part. Names and
// meanings are those of python-chess where it has the same thing. Only this folder uses nanobind. Functions that bind a
// class are tables with one entry per attribute, and as long as the class has attributes. Arrays are numpy arrays that
// own their memory; long work runs without the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <thread>

#include "search/leaf_batch.h"
#include "util/error.h"

namespace selfmate {

namespace nb = nanobind;
using namespace nb::literals;

void bind_board(nb::module_& m);       // board.cpp: Move, Outcome, Setup
void bind_position(nb::module_& m);    // position.cpp: Position
void bind_encoding(nb::module_& m);    // encoding.cpp: Encoding, Leaves, LeafBuffers
void bind_dense(nb::module_& m);       // dense.cpp: planes, action masks, encoded positions
void bind_game_batch(nb::module_& m);  // game_batch.cpp: GameBatch
void bind_configs(nb::module_& m);     // config.cpp: ConfigField, SearchConfig, SelfPlayConfig
void bind_search(nb::module_& m);      // search.cpp: SearchResult, Search
void bind_records(nb::module_& m);     // records.cpp: ScoreRules, GameRecord
void bind_pool(nb::module_& m);        // pool.cpp: Seat, Pool
void bind_buffer(nb::module_& m);      // buffer.cpp: Samples, Buffer
void bind_net(nb::module_& m);         // net.cpp: CpuLayer, CpuNet
void bind_lab(nb::module_& m);         // lab.cpp: LakeSearch, portable_log

// ---- text and numbers --------------------------------------------------------------------------

inline std::string_view text_of(nb::str text) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!data) {
        PyErr_Clear();  // lone surrogates: replaced by a character that no notation contains
        return "\x7f";
    }
    return {data, static_cast<std::size_t>(size)};
}

inline const char* result_text(Winner winner) {
    return winner == Winner::NONE ? "1/2-1/2" : winner == Winner::WHITE ? "1-0" : "0-1";
}

// White is True and Black is False, as in python-chess.
inline bool to_python(Color color) { return color == WHITE; }
inline Color to_color(bool white) { return white ? WHITE : BLACK; }

inline std::optional<int> optional_square(Square square) {
    return square == NO_SQUARE ? std::nullopt : std::optional(square);
}

Square checked_square(int square, const Variant& variant);
std::optional<std::string> piece_at(const State& state, Square square);
std::pair<Color, Role> parse_piece(std::string_view piece);
std::optional<std::tuple<int, int>> checks_left(const Variant& variant, const State& state);

// 0 means all cores that this process may use.
inline int thread_count(int threads) {
    if (threads < 0 || threads > 1024) throw nb::value_error("threads go from 0 (all) to 1024");
    return threads ? threads : available_cores();
}

// Throws unless an encoding, where one is given, is one of the variant.
inline void check_encoding(const std::optional<Encoding>& encoding, const Variant& variant) {
    if (encoding && encoding->variant != variant.name)
        throw nb::value_error(
            ("an encoding of " + std::string(encoding->variant) + ", not of " + std::string(variant.name)).c_str());
}

// ---- arrays ------------------------------------------------------------------------------------

template <class T>
using Matrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;
template <class T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Moves a vector into a numpy array.
template <class Array, class T>
Array to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(values));
    const nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
    return Array(owned->data(), shape, owner);
}

// A batch of leaves as numpy arrays (Python: Leaves).
struct LeafArrays {
    std::uint64_t ticket;
    std::size_t size;
    Matrix<Bitboard> bits;
    Matrix<float> scalars;
    Matrix<std::uint16_t> moves;
    Column<std::uint16_t> counts;
    Column<Key> keys;

    explicit LeafArrays(LeafBatch&& batch)
        : ticket(batch.ticket),
          size(batch.size),
          bits(to_numpy<Matrix<Bitboard>>(std::move(batch.bits), {size, batch.bitboards})),
          scalars(to_numpy<Matrix<float>>(std::move(batch.scalars), {size, batch.scalar_count})),
          moves(to_numpy<Matrix<std::uint16_t>>(std::move(batch.moves), {size, batch.width})),
          counts(to_numpy<Column<std::uint16_t>>(std::move(batch.counts), {size})),
          keys(to_numpy<Column<Key>>(std::move(batch.keys), {size})) {}
};

// Caller-owned memory for batches of leaves, such as pinned memory (Python: LeafBuffers): flat arrays for `rows` rows.
struct LeafBuffers {
    using Bits = nb::ndarray<Bitboard, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Scalars = nb::ndarray<float, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Moves = nb::ndarray<std::uint16_t, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    Bits bits;
    Scalars scalars;
    Moves moves, counts;
    std::vector<std::size_t> widths;  // allowed widths of a batch, ascending
    std::size_t rows;
    Encoding encoding;  // that the memory is for
    std::vector<Key> keys;
    std::size_t size = 0, width = 0;  // of the last batch
    std::uint64_t ticket = 0;

    // The rows of a batch, with the first width that holds `max_moves` moves.
    LeafRows allocate(std::size_t wanted, std::size_t max_moves) {
        if (wanted > rows)
            throw Error("SearchError", "room for " + std::to_string(rows) + " leaves, not " + std::to_string(wanted),
                        std::to_string(wanted));
        size = wanted;
        width = widths.back();
        for (const std::size_t each : widths)
            if (max_moves <= each) width = std::min(width, each);
        return {.bits = bits.data(),
                .scalars = scalars.data(),
                .moves = moves.data(),
                .counts = counts.data(),
                .keys = keys.data(),
                .width = width};
    }
};

// ---- evaluators --------------------------------------------------------------------------------

inline NativeEvaluator native_evaluator(const std::string& name) {
    if (const NativeEvaluator evaluator = find_native_evaluator(name)) return evaluator;
    throw Error("SearchError",
                "unknown native evaluator " + in_quotes(name) + "; valid evaluators: uniform, fake, heuristic-1", name);
}

}  // namespace selfmate
