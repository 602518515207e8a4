// The kernels of winograd.h for vectors of a number of lanes. Included by one file for each level of processor, which
// is compiled with instructions that others must not meet: everything here has to stay inside that file, so nothing
// of the standard library is used.
#include "nn/winograd.h"

namespace selfmate {
namespace {

// The transforms of a tile of TILE x TILE squares, which sees SIDE x SIDE: before the products and after them, along one
// line whose numbers lie `step` apart. A line may be changed in place.
struct FourByFour {
    static constexpr int TILE = 4, SIDE = 6;
    template <class Vector>
    static void before(const Vector* in, int step, Vector* out) {
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
    static void after(const Vector* in, int step, Vector* out, int out_step) {
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
    static void before(const Vector* in, int step, Vector* out) {
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
    static void after(const Vector* in, int step, Vector* out, int out_step) {
        const Vector a = in[step] + in[2 * step], b = in[step] - in[2 * step];
        const Vector c = in[3 * step] + in[4 * step], d = in[3 * step] - in[4 * step], e = in[5 * step];
        out[0] = in[0] + a + c + e;
        out[out_step] = b + 2 * d + .5f * e;
        out[2 * out_step] = a + 4 * c + .25f * e;
        out[3 * out_step] = b + 8 * d + .125f * e;
        out[4 * out_step] = a + 16 * c + .0625f * e + in[6 * step];
    }
};

// LANES floats side by side, ROWS x COLUMNS vectors of sums at a time: as many as there are registers for.
template <int LANES, int ROWS, int COLUMNS>
struct Machine {
    typedef float Vector __attribute__((vector_size(LANES * 4)));
    typedef float Unaligned __attribute__((vector_size(LANES * 4), aligned(4)));
    typedef int Mask __attribute__((vector_size(LANES * 4)));
    static constexpr std::size_t GROUP = CHANNEL_GROUP, WIDE = LANES * COLUMNS;
    static_assert(GROUP % WIDE == 0);

    static Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
    static void store(float* to, Vector vector) { *reinterpret_cast<Unaligned*>(to) = vector; }
    static Vector rectified(Vector vector) { return vector > 0 ? vector : Vector{}; }

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

    // The same for any number of rows and a whole group of outputs.
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

    // [position][square][channel] to [point][tile][channel]. A tile sees the squares around it, and zeros beyond.
    template <class Filter>
    static void transform(const Work& work, std::size_t tiles, float* points, const float* zeros) {
        constexpr int SIDE = Filter::SIDE;
        const std::size_t wide = work.board.tiles_wide, squares = work.board.squares;
        for (std::size_t tile = 0; tile < tiles; ++tile) {
            const std::size_t position = tile / work.board.tiles, place = tile % work.board.tiles;
            const float* const board = work.in + position * squares * work.inputs;
            const float* from[SIDE * SIDE];
            for (std::size_t y = 0; y < SIDE; ++y)
                for (std::size_t x = 0; x < SIDE; ++x) {
                    const std::size_t rank = place / wide * Filter::TILE + y - 1;
                    const std::size_t file = place % wide * Filter::TILE + x - 1;
                    const bool inside = rank < work.board.ranks && file < work.board.files;  // -1 is large
                    from[y * SIDE + x] = inside ? board + (rank * work.board.files + file) * work.inputs : zeros;
                }
            for (std::size_t c = 0; c < work.inputs; c += LANES) {
                Vector seen[SIDE * SIDE];
                for (int i = 0; i < SIDE * SIDE; ++i) seen[i] = load(from[i] + c);
                for (int x = 0; x < SIDE; ++x) Filter::before(seen + x, SIDE, seen + x);
                for (int y = 0; y < SIDE; ++y) Filter::before(seen + y * SIDE, 1, seen + y * SIDE);
                for (std::size_t p = 0; p < SIDE * SIDE; ++p)
                    store(points + (p * tiles + tile) * work.inputs + c, seen[p]);
            }
        }
    }

    // [point][tile][channel of the group] to the squares of the board; bias and what stands beside come in.
    template <class Filter>
    static void transform_back(const Work& work, std::size_t tiles, std::size_t group, const float* points) {
        constexpr int SIDE = Filter::SIDE, TILE = Filter::TILE;
        const std::size_t wide = work.board.tiles_wide, squares = work.board.squares;
        for (std::size_t tile = 0; tile < tiles; ++tile) {
            const std::size_t position = tile / work.board.tiles, place = tile % work.board.tiles;
            const std::size_t rank = place / wide * TILE, file = place % wide * TILE;
            const std::size_t high = work.board.ranks - rank < TILE ? work.board.ranks - rank : TILE;
            const std::size_t broad = work.board.files - file < TILE ? work.board.files - file : TILE;
            for (std::size_t c = 0; c < GROUP; c += LANES) {
                Vector seen[SIDE * SIDE], half[TILE * SIDE], out[TILE * TILE];
                for (std::size_t p = 0; p < SIDE * SIDE; ++p) seen[p] = load(points + (p * tiles + tile) * GROUP + c);
                for (int x = 0; x < SIDE; ++x) Filter::after(seen + x, SIDE, half + x, SIDE);
                for (int y = 0; y < TILE; ++y) Filter::after(half + y * SIDE, 1, out + y * TILE, 1);
                const Vector bias = load(work.bias + group + c);
                for (std::size_t y = 0; y < high; ++y)
                    for (std::size_t x = 0; x < broad; ++x) {
                        const std::size_t square = (rank + y) * work.board.files + file + x;
                        const std::size_t at = (position * squares + square) * work.outputs + group + c;
                        Vector sum = out[y * TILE + x] + bias;
                        if (work.beside) sum += load(work.beside + at);
                        store(work.out + at, work.rectify ? rectified(sum) : sum);
                    }
            }
        }
    }

    template <class Filter>
    static void convolve_tiles(const Work& work) {
        constexpr std::size_t POINTS = Filter::SIDE * Filter::SIDE;
        const std::size_t tiles = work.rows * work.board.tiles;
        float* const points = work.scratch;
        float* const sums = points + POINTS * tiles * work.inputs;
        float* const zeros = sums + POINTS * tiles * GROUP;
        for (std::size_t i = 0; i < work.inputs; ++i) zeros[i] = 0;
        transform<Filter>(work, tiles, points, zeros);
        for (std::size_t group = 0; group < work.outputs; group += GROUP) {
            for (std::size_t p = 0; p < POINTS; ++p)
                products(points + p * tiles * work.inputs, tiles, work.inputs,
                         work.weights + (group / GROUP * POINTS + p) * work.inputs * GROUP, sums + p * tiles * GROUP);
            transform_back<Filter>(work, tiles, group, sums);
        }
    }

    static void convolve(const Work& work) {
        if (work.board.tile == 5)
            convolve_tiles<FiveByFive>(work);
        else
            convolve_tiles<FourByFour>(work);
    }

    static void multiply(const Work& work) {
        for (std::size_t group = 0; group < work.outputs; group += GROUP)
            for (std::size_t row = 0; row < work.rows; row += ROWS) {
                float sums[ROWS * GROUP];
                const std::size_t rows = work.rows - row < ROWS ? work.rows - row : ROWS;
                products(work.in + row * work.inputs, rows, work.inputs, work.weights + group * work.inputs, sums);
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < GROUP; c += LANES) {
                        const Vector sum = load(sums + r * GROUP + c) + load(work.bias + group + c);
                        store(work.out + (row + r) * work.outputs + group + c, work.rectify ? rectified(sum) : sum);
                    }
            }
    }
};

}  // namespace
}  // namespace selfmate
