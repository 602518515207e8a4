// Python: Encoding, the encoder functions, Leaves, LeafBuffers.
#include "bindings/bindings.h"

namespace selfmate {
namespace {

void bind_encoder(nb::module_& m) {
    nb::class_<Encoding>(m, "Encoding", "Sizes of a variant's inputs and policy (see cpp/data/encode.h).")
        .def_ro("variant", &Encoding::variant)
        .def_ro("files", &Encoding::files)
        .def_ro("ranks", &Encoding::ranks)
        .def_ro("planes", &Encoding::planes)
        .def_ro("policy_size", &Encoding::policy_size)
        .def_ro("max_moves", &Encoding::max_moves)
        .def_ro("bitboards", &Encoding::bitboards)
        .def_ro("scalars", &Encoding::scalars)
        .def_ro("history", &Encoding::history, "Positions that the encoder sees")
        .def_prop_ro("encoder", [](const Encoding& self) { return name_of(self.encoder); })
        .def_prop_ro("policy", [](const Encoding& self) { return name_of(self.policy); })
        .def_prop_ro("is_default", &Encoding::is_default, "Whether it is the variant's own: full, planes, one position")
        .def_prop_ro("seen_by_white", &Encoding::seen_by_white, "Whether the board is never flipped")
        .def(
            "move_index",
            [](const Encoding& self, const Position& position, Move move) {
                check_encoding(self, position.variant());
                return move_index(self, position.variant(), position.normalise(move), position.state().turn);
            },
            "position"_a, "move"_a, "Return the policy index of a legal move.")
        .def(
            "mirror_index",
            [](const Encoding& self, std::uint16_t index) {
                if (index >= self.policy_size) throw nb::index_error("no such policy index");
                return mirror_index(self, *resolve_variant(self.variant).variant, index);
            },
            "index"_a, "Return the policy index with left and right exchanged.")
        .def(
            "plane_names",
            [](const Encoding& self) { return plane_names(self, *resolve_variant(self.variant).variant); },
            "Return what each plane of the policy means. Planes of encodings that are seen by the same side mean the\n"
            "same, on any board and in any variant, where their names are equal.\n\n"
            ">>> names = encoding('gardner').plane_names()\n"
            ">>> names[:4], names[32:34], names[-3:]\n"
            "(['0,1', '0,2', '0,3', '0,4'], ['1,2', '2,1'], ['=r -1', '=r 0', '=r 1'])\n")
        .def(
            "__eq__", [](const Encoding& self, const Encoding& other) { return self == other; }, nb::is_operator())
        .def("__getstate__",
             [](const Encoding& self) {
                 return std::make_tuple(std::string(self.variant), std::string(name_of(self.encoder)),
                                        std::string(name_of(self.policy)), self.history);
             })
        .def("__setstate__", [](Encoding& self, const std::tuple<std::string, std::string, std::string, int>& state) {
            const auto& [name, encoder, policy, history] = state;
            new (&self) Encoding(encoding_of(*resolve_variant(name).variant, encoder, policy, history).value());
        });
    m.def(
        "encoding",
        [](const std::string& name, const std::string& encoder, const std::string& policy, int history) {
            const auto found = encoding_of(*resolve_variant(name).variant, encoder, policy, history);
            if (!found) throw nb::value_error("no encoder or policy of this name, or a history beyond 1 to 8");
            return *found;
        },
        "variant"_a, "encoder"_a = "full", "policy"_a = "planes", "history"_a = 1,
        "Return an encoding of a variant (the names are those of cpp/data/encoders.h).\n\n"
        ">>> encoding('gardner').planes, encoding('chess').planes, encoding('antichess').planes\n"
        "(49, 73, 76)\n");
    m.def(
        "encode",
        [](const Position& position) {
            const Variant& variant = position.variant();
            std::vector<Bitboard> bits(BITBOARDS);
            std::vector<float> scalars(SCALARS);
            std::vector<std::uint16_t> moves;
            encode(variant, position.state(), position.repetitions() > 1, bits.data(), scalars.data());
            for (const Move move : position.legal_moves())
                moves.push_back(move_index(variant, move, position.state().turn));
            const std::size_t count = moves.size();
            return std::make_tuple(to_numpy<Column<Bitboard>>(std::move(bits), {std::size_t(BITBOARDS)}),
                                   to_numpy<Column<float>>(std::move(scalars), {std::size_t(SCALARS)}),
                                   to_numpy<Column<std::uint16_t>>(std::move(moves), {count}));
        },
        "position"_a,
        "Return bitboards uint64[P], scalars float32[S], and the policy index uint16 of each legal move in the order "
        "of\n"
        "`legal_moves`.");
    m.def(
        "move_index",
        [](const Position& position, Move move) {
            return move_index(position.variant(), position.normalise(move), position.state().turn);
        },
        "position"_a, "move"_a, "Return the policy index of a legal move.");
    m.def(
        "index_move",
        [](const Position& position, int index) {
            for (const Move move : position.legal_moves())
                if (move_index(position.variant(), move, position.state().turn) == index) return move;
            throw Error("IllegalMove", "no legal move has the index " + std::to_string(index), std::to_string(index));
        },
        "position"_a, "index"_a, "Return the legal move with a policy index. Raises IllegalMove.");
    m.def(
        "mirror_index",
        [](const std::string& name, std::uint16_t index) {
            const Variant& variant = *resolve_variant(name).variant;
            if (index >= encoding_of(variant).policy_size) throw nb::index_error("no such policy index");
            return mirror_index(variant, index);
        },
        "variant"_a, "index"_a, "Return the policy index with left and right exchanged.");
    m.def(
        "mirror_squares",
        [](const std::string& name, Bitboard squares) { return mirror(*resolve_variant(name).variant, squares); },
        "variant"_a, "squares"_a, "Return a bitboard with left and right exchanged.");
    m.def(
        "evaluate",
        [](const Position& position, const std::string& name) {
            const NativeEvaluator evaluator = native_evaluator(name);
            const MoveList moves = position.legal_moves();
            std::vector<float> priors(moves.size()), wdl(3);
            const Key key = encoded_key(position.state(), position.repetitions() > 1);
            evaluator(position.variant(), position.state(), key, {moves.begin(), moves.end()}, priors.data(),
                      wdl.data());
            const std::size_t count = priors.size();
            return std::make_tuple(to_numpy<Column<float>>(std::move(priors), {count}),
                                   to_numpy<Column<float>>(std::move(wdl), {std::size_t(3)}));
        },
        "position"_a, "evaluator"_a,
        "Return the priors float32[moves] of the legal moves and win, draw, loss float32[3] of a native evaluator.");
}

void bind_batches(nb::module_& m) {
    nb::class_<LeafArrays>(
        m, "Leaves",
        "A batch of leaves for an evaluator: bits uint64[B, P], scalars float32[B, S], moves uint16[B, M],\n"
        "counts uint16[B], keys uint64[B], and the ticket to apply its evaluations with.")
        .def_ro("ticket", &LeafArrays::ticket)
        .def_ro("size", &LeafArrays::size)
        .def_ro("bits", &LeafArrays::bits, nb::rv_policy::reference)
        .def_ro("scalars", &LeafArrays::scalars, nb::rv_policy::reference)
        .def_ro("moves", &LeafArrays::moves, nb::rv_policy::reference)
        .def_ro("counts", &LeafArrays::counts, nb::rv_policy::reference)
        .def_ro("keys", &LeafArrays::keys, nb::rv_policy::reference);
    nb::class_<LeafBuffers>(
        m, "LeafBuffers",
        "Caller-owned memory for batches of leaves, such as pinned memory that a device reads: flat arrays, as many\n"
        "rows as `counts` has. The width of a batch is the first of `widths` that holds the moves of every row.")
        .def(
            "__init__",
            [](LeafBuffers* self, LeafBuffers::Bits bits, LeafBuffers::Scalars scalars, LeafBuffers::Moves moves,
               LeafBuffers::Moves counts, std::vector<std::size_t> widths, const std::optional<Encoding>& encoding) {
                const std::size_t rows = counts.shape(0);
                const Encoding encoded = encoding.value_or(Encoding{});
                if (widths.empty() || !std::is_sorted(widths.begin(), widths.end()) ||
                    bits.shape(0) < rows * std::size_t(encoded.bitboards) ||
                    scalars.shape(0) < rows * std::size_t(encoded.scalars) || moves.shape(0) < rows * widths.back())
                    throw nb::value_error("bits, scalars and moves need room for as many rows as counts");
                new (self) LeafBuffers{.bits = bits,
                                       .scalars = scalars,
                                       .moves = moves,
                                       .counts = counts,
                                       .widths = std::move(widths),
                                       .rows = rows,
                                       .encoding = encoded,
                                       .keys = std::vector<Key>(rows)};
            },
            "bits"_a.noconvert(), "scalars"_a.noconvert(), "moves"_a.noconvert(), "counts"_a.noconvert(), "widths"_a,
            "encoding"_a = nb::none())
        .def_ro("size", &LeafBuffers::size, "Rows of the last batch")
        .def_ro("width", &LeafBuffers::width, "Width of its moves")
        .def_ro("ticket", &LeafBuffers::ticket);
}

}  // namespace

void bind_encoding(nb::module_& m) {
    bind_encoder(m);
    bind_batches(m);
}

}  // namespace selfmate
