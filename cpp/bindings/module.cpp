// The Python module selfmate._core: constants, exceptions, small functions, and all bindings.
#include "bench/bench.h"
#include "bindings/bindings.h"
#include "board/position.h"
#include "search/tree.h"

namespace selfmate {
namespace {

void raise(const Error& error) {
    const nb::object part =
        nb::steal(PyUnicode_DecodeUTF8(error.part().data(), static_cast<Py_ssize_t>(error.part().size()), "replace"));
    const nb::object kind = nb::module_::import_("selfmate.errors").attr(error.kind());
    // UnknownVariant.named adds the nearest known name to the message.
    const bool unknown_variant = std::string_view(error.kind()) == "UnknownVariant";
    const nb::object raised = unknown_variant ? kind.attr("named")(part, variant_names()) : kind(error.what(), part);
    PyErr_SetObject(kind.ptr(), raised.ptr());
}

NB_MODULE(SELFMATE_MODULE, m) {
    m.attr("__name__") = "selfmate._core";  // the same name for both builds
    nb::set_leak_warnings(false);           // objects alive at interpreter exit are not leaks
    m.doc() = "The native core of Selfmate: rules, notation, search, self-play, records, CPU nets.";
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const Error& error) {
            raise(error);
        }
    });

    m.attr("CORE") = SELFMATE_CORE_NAME;
    m.attr("WHITE") = true;
    m.attr("BLACK") = false;
    for (const auto& [name, role] : {std::pair("PAWN", PAWN), std::pair("KNIGHT", KNIGHT), std::pair("BISHOP", BISHOP),
                                     std::pair("ROOK", ROOK), std::pair("QUEEN", QUEEN), std::pair("KING", KING)})
        m.attr(name) = int(role);
    m.attr("NODE_BYTES") = sizeof(Node);
    m.attr("EDGE_BYTES") = sizeof(Edge);
    nb::list names;
    for (const Variant& variant : variants()) names.append(nb::str(variant.name.data(), variant.name.size()));
    m.attr("VARIANTS") = nb::tuple(names);

    bind_board(m);
    bind_position(m);
    bind_encoding(m);
    bind_dense(m);
    bind_game_batch(m);
    bind_configs(m);
    bind_search(m);
    bind_records(m);
    bind_pool(m);
    bind_buffer(m);
    bind_net(m);
    bind_lab(m);

    m.def(
        "square_name", [](int square) { return square_name(checked_square(square, *find_variant("chess"))); },
        "square"_a,
        "Return the name of a square.\n\n"
        ">>> square_name(28)\n"
        "'e4'\n");
    m.def(
        "parse_square",
        [](nb::str name) {
            const Square square = parse_square(*find_variant("chess"), text_of(name));
            if (square == NO_SQUARE)
                throw Error("SelfmateError", in_quotes(text_of(name)) + " is not a square like e4",
                            text_of(name).substr(0, 40));
            return square;
        },
        "name"_a,
        "Return the square of a name. Raises SelfmateError.\n\n"
        ">>> parse_square('e4')\n"
        "28\n");
    m.def(
        "signature",
        [] {
            nb::gil_scoped_release release;
            return signature();
        },
        "Return the checksum of rules and search over every variant, equal on every machine (bench/signature.txt).");
    m.def(
        "selfplay_signature",
        [] {
            nb::gil_scoped_release release;
            return selfplay_signature();
        },
        "Return the checksum of self-play records of every variant, with noise, temperature, random plies and fast\n"
        "searches; equal on every machine (bench/signature.txt).");
    m.def(
        "generate_rate",
        [](nb::str name, std::size_t positions, std::uint64_t seed, double seconds) {
            const VariantName variant = resolve_variant(text_of(name));
            if (!positions || positions > 10'000'000) throw nb::value_error("positions go from 1 to 10,000,000");
            nb::gil_scoped_release release;
            const Rate rate = generation_rate(*variant.variant, positions, seed, seconds);
            return std::pair(rate.positions_per_second, rate.moves_per_second);
        },
        "variant"_a, "positions"_a, "seed"_a, "seconds"_a,
        "Return (positions, legal moves) per second of move generation on one thread, over positions of random games.");
    m.def(
        "observe_random_games",
        [](nb::str name, std::uint64_t seed, std::size_t moves) {
            const VariantName variant = resolve_variant(text_of(name));
            if (moves > 1'000'000'000) throw nb::value_error("moves go from 0 to 1,000,000,000");
            nb::gil_scoped_release release;
            return observe_random_games(*variant.variant, seed, moves);
        },
        "variant"_a, "seed"_a, "moves"_a,
        "Play random moves in one game after another, writing dense planes and action masks after each, on one "
        "thread;\n"
        "return the number of games that ended.");
}

}  // namespace
}  // namespace selfmate
