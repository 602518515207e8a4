// The exception for invalid input: `kind` is the name of the Python exception class (src/selfmate/errors.py), `what` a
// message of one line, `part` the offending part of the input.
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

// Quotes input for a message: at most 40 bytes, with non-ASCII bytes replaced by '?'.
inline std::string in_quotes(std::string_view text) {
    std::string shown = "'";
    for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < '\x7f' ? c : '?';
    return shown + (text.size() > 40 ? "…'" : "'");
}

}  // namespace selfmate
