// The kernels of winograd.h for one vector width. Included by one source file per x86-64 level, which is compiled with
// instructions that other levels cannot execute. Everything here has internal linkage and uses no inline function of
// the standard library, because the linker could choose that copy for other files.
#include "nn/winograd.h"

namespace selfmate {
namespace {

// The one-dimensional transforms of a tile of TILE x TILE squares with inputs of SIDE x SIDE squares: B' of the input
// and A' of the output, along one line with the given stride. The input transform may be done in place.
struct FourByFour {
    static constexpr int TILE = 4, SIDE = 6;
    template <class Vector>
    static void transform_input(const Vector* in, int step, Vector* out) {
        const Vector d0 = in[0], d1 = in[step], d2 = in[2 * step], d3 = in[3 * step], d4 = in[4 * step];
        const Vector d5 = in[5 * step];
        out[0] = 4 * d0 - 5 * d2 + d4;
        out[step] = -4 * d1 - 4 * d2 + d3 + d4;
        out[2 * step] = 4 * d1 - 4 * d2 - d3 + d4;
        out[3 * step] = -2 * d1 - d2 + 2 * d3 + d4;
        out[4 * step] = 2 * d1 - d2 - 2 * d3 + d4;
        out[5 * step] = 4 * d1 - 5 * d3 + d5;
    }
    template <class Vector>
    static void transform_output(const Vector* in, int step, Vector* out, int out_step) {
        const Vector a = in[step] + in[2 * step], b = in[step] - in[2 * step];
        const Vector c = in[3 * step] + in[4 * step], d = in[3 * step] - in[4 * step];
        out[0] = in[0] + a + c;
        out[out_step] = b + 2 * d;
        out[2 * out_step] = a + 4 * c;
        out[3 * out_step] = b + 8 * d + in[5 * step];
    }
};
struct FiveByFive {
    static constexpr int TILE = 5, SIDE = 7;
    template <class Vector>
    static void transform_input(const Vector* in, int step, Vector* out) {
        const Vector d0 = in[0], d1 = in[step], d2 = in[2 * step], d3 = in[3 * step], d4 = in[4 * step];
        const Vector d5 = in[5 * step], d6 = in[6 * step];
        out[0] = -2 * d0 + 4 * d1 + 2.5f * d2 - 5 * d3 - .5f * d4 + d5;
        out[step] = 2 * d1 - 2 * d2 - 4.5f * d3 + .5f * d4 + d5;
        out[2 * step] = -2 * d1 + 6 * d2 - 3.5f * d3 - 1.5f * d4 + d5;
        out[3 * step] = d1 - 1.5f * d2 - 2 * d3 + 1.5f * d4 + d5;
        out[4 * step] = -d1 + 2.5f * d2 - 2.5f * d4 + d5;
        out[5 * step] = 4 * d1 - 5 * d3 + d5;
        out[6 * step] = -2 * d1 + 4 * d2 + 2.5f * d3 - 5 * d4 - .5f * d5 + d6;
    }
    template <class Vector>
    static void transform_output(const Vector* in, int step, Vector* out, int out_step) {
        const Vector a = in[step] + in[2 * step], b = in[step] - in[2 * step];
        const Vector c = in[3 * step] + in[4 * step], d = in[3 * step] - in[4 * step], e = in[5 * step];
        out[0] = in[0] + a + c + e;
        out[out_step] = b + 2 * d + .5f * e;
        out[2 * out_step] = a + 4 * c + .25f * e;
        out[3 * out_step] = b + 8 * d + .125f * e;
        out[4 * out_step] = a + 16 * c + .0625f * e + in[6 * step];
    }
};

// Kernels with vectors of LANES floats. ROWS x COLUMNS vectors of sums are accumulated in registers.
template <int LANES, int ROWS, int COLUMNS>
struct VectorKernels {
    typedef float Vector __attribute__((vector_size(LANES * 4)));
    typedef float Unaligned __attribute__((vector_size(LANES * 4), aligned(4)));
    typedef int Mask __attribute__((vector_size(LANES * 4)));
    static constexpr std::size_t GROUP = CHANNEL_GROUP, WIDE = LANES * COLUMNS;
    static_assert(GROUP % WIDE == 0);

    static Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
    static void store(float* to, Vector vector) { *reinterpret_cast<Unaligned*>(to) = vector; }
    static Vector relu(Vector vector) { return vector > 0 ? vector : Vector{}; }

    // out[r][0..WIDE] = sum over k of in[r][k] * weights[k][0..WIDE]; weights and out have rows of a whole group.
    template <int R>
    static void product(const float* in, std::size_t inputs, const float* weights, float* out) {
        Vector sums[R][COLUMNS] = {};
        for (std::size_t k = 0; k < inputs; ++k) {
            Vector row[COLUMNS];
            for (int j = 0; j < COLUMNS; ++j) row[j] = load(weights + k * GROUP + std::size_t(j) * LANES);
            for (int r = 0; r < R; ++r) {
                const Vector factor = in[std::size_t(r) * inputs + k] - Vector{};
                for (int j = 0; j < COLUMNS; ++j) sums[r][j] += factor * row[j];
            }
        }
        for (int r = 0; r < R; ++r)
            for (int j = 0; j < COLUMNS; ++j) store(out + std::size_t(r) * GROUP + std::size_t(j) * LANES, sums[r][j]);
    }

    // The same for any number of rows and one group of outputs.
    static void products(const float* in, std::size_t rows, std::size_t inputs, const float* weights, float* out) {
        std::size_t row = 0;
        const auto run = [&]<int R>() {
            for (; row + R <= rows; row += R)
                for (std::size_t j = 0; j < GROUP; j += WIDE)
                    product<R>(in + row * inputs, inputs, weights + j, out + row * GROUP + j);
        };
        run.template operator()<ROWS>();
        run.template operator()<4>();
        run.template operator()<1>();
    }

    // Input transform: [position][square][channel] to [point][tile][channel]. Squares outside the board are 0.
    template <class Filter>
    static void transform_inputs(const KernelArguments& arguments, std::size_t tiles, float* points,
                                 const float* zeros) {
        constexpr int SIDE = Filter::SIDE;
        const std::size_t wide = arguments.board.tiles_wide, squares = arguments.board.squares;
        for (std::size_t tile = 0; tile < tiles; ++tile) {
            const std::size_t position = tile / arguments.board.tiles, place = tile % arguments.board.tiles;
            const float* const board = arguments.in + position * squares * arguments.inputs;
            const float* from[SIDE * SIDE];
            for (std::size_t y = 0; y < SIDE; ++y)
                for (std::size_t x = 0; x < SIDE; ++x) {
                    const std::size_t rank = place / wide * Filter::TILE + y - 1;
                    const std::size_t file = place % wide * Filter::TILE + x - 1;
                    const bool inside = rank < arguments.board.ranks &&
                                        file < arguments.board.files;  // -1 wraps around to a large number
                    from[y * SIDE + x] =
                        inside ? board + (rank * arguments.board.files + file) * arguments.inputs : zeros;
                }
            for (std::size_t c = 0; c < arguments.inputs; c += LANES) {
                Vector tile_in[SIDE * SIDE];
                for (int i = 0; i < SIDE * SIDE; ++i) tile_in[i] = load(from[i] + c);
                for (int x = 0; x < SIDE; ++x) Filter::transform_input(tile_in + x, SIDE, tile_in + x);
                for (int y = 0; y < SIDE; ++y) Filter::transform_input(tile_in + y * SIDE, 1, tile_in + y * SIDE);
                for (std::size_t p = 0; p < SIDE * SIDE; ++p)
                    store(points + (p * tiles + tile) * arguments.inputs + c, tile_in[p]);
            }
        }
    }

    // Output transform: [point][tile][channel of the group] to the board, with bias, residual and relu.
    template <class Filter>
    static void transform_outputs(const KernelArguments& arguments, std::size_t tiles, std::size_t group,
                                  const float* points) {
        constexpr int SIDE = Filter::SIDE, TILE = Filter::TILE;
        const std::size_t wide = arguments.board.tiles_wide, squares = arguments.board.squares;
        for (std::size_t tile = 0; tile < tiles; ++tile) {
            const std::size_t position = tile / arguments.board.tiles, place = tile % arguments.board.tiles;
            const std::size_t rank = place / wide * TILE, file = place % wide * TILE;
            const std::size_t high = arguments.board.ranks - rank < TILE ? arguments.board.ranks - rank : TILE;
            const std::size_t broad = arguments.board.files - file < TILE ? arguments.board.files - file : TILE;
            for (std::size_t c = 0; c < GROUP; c += LANES) {
                Vector tile_in[SIDE * SIDE], half[TILE * SIDE], out[TILE * TILE];
                for (std::size_t p = 0; p < SIDE * SIDE; ++p)
                    tile_in[p] = load(points + (p * tiles + tile) * GROUP + c);
                for (int x = 0; x < SIDE; ++x) Filter::transform_output(tile_in + x, SIDE, half + x, SIDE);
                for (int y = 0; y < TILE; ++y) Filter::transform_output(half + y * SIDE, 1, out + y * TILE, 1);
                const Vector bias = load(arguments.bias + group + c);
                for (std::size_t y = 0; y < high; ++y)
                    for (std::size_t x = 0; x < broad; ++x) {
                        const std::size_t square = (rank + y) * arguments.board.files + file + x;
                        const std::size_t at = (position * squares + square) * arguments.outputs + group + c;
                        Vector sum = out[y * TILE + x] + bias;
                        if (arguments.residual) sum += load(arguments.residual + at);
                        store(arguments.out + at, arguments.relu ? relu(sum) : sum);
                    }
            }
        }
    }

    template <class Filter>
    static void convolve_tiles(const KernelArguments& arguments) {
        constexpr std::size_t POINTS = Filter::SIDE * Filter::SIDE;
        const std::size_t tiles = arguments.rows * arguments.board.tiles;
        float* const points = arguments.scratch;
        float* const sums = points + POINTS * tiles * arguments.inputs;
        float* const zeros = sums + POINTS * tiles * GROUP;
        for (std::size_t i = 0; i < arguments.inputs; ++i) zeros[i] = 0;
        transform_inputs<Filter>(arguments, tiles, points, zeros);
        for (std::size_t group = 0; group < arguments.outputs; group += GROUP) {
            for (std::size_t p = 0; p < POINTS; ++p)
                products(points + p * tiles * arguments.inputs, tiles, arguments.inputs,
                         arguments.weights + (group / GROUP * POINTS + p) * arguments.inputs * GROUP,
                         sums + p * tiles * GROUP);
            transform_outputs<Filter>(arguments, tiles, group, sums);
        }
    }

    static void convolve(const KernelArguments& arguments) {
        if (arguments.board.tile == 5)
            convolve_tiles<FiveByFive>(arguments);
        else
            convolve_tiles<FourByFour>(arguments);
    }

    static void multiply(const KernelArguments& arguments) {
        for (std::size_t group = 0; group < arguments.outputs; group += GROUP)
            for (std::size_t row = 0; row < arguments.rows; row += ROWS) {
                float sums[ROWS * GROUP];
                const std::size_t rows = arguments.rows - row < ROWS ? arguments.rows - row : ROWS;
                products(arguments.in + row * arguments.inputs, rows, arguments.inputs,
                         arguments.weights + group * arguments.inputs, sums);
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < GROUP; c += LANES) {
                        const Vector sum = load(sums + r * GROUP + c) + load(arguments.bias + group + c);
                        store(arguments.out + (row + r) * arguments.outputs + group + c,
                              arguments.relu ? relu(sum) : sum);
                    }
            }
    }
};

}  // namespace
}  // namespace selfmate
