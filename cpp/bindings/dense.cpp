// Python: dense planes, action masks and encoded batches of positions.
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "board/position.h"

namespace selfmate {
namespace {

using Positions = std::vector<const Position*>;

// The variant of all positions. Throws if there are several.
const Variant& common_variant(const Positions& positions) {
    if (positions.empty()) throw Error("ArrayError", "at least one position is needed", "");
    const Variant& variant = positions[0]->variant();
    for (std::size_t row = 0; row < positions.size(); ++row)
        if (&positions[row]->variant() != &variant)
            throw Error("ArrayError",
                        "positions of one variant are needed; position " + std::to_string(row) + " is of " +
                            std::string(positions[row]->variant().name) + ", position 0 of " +
                            std::string(variant.name),
                        positions[row]->variant().name);
    return variant;
}

void write_dense(const Position& position, float* out) {
    Bitboard bits[BITBOARDS];
    float scalars[SCALARS];
    encode(position.variant(), position.state(), position.repetitions() > 1, bits, scalars);
    write_planes(position.variant(), bits, scalars, out);
}

void write_legal(const Position& position, const Encoding& encoding, std::uint8_t* out) {
    std::vector<std::uint16_t> indices;
    for (const Move move : position.legal_moves())
        indices.push_back(move_index(position.variant(), move, position.state().turn));
    write_mask(encoding, indices, out);
}

LeafArrays encode_positions(const Positions& positions, const std::optional<Encoding>& chosen) {
    const Variant& variant = common_variant(positions);
    check_encoding(chosen, variant);
    const Encoding encoding = chosen.value_or(encoding_of(variant));
    LeafBatch batch(positions.size(), encoding);
    for (std::size_t row = 0; row < positions.size(); ++row) {
        const Position& position = *positions[row];
        const bool repeated = position.repetitions() > 1;
        encode(encoding, variant, position.state(), repeated, position.past_states(),
               batch.bits.data() + row * batch.bitboards, batch.scalars.data() + row * batch.scalar_count);
        const MoveList moves = position.legal_moves();
        const std::size_t count = std::min(moves.size(), batch.width);
        for (std::size_t i = 0; i < count; ++i)
            batch.moves[row * batch.width + i] = move_index(encoding, variant, moves[i], position.state().turn);
        batch.counts[row] = static_cast<std::uint16_t>(count);
        batch.keys[row] = encoded_key(encoding, position.state(), repeated, position.past_states());
    }
    return LeafArrays(std::move(batch));
}

}  // namespace

void bind_dense(nb::module_& m) {
    m.attr("DENSE_PLANES") = DENSE_PLANES;
    m.def("encode_positions", &encode_positions, "positions"_a, "encoding"_a = nb::none(),
          "Return positions of one variant as a batch of leaves without a ticket, as a search encodes them.");
    m.def(
        "write_planes",
        [](const Positions& positions, nb::object planes) {
            const Variant& variant = common_variant(positions);
            const auto ranks = static_cast<std::size_t>(variant.ranks), files = static_cast<std::size_t>(variant.files);
            const std::size_t size = DENSE_PLANES * ranks * files;
            float* const out =
                checked_array<float>(planes, "planes", {positions.size(), DENSE_PLANES, ranks, files}, "ArrayError")
                    .data;
            for (std::size_t row = 0; row < positions.size(); ++row) write_dense(*positions[row], out + row * size);
        },
        nb::sig("def write_planes(positions: collections.abc.Sequence[Position], planes: typing.Any) -> None"),
        "Write the dense planes of positions of one variant into float32[B, C, H, W]. Raises ArrayError.");
    m.def(
        "write_masks",
        [](const Positions& positions, nb::object masks) {
            const Encoding encoding = encoding_of(common_variant(positions));
            const auto size = static_cast<std::size_t>(encoding.policy_size);
            bool* const out = checked_array<bool>(masks, "masks", {positions.size(), size}, "ArrayError").data;
            for (std::size_t row = 0; row < positions.size(); ++row)
                write_legal(*positions[row], encoding, reinterpret_cast<std::uint8_t*>(out) + row * size);
        },
        nb::sig("def write_masks(positions: collections.abc.Sequence[Position], masks: typing.Any) -> None"),
        "Write the legal actions of positions of one variant into bool[B, policy_size]. Raises ArrayError.");
    m.def(
        "observe",
        [](const Position& position, bool white, nb::object planes, nb::object mask) {
            const Variant& variant = position.variant();
            const Encoding encoding = encoding_of(variant);
            const auto ranks = static_cast<std::size_t>(variant.ranks), files = static_cast<std::size_t>(variant.files);
            const auto size = static_cast<std::size_t>(encoding.policy_size);
            float* const out = checked_array<float>(planes, "planes", {DENSE_PLANES, ranks, files}, "ArrayError").data;
            auto* const legal =
                reinterpret_cast<std::uint8_t*>(checked_array<std::int8_t>(mask, "mask", {size}, "ArrayError").data);
            if (to_color(white) == position.state().turn) {
                write_dense(position, out);
                write_legal(position, encoding, legal);
                return;
            }
            State seen = position.state();  // by the other side, as if it were to move
            seen.turn = ~seen.turn;
            Bitboard bits[BITBOARDS];
            float scalars[SCALARS];
            encode(variant, seen, position.repetitions() > 1, bits, scalars);
            write_planes(variant, bits, scalars, out);
            std::fill(legal, legal + size, std::uint8_t(0));
        },
        nb::sig("def observe(position: Position, white: bool, planes: typing.Any, mask: typing.Any) -> None"),
        "Write what a side sees of a position: planes float32[C, H, W], legal actions int8[policy_size], none of them\n"
        "for the side that is not to move. Raises ArrayError.");
    m.def(
        "leaf_planes",
        [](const std::string& name, nb::object bits, nb::object scalars, nb::object planes) {
            const Variant& variant = *resolve_variant(name).variant;
            const auto ranks = static_cast<std::size_t>(variant.ranks), files = static_cast<std::size_t>(variant.files);
            const auto in = checked_array<const Bitboard>(bits, "bits", {ANY_SIZE, BITBOARDS}, "ArrayError");
            const std::size_t rows = in.shape[0];
            const float* const numbers =
                checked_array<const float>(scalars, "scalars", {rows, SCALARS}, "ArrayError").data;
            float* const out =
                checked_array<float>(planes, "planes", {rows, DENSE_PLANES, ranks, files}, "ArrayError").data;
            nb::gil_scoped_release release;
            for (std::size_t row = 0; row < rows; ++row)
                write_planes(variant, in.data + row * BITBOARDS, numbers + row * SCALARS,
                             out + row * DENSE_PLANES * ranks * files);
        },
        nb::sig("def leaf_planes(variant: str, bits: typing.Any, scalars: typing.Any, planes: typing.Any) -> None"),
        "Write bits uint64[B, P] and scalars float32[B, S] of leaves as dense planes float32[B, C, H, W]. Raises\n"
        "ArrayError.");
}

}  // namespace selfmate
