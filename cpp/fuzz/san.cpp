// libFuzzer: any words as SAN or UCI raise an Error or are a legal move.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "board/san.h"
#include "util/error.h"

using namespace selfmate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const Variant& variant = variants()[data[0] % variants().size()];
    Position position(variant.name, std::nullopt, false);
    std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        const std::string_view word = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const Key key = position.state().key;
        try {
            const Move move = parse_san(position, word);
            if (!position.is_legal(move)) std::abort();
            position.play(move);
        } catch (const Error&) {
            if (position.state().key != key) std::abort();
        }
        try {
            position.play(position.parse_uci(word));
        } catch (const Error&) {
        }
        if (position.state().key != ZOBRIST.of(position.state())) std::abort();
    }
    return 0;
}
