// Every position of tests/perft, to the deepest listed depth that stays within a node budget.
#include "board/perft.h"

#include <fstream>
#include <sstream>

#include "bench/bench.h"
#include "tests/check.h"

using namespace selfmate;
using namespace selfmate::test;

int main() {
    constexpr std::uint64_t BUDGET = SHARE == 1 ? 5'000'000 : 100'000;
    for (const std::string& name : variant_names()) {
        std::ifstream file("tests/perft/" + name + ".epd");
        CHECK(file.good(), name);
        int lines = 0;
        for (std::string line; std::getline(file, line); ++lines) {
            const std::size_t end = line.find(" ;");
            const Position position(name, std::string_view(line).substr(0, end), true);
            std::istringstream counts(line.substr(end));
            std::string depth;
            int deepest = 0;
            std::uint64_t listed = 0, expected = 0;
            while (counts >> depth >> listed)
                if (listed <= BUDGET) {
                    deepest = std::stoi(depth.substr(2));
                    expected = listed;
                }
            const auto never = [] { return false; };
            CHECK(perft(position.variant(), position.state(), deepest, 1, never) == expected, name + " " + line);
            if (lines == 0)
                CHECK(perft(position.variant(), position.state(), deepest, 3, never) == expected, name + " " + line);
        }
        CHECK(lines >= 5, name);
    }
    std::ifstream committed("bench/signature.txt");
    std::uint64_t expected = 0;
    CHECK(committed >> expected && signature() == expected, "bench/signature.txt");
    return finish();
}
