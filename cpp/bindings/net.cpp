// Python: CpuNet, cpu_kernels.
#include "bindings/bindings.h"
#include "nn/cpu_net.h"

namespace selfmate {

namespace {

template <class T, std::size_t N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

void check_shapes(bool fits) {
    if (!fits) throw nb::value_error("arrays that do not fit the net or each other");
}

// A layer and the arrays that it points into.
struct LayerArrays {
    LayerSpec spec;
    nb::ndarray<const float, nb::c_contig, nb::device::cpu> weight, bias;
};

}  // namespace

void bind_net(nb::module_& m) {
    using Weights = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
    nb::class_<LayerArrays>(m, "CpuLayer", "A layer of a CpuNet: the fields of LayerSpec, and its folded tensors.")
        .def(
            "__init__",
            [](LayerArrays* self, std::string name, std::string kind, std::size_t inputs, std::size_t outputs,
               std::size_t kernel, std::string reads, std::string writes, std::string pooling, std::string onto,
               std::string residual, std::string activation, Weights weight, Weights bias) {
                new (self) LayerArrays{.spec = {.name = std::move(name),
                                                .kind = std::move(kind),
                                                .inputs = inputs,
                                                .outputs = outputs,
                                                .kernel = kernel,
                                                .reads = std::move(reads),
                                                .writes = std::move(writes),
                                                .pooling = std::move(pooling),
                                                .onto = std::move(onto),
                                                .residual = std::move(residual),
                                                .activation = std::move(activation),
                                                .weight = {weight.data(), weight.size()},
                                                .bias = {bias.data(), bias.size()}},
                                       .weight = weight,
                                       .bias = bias};
            },
            nb::kw_only(), "name"_a, "kind"_a, "inputs"_a, "outputs"_a, "kernel"_a, "reads"_a, "writes"_a, "pooling"_a,
            "onto"_a, "residual"_a, "activation"_a, "weight"_a, "bias"_a);
    nb::class_<CpuNet>(m, "CpuNet", "A net on the CPU in float32 with Winograd convolutions. Thread-safe.")
        .def(
            "__init__",
            [](CpuNet* self, std::size_t ranks, std::size_t files, std::size_t bitboards, std::size_t scalars,
               std::size_t planes, float plies_unit, const std::vector<const LayerArrays*>& layers, bool ones) {
                for (const std::size_t size : {ranks, files})
                    if (size < 1 || size > 8) throw nb::value_error("a board has 1 to 8 ranks and files");
                for (const std::size_t size : {bitboards, scalars + 1, planes})
                    if (size < 1 || size > 1024) throw nb::value_error("a net's sizes go from 1 to 1024");
                std::vector<LayerSpec> specs;
                for (const LayerArrays* const layer : layers) specs.push_back(layer->spec);
                const CpuNetShape shape{.board = board_shape(ranks, files),
                                        .bitboards = bitboards,
                                        .scalars = scalars,
                                        .planes = planes,
                                        .ones = ones ? std::size_t(1) : 0,
                                        .plies_unit = plies_unit};
                nb::gil_scoped_release release;
                new (self) CpuNet(shape, specs);
            },
            nb::kw_only(), "ranks"_a, "files"_a, "bitboards"_a, "scalars"_a, "planes"_a, "plies_unit"_a, "layers"_a,
            "ones"_a = true,
            "`layers` in the order of their computation; `ones`: whether a plane of ones follows the scalars. Raises "
            "ValueError if they do not fit together.")
        .def(
            "evaluate",
            [](const CpuNet& self, Array<const std::uint64_t, 2> bits, Array<const float, 2> scalars,
               Array<const std::uint16_t, 2> moves, Array<const std::uint16_t, 1> counts, Array<float, 2> priors,
               Array<float, 2> wdl, Array<float, 1> plies) {
                const CpuNetShape& shape = self.shape();
                const std::size_t size = bits.shape(0), width = moves.shape(1);
                check_shapes(bits.shape(1) == shape.bitboards && scalars.shape(0) == size &&
                             scalars.shape(1) == shape.scalars && moves.shape(0) == size && counts.shape(0) == size &&
                             priors.shape(0) == size && priors.shape(1) == width && wdl.shape(0) == size &&
                             wdl.shape(1) == 3 && plies.shape(0) == size);
                const std::size_t policy = shape.planes * shape.board.squares;
                for (std::size_t row = 0; row < size; ++row) {
                    check_shapes(counts.data()[row] <= width);
                    for (std::size_t i = 0; i < counts.data()[row]; ++i)
                        check_shapes(moves.data()[row * width + i] < policy);
                }
                nb::gil_scoped_release release;
                self.evaluate({.size = size,
                               .width = width,
                               .bits = bits.data(),
                               .scalars = scalars.data(),
                               .moves = moves.data(),
                               .counts = counts.data()},
                              priors.data(), wdl.data(), plies.data());
            },
            "bits"_a, "scalars"_a, "moves"_a, "counts"_a, "priors"_a, "wdl"_a, "plies"_a,
            "Evaluate a batch of any size B and write priors float32[B, M], wdl float32[B, 3] and plies float32[B].");
    m.def(
        "cpu_kernels", [] { return std::string(winograd_kernels().name); },
        "Return the instruction set that nets are computed with: avx512, avx2 or base.");
}

}  // namespace selfmate
