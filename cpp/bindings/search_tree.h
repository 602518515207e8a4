// The tree of a search as rows for Python.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "search/search.h"

namespace selfmate {

// Row of the parent (-1 at the root), depth in plies, move (none at the root), visits, value, probability of a draw,
// prior, value of the evaluator (none: not evaluated), proven plies (none: not proven). Values and proofs are seen by
// the side to move at the root.
using TreeRow = std::tuple<int, int, std::optional<Move>, std::uint32_t, float, float, float, std::optional<float>,
                           std::optional<int>>;

// The root and at most `max_nodes` - 1 moves below it, at most `max_depth` plies deep, with at least `min_visits` visits
// or a proven result: the most visited first, parents before children.
std::vector<TreeRow> tree_rows(const Search& search, std::uint32_t max_depth, std::size_t max_nodes,
                               std::uint32_t min_visits);

}  // namespace selfmate
