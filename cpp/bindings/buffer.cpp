// Python: Samples, Buffer.
#include "data/buffer.h"

#include "bindings/bindings.h"

namespace selfmate {
namespace {

constexpr std::size_t MAX_SAMPLES = 1'000'000;

// A batch of samples as numpy arrays (Python: Samples).
struct SampleArrays {
    std::size_t size;
    Matrix<Bitboard> bits;
    Matrix<float> scalars;
    Matrix<std::uint16_t> policy_index;
    Matrix<float> policy_weight;
    Matrix<std::uint16_t> legal_index;
    Column<std::uint16_t> legal_counts;
    Matrix<float> wdl;
    Column<float> value_weight, plies, played, material, final_material, root_value, root_draw;
    Column<std::uint16_t> reply_index;
    Column<float> reply_weight;
    Matrix<float> value_ahead;
    Column<float> ahead_weight;
    Column<std::uint64_t> game_ids;

    SampleArrays(SampleBatch&& batch, const Encoding& encoding, std::size_t max_moves)
        : size(batch.size),
          bits(to_numpy<Matrix<Bitboard>>(std::move(batch.bits), {size, std::size_t(encoding.bitboards)})),
          scalars(to_numpy<Matrix<float>>(std::move(batch.scalars), {size, std::size_t(encoding.scalars)})),
          policy_index(to_numpy<Matrix<std::uint16_t>>(std::move(batch.policy_index), {size, max_moves})),
          policy_weight(to_numpy<Matrix<float>>(std::move(batch.policy_weight), {size, max_moves})),
          legal_index(to_numpy<Matrix<std::uint16_t>>(std::move(batch.legal_index), {size, max_moves})),
          legal_counts(to_numpy<Column<std::uint16_t>>(std::move(batch.legal_counts), {size})),
          wdl(to_numpy<Matrix<float>>(std::move(batch.wdl), {size, std::size_t(3)})),
          value_weight(to_numpy<Column<float>>(std::move(batch.value_weight), {size})),
          plies(to_numpy<Column<float>>(std::move(batch.plies), {size})),
          played(to_numpy<Column<float>>(std::move(batch.played), {size})),
          material(to_numpy<Column<float>>(std::move(batch.material), {size})),
          final_material(to_numpy<Column<float>>(std::move(batch.final_material), {size})),
          root_value(to_numpy<Column<float>>(std::move(batch.root_value), {size})),
          root_draw(to_numpy<Column<float>>(std::move(batch.root_draw), {size})),
          reply_index(to_numpy<Column<std::uint16_t>>(std::move(batch.reply_index), {size})),
          reply_weight(to_numpy<Column<float>>(std::move(batch.reply_weight), {size})),
          value_ahead(to_numpy<Matrix<float>>(std::move(batch.value_ahead), {size, HORIZONS})),
          ahead_weight(to_numpy<Column<float>>(std::move(batch.ahead_weight), {size})),
          game_ids(to_numpy<Column<std::uint64_t>>(std::move(batch.game_ids), {size})) {}
};

}  // namespace

void bind_buffer(nb::module_& m) {
    nb::class_<SampleArrays>(m, "Samples", "Inputs and targets of B positions (see cpp/data/buffer.h for shapes).")
        .def_ro("size", &SampleArrays::size)
        .def_ro("bits", &SampleArrays::bits, nb::rv_policy::reference)
        .def_ro("scalars", &SampleArrays::scalars, nb::rv_policy::reference)
        .def_ro("policy_index", &SampleArrays::policy_index, nb::rv_policy::reference)
        .def_ro("policy_weight", &SampleArrays::policy_weight, nb::rv_policy::reference)
        .def_ro("legal_index", &SampleArrays::legal_index, nb::rv_policy::reference)
        .def_ro("legal_counts", &SampleArrays::legal_counts, nb::rv_policy::reference)
        .def_ro("wdl", &SampleArrays::wdl, nb::rv_policy::reference)
        .def_ro("value_weight", &SampleArrays::value_weight, nb::rv_policy::reference)
        .def_ro("plies", &SampleArrays::plies, nb::rv_policy::reference)
        .def_ro("played", &SampleArrays::played, nb::rv_policy::reference)
        .def_ro("material", &SampleArrays::material, nb::rv_policy::reference)
        .def_ro("final_material", &SampleArrays::final_material, nb::rv_policy::reference)
        .def_ro("root_value", &SampleArrays::root_value, nb::rv_policy::reference)
        .def_ro("root_draw", &SampleArrays::root_draw, nb::rv_policy::reference)
        .def_ro("reply_index", &SampleArrays::reply_index, nb::rv_policy::reference)
        .def_ro("reply_weight", &SampleArrays::reply_weight, nb::rv_policy::reference)
        .def_ro("value_ahead", &SampleArrays::value_ahead, nb::rv_policy::reference)
        .def_ro("ahead_weight", &SampleArrays::ahead_weight, nb::rv_policy::reference)
        .def_ro("game_ids", &SampleArrays::game_ids, nb::rv_policy::reference);
    nb::class_<Buffer>(m, "Buffer", "The window of games that the learner samples from.")
        .def(
            "__init__",
            [](Buffer* self, const std::string& name, std::size_t capacity, int threads,
               const std::optional<Encoding>& encoding) {
                const Variant& variant = *resolve_variant(name).variant;
                check_encoding(encoding, variant);
                new (self) Buffer(variant, capacity, thread_count(threads), encoding ? &*encoding : nullptr);
            },
            "variant"_a, "capacity"_a, "threads"_a = 0, "encoding"_a = nb::none())
        .def(
            "add", [](Buffer& self, const GameRecord& record) { self.add(record); }, "record"_a,
            "Add a game; the oldest games are dropped beyond `capacity` positions.")
        .def("forget_before", &Buffer::forget_before, "game_id"_a,
             "Drop the oldest games, as long as their ids are below `game_id`.")
        .def(
            "sample",
            [](Buffer& self, std::size_t size, std::uint64_t seed, bool mirror, bool endings, bool futures) {
                if (!size || size > MAX_SAMPLES) throw nb::value_error("size goes from 1 to 1,000,000");
                SampleBatch batch;
                {
                    nb::gil_scoped_release release;
                    batch = self.sample(size, seed, mirror, {endings, futures});
                }
                const std::size_t width = batch.legal_index.size() / size;
                return SampleArrays(std::move(batch), self.encoding(), width);
            },
            "size"_a, "seed"_a, "mirror"_a = true, "endings"_a = false, "futures"_a = false,
            "Return `size` positions, drawn uniformly with replacement; a function of `seed` and the games. `mirror`:\n"
            "exchange left and right in half of the positions without castling rights. `endings`: replay each game to\n"
            "its end, for `final_material`, which is 0 otherwise. `futures`: also `reply_index` and `value_ahead`.")
        .def(
            "sample_at",
            [](Buffer& self, const std::vector<std::uint64_t>& positions, std::uint64_t seed, bool mirror, bool endings,
               bool futures) {
                if (positions.empty() || positions.size() > MAX_SAMPLES)
                    throw nb::value_error("the number of positions goes from 1 to 1,000,000");
                SampleBatch batch;
                {
                    nb::gil_scoped_release release;
                    batch = self.sample_at(positions, seed, mirror, {endings, futures});
                }
                const std::size_t width = batch.legal_index.size() / positions.size();
                return SampleArrays(std::move(batch), self.encoding(), width);
            },
            "positions"_a, "seed"_a, "mirror"_a = true, "endings"_a = false, "futures"_a = false,
            "Return the given positions, numbered from 0, the oldest, to `Buffer.positions` - 1; all else as in "
            "`sample`.")
        .def_prop_ro("positions", &Buffer::positions)
        .def_prop_ro("games", &Buffer::games)
        .def_prop_ro("game_ids", [](const Buffer& self) {
            std::vector<std::uint64_t> ids;
            for (const GameRecord& record : self.records()) ids.push_back(record.id);
            return ids;
        });
}

}  // namespace selfmate
