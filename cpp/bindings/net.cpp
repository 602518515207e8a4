// Nets that the core computes itself.
#include "bindings/bindings.h"
#include "nn/cpu_net.h"

namespace selfmate {

namespace {

template <class T, std::size_t N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

void check(bool fits) {
    if (!fits) throw nb::value_error("arrays that do not fit the net or each other");
}

}  // namespace

void bind_net(nb::module_& m) {
    nb::class_<CpuNet>(m, "CpuNet", "A net in float32 by Winograd's convolutions; any thread may ask it at any time.")
        .def(
            "__init__",
            [](CpuNet* self, std::size_t ranks, std::size_t files, std::size_t bitboards, std::size_t scalars,
               std::size_t planes, std::size_t blocks, std::size_t channels, std::size_t policy_channels,
               std::size_t value_channels, const std::string& context,
               const std::vector<nb::ndarray<const float, nb::c_contig, nb::device::cpu>>& tensors) {
                for (const std::size_t size : {ranks, files})
                    if (size < 1 || size > 8) throw nb::value_error("a board has 1 to 8 ranks and files");
                for (const std::size_t size :
                     {bitboards, scalars, planes, blocks, channels, policy_channels, value_channels})
                    if (size < 1 || size > 1024) throw nb::value_error("a net's sizes go from 1 to 1024");
                if (context != "se" && context != "pool" && context != "none")
                    throw nb::value_error("a net's context is se, pool or none");
                std::vector<std::span<const float>> spans;
                for (const auto& tensor : tensors) spans.emplace_back(tensor.data(), tensor.size());
                const CpuNetShape shape{board_shape(ranks, files), bitboards,      scalars, planes, blocks, channels,
                                        policy_channels,           value_channels, context};
                nb::gil_scoped_release release;
                new (self) CpuNet(shape, spans);
            },
            nb::kw_only(), "ranks"_a, "files"_a, "bitboards"_a, "scalars"_a, "planes"_a, "blocks"_a, "channels"_a,
            "policy_channels"_a, "value_channels"_a, "context"_a, "tensors"_a,
            "`tensors`: weights and bias of each layer of a folded net, in the order in which they are used.")
        .def(
            "evaluate",
            [](const CpuNet& self, Array<const std::uint64_t, 2> bits, Array<const float, 2> scalars,
               Array<const std::uint16_t, 2> moves, Array<const std::uint16_t, 1> counts, Array<float, 2> priors,
               Array<float, 2> wdl, Array<float, 1> plies) {
                const CpuNetShape& shape = self.shape();
                const std::size_t size = bits.shape(0), width = moves.shape(1);
                check(bits.shape(1) == shape.bitboards && scalars.shape(0) == size &&
                      scalars.shape(1) == shape.scalars && moves.shape(0) == size && counts.shape(0) == size &&
                      priors.shape(0) == size && priors.shape(1) == width && wdl.shape(0) == size &&
                      wdl.shape(1) == 3 && plies.shape(0) == size);
                const std::size_t policy = shape.planes * shape.board.squares;
                for (std::size_t row = 0; row < size; ++row) {
                    check(counts.data()[row] <= width);
                    for (std::size_t i = 0; i < counts.data()[row]; ++i) check(moves.data()[row * width + i] < policy);
                }
                nb::gil_scoped_release release;
                self.evaluate({size, width, bits.data(), scalars.data(), moves.data(), counts.data()}, priors.data(),
                              wdl.data(), plies.data());
            },
            "bits"_a, "scalars"_a, "moves"_a, "counts"_a, "priors"_a, "wdl"_a, "plies"_a,
            "Answer a batch of any size into the last three arrays.");
    m.def(
        "cpu_kernels", [] { return std::string(winograd_kernels().name); },
        "Which instructions nets are computed with: avx512, avx2 or base.");
}

}  // namespace selfmate
