// libFuzzer: any bytes as a FEN raise an Error or are a position that can be written, read back and played.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "board/position.h"
#include "board/san.h"
#include "util/error.h"

using namespace selfmate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    // The first byte chooses variant, chess960 and leniency.
    const Variant& variant = variants()[data[0] % variants().size()];
    const bool chess960 = data[0] & 32, lenient = data[0] & 64;
    const std::string_view fen(reinterpret_cast<const char*>(data + 1), size - 1);
    try {
        Position position(parse_fen(variant, chess960, fen), lenient);
        const std::string written = position.fen(Castling::SHREDDER);
        const Position again(parse_fen(variant, true, written), true);
        if (again.fen(Castling::SHREDDER) != written) std::abort();
        for (int ply = 0; ply < 8; ++ply) {
            position.outcome(true);
            const MoveList moves = position.legal_moves();
            if (!moves.size()) break;
            const Move move = moves[data[size - 1] % moves.size()];
            if (parse_san(position, write_san(position, move)) != move) std::abort();
            position.play(move);
            if (position.state().key != ZOBRIST.of(position.state())) std::abort();
        }
    } catch (const Error&) {
    }
    return 0;
}
