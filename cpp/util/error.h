// A mistake in what a user gave us: a kind that Python knows as an exception of that name
// (src/selfmate/errors.py), one clear line, and the offending part of the input.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace selfmate {

class Error : public std::runtime_error {
public:
    Error(const char* kind, const std::string& message, std::string_view part)
        : std::runtime_error(message), kind_(kind), part_(part) {}

    const char* kind() const { return kind_; }
    const std::string& part() const { return part_; }

private:
    const char* kind_;
    std::string part_;
};

// Input as it may be shown in a message: short, in quotes, and plain ASCII.
inline std::string in_quotes(std::string_view text) {
    std::string shown = "'";
    for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < '\x7f' ? c : '?';
    return shown + (text.size() > 40 ? "…'" : "'");
}

}  // namespace selfmate
