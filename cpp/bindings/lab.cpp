// Python: LakeSearch, LakeNet, portable_log.
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "lab/lake_net.h"
#include "lab/lake_search.h"
#include "util/portable_math.h"

namespace selfmate {
namespace {

constexpr std::size_t MAX_STATES = 64 * 64, MAX_HIDDEN = 4096;
constexpr std::uint32_t MAX_SIMULATIONS = 10'000'000;  // a node has about 100 bytes
constexpr std::size_t ACTIONS = LAKE_ACTIONS, OUTCOMES = LAKE_OUTCOMES;

[[noreturn]] void refuse(const std::string& message, double given) {
    throw Error("LabError", message, std::to_string(given));
}

LakeModel checked_model(nb::handle next, nb::handle bounds, nb::handle rewards, nb::handle ends, nb::handle policy,
                        nb::handle leaf_values) {
    const auto nexts = checked_array<const std::int32_t>(next, "next", {ANY_SIZE, ACTIONS, OUTCOMES}, "ArrayError");
    const std::size_t states = nexts.shape[0];
    if (states < 1 || states > MAX_STATES) refuse("a lake has from 1 to 4096 squares", static_cast<double>(states));
    const auto limits =
        checked_array<const std::uint64_t>(bounds, "bounds", {states, ACTIONS, OUTCOMES - 1}, "ArrayError");
    const auto gains = checked_array<const double>(rewards, "rewards", {states, ACTIONS, OUTCOMES}, "ArrayError");
    const auto flags = checked_array<const bool>(ends, "ends", {states, ACTIONS, OUTCOMES}, "ArrayError");
    const auto actions = checked_array<const std::int8_t>(policy, "policy", {states}, "ArrayError");
    const auto values = checked_array<const double>(leaf_values, "leaf_values", {states}, "ArrayError");
    LakeModel model;
    model.actions.resize(states * ACTIONS);
    for (std::size_t index = 0; index < states * ACTIONS; ++index) {
        LakeAction& action = model.actions[index];
        for (std::size_t outcome = 0; outcome < OUTCOMES; ++outcome) {
            const std::int32_t state = nexts.data[index * OUTCOMES + outcome];
            if (state < 0 || static_cast<std::size_t>(state) >= states)
                refuse("next: a square that the lake does not have", state);
            action.next[outcome] = state;
            action.rewards[outcome] = gains.data[index * OUTCOMES + outcome];
            action.ends[outcome] = flags.data[index * OUTCOMES + outcome];
        }
        for (std::size_t bound = 0; bound + 1 < OUTCOMES; ++bound)
            action.bounds[bound] = limits.data[index * (OUTCOMES - 1) + bound];
    }
    for (std::size_t state = 0; state < states; ++state) {
        const std::int8_t action = actions.data[state];
        if (action < RANDOM_ACTION || action >= LAKE_ACTIONS)
            refuse("policy: actions go from -1 (random) to 3", action);
        model.policy.push_back(action);
        model.leaf_values.push_back(values.data[state]);
    }
    return model;
}

std::uint32_t checked_simulations(std::int64_t simulations) {
    if (simulations < 1 || simulations > MAX_SIMULATIONS)
        refuse("simulations must be from 1 to 10000000", static_cast<double>(simulations));
    return static_cast<std::uint32_t>(simulations);
}

std::int32_t checked_state(const LakeSearch& self, std::int64_t state) {
    if (state < 0 || static_cast<std::size_t>(state) >= self.model().states())
        refuse("a square that the lake does not have: " + std::to_string(state), static_cast<double>(state));
    return static_cast<std::int32_t>(state);
}

// The tree as arrays, node by node in the order of their expansion.
nb::tuple tree_arrays(const LakeSearch& self) {
    std::vector<std::int32_t> states, children;
    std::vector<std::uint32_t> visits, action_visits;
    std::vector<double> value_sums;
    for (const LakeNode& node : self.nodes()) {
        states.push_back(node.state);
        visits.push_back(node.visits);
        action_visits.insert(action_visits.end(), node.action_visits.begin(), node.action_visits.end());
        value_sums.insert(value_sums.end(), node.value_sums.begin(), node.value_sums.end());
        for (const auto& of_action : node.children) children.insert(children.end(), of_action.begin(), of_action.end());
    }
    const std::size_t size = states.size();
    return nb::make_tuple(to_numpy<Column<std::int32_t>>(std::move(states), {size}),
                          to_numpy<Column<std::uint32_t>>(std::move(visits), {size}),
                          to_numpy<Matrix<std::uint32_t>>(std::move(action_visits), {size, ACTIONS}),
                          to_numpy<Matrix<double>>(std::move(value_sums), {size, ACTIONS}),
                          to_numpy<Matrix<std::int32_t>>(std::move(children), {size, ACTIONS * OUTCOMES}));
}

// Whole numbers of a caller, each below `limit`.
std::span<const std::int64_t> checked_indices(nb::handle object, const char* name, std::size_t size,
                                              std::size_t limit) {
    const auto found = checked_array<const std::int64_t>(object, name, {size}, "ArrayError");
    for (std::size_t index = 0; index < found.shape[0]; ++index)
        if (found.data[index] < 0 || static_cast<std::size_t>(found.data[index]) >= limit)
            refuse(std::string(name) + ": numbers go from 0 to " + std::to_string(limit - 1),
                   static_cast<double>(found.data[index]));
    return {found.data, found.shape[0]};
}

LakeNetConfig checked_config(std::size_t states, std::size_t hidden, double learning_rate, double average) {
    if (states < 1 || states > MAX_STATES) refuse("a lake has from 1 to 4096 squares", static_cast<double>(states));
    if (hidden < 1 || hidden > MAX_HIDDEN) refuse("hidden must be from 1 to 4096", static_cast<double>(hidden));
    if (!(learning_rate > 0 && learning_rate <= 1)) refuse("learning_rate must be above 0, at most 1", learning_rate);
    if (!(average >= 0 && average < 1)) refuse("average must be from 0 to below 1", average);
    return {.states = states, .hidden = hidden, .learning_rate = learning_rate, .average = average};
}

void bind_lake_net(nb::module_& m) {
    nb::class_<LakeNet>(m, "LakeNet",
                        "The net of a deep Q-network on a Frozen Lake: square, two hidden layers with ReLU, values of "
                        "four actions. Use\n"
                        "it through `selfmate.lab.frozenlake.dqn`.")
        .def(
            "__init__",
            [](LakeNet* self, nb::object weights, std::size_t states, std::size_t hidden, double learning_rate,
               double average) {
                const LakeNetConfig config = checked_config(states, hidden, learning_rate, average);
                const auto given =
                    checked_array<const float>(weights, "weights", {LakeNet::weight_count(config)}, "ArrayError");
                new (self) LakeNet(config, {given.data, given.shape[0]});
            },
            "weights"_a, nb::kw_only(), "states"_a, "hidden"_a, "learning_rate"_a, "average"_a,
            nb::sig("def __init__(self, weights: typing.Any, *, states: int, hidden: int, learning_rate: float, "
                    "average: float) -> None"),
            "Copy float32 weights, layer by layer [inputs, outputs] and then the biases. `learning_rate` is Adam's,\n"
            "`average` the decay of the averaged weights, 0 for none. Raises ArrayError and LabError.")
        .def(
            "values",
            [](LakeNet& self, nb::object squares) {
                const auto wanted = checked_indices(squares, "squares", ANY_SIZE, self.config().states);
                std::vector<float> found(wanted.size() * ACTIONS);
                self.values(wanted, found.data());
                return to_numpy<Matrix<float>>(std::move(found), {wanted.size(), ACTIONS});
            },
            "squares"_a, nb::sig("def values(self, squares: NDArray[numpy.int64]) -> NDArray[numpy.float32]"),
            "Return the values of the actions on squares int64[N], float32[N, 4]. Raises ArrayError and LabError.")
        .def(
            "averaged_values",
            [](LakeNet& self) {
                std::vector<float> found(self.config().states * ACTIONS);
                self.averaged_values(found.data());
                return to_numpy<Matrix<float>>(std::move(found), {self.config().states, ACTIONS});
            },
            nb::sig("def averaged_values(self) -> NDArray[numpy.float32]"),
            "Return the values of every square by the averaged weights, float32[S, 4].")
        .def(
            "learn",
            [](LakeNet& self, nb::object squares, nb::object actions, nb::object targets) {
                const auto from = checked_indices(squares, "squares", ANY_SIZE, self.config().states);
                const auto taken = checked_indices(actions, "actions", from.size(), ACTIONS);
                const auto wanted = checked_array<const float>(targets, "targets", {from.size()}, "ArrayError");
                if (from.empty()) refuse("a batch has at least one sample", 0);
                self.learn(from, taken, {wanted.data, wanted.shape[0]});
            },
            "squares"_a, "actions"_a, "targets"_a,
            nb::sig("def learn(self, squares: NDArray[numpy.int64], actions: NDArray[numpy.int64], targets: "
                    "NDArray[numpy.float32]) -> None"),
            "Make one step of Adam on the mean smooth L1 loss of a batch: squares and actions int64[N], targets\n"
            "float32[N]. Raises ArrayError and LabError.");
}

}  // namespace

void bind_lab(nb::module_& m) {
    bind_lake_net(m);
    nb::class_<LakeSearch>(
        m, "LakeSearch",
        "Monte-Carlo tree search on the exact model of a Frozen Lake: UCT, chance nodes, roll-outs. Use it through\n"
        "`selfmate.lab.frozenlake.planner`.")
        .def(
            "__init__",
            [](LakeSearch* self, nb::object next, nb::object bounds, nb::object rewards, nb::object ends,
               nb::object policy, nb::object leaf_values, double c, double gamma, int rollout_steps) {
                if (!(c >= 0 && c < 1e9)) refuse("c must be from 0 to 1e9", c);
                if (!(gamma >= 0 && gamma <= 1)) refuse("gamma must be from 0 to 1", gamma);
                if (rollout_steps < 0) refuse("rollout_steps must be 0 or more", rollout_steps);
                new (self) LakeSearch(checked_model(next, bounds, rewards, ends, policy, leaf_values),
                                      {.c = c, .gamma = gamma, .rollout_steps = rollout_steps});
            },
            "next"_a, "bounds"_a, "rewards"_a, "ends"_a, nb::kw_only(), "policy"_a, "leaf_values"_a, "c"_a, "gamma"_a,
            "rollout_steps"_a,
            nb::sig("def __init__(self, next: typing.Any, bounds: typing.Any, rewards: typing.Any, ends: typing.Any, "
                    "*, policy: typing.Any, leaf_values: typing.Any, c: float, gamma: float, rollout_steps: int) -> "
                    "None"),
            "Copy a model: next int32[S, 4, 3], bounds uint64[S, 4, 2], rewards float64[S, 4, 3], ends bool[S, 4, 3],\n"
            "policy int8[S] (-1: a random action) and leaf_values float64[S]. Raises ArrayError and LabError.")
        .def(
            "run",
            [](LakeSearch& self, std::int64_t root, std::int64_t simulations, std::uint64_t seed,
               std::uint64_t stream) {
                const std::int32_t state = checked_state(self, root);
                const std::uint32_t count = checked_simulations(simulations);
                nb::gil_scoped_release release;
                self.run(state, count, seed, stream);
            },
            "root"_a, "simulations"_a, "seed"_a, "stream"_a = 0,
            "Build a new tree from a square; equal arguments build equal trees. Raises LabError.")
        .def(
            "plan",
            [](LakeSearch& self, const std::vector<std::int64_t>& states, std::int64_t simulations,
               std::int64_t repeats, std::uint64_t seed, bool by_visits) {
                std::vector<std::int32_t> roots;
                for (const std::int64_t state : states) roots.push_back(checked_state(self, state));
                const std::uint32_t count = checked_simulations(simulations);
                if (repeats < 1 || repeats > 1'000'000)
                    refuse("repeats must be from 1 to 1000000", static_cast<double>(repeats));
                std::vector<std::int64_t> counts;
                {
                    nb::gil_scoped_release release;
                    counts = self.plan(roots, count, static_cast<std::uint32_t>(repeats), seed,
                                       by_visits ? PlanBy::visits : PlanBy::value);
                }
                return to_numpy<Matrix<std::int64_t>>(std::move(counts), {roots.size(), ACTIONS});
            },
            "states"_a, "simulations"_a, "repeats"_a, "seed"_a, nb::kw_only(), "by_visits"_a = false,
            "Search `repeats` times from each square; return how often each action was best, or with `by_visits` the\n"
            "sum of its visits, int64[len(states), 4]. Raises LabError.")
        .def(
            "best_action",
            [](const LakeSearch& self) {
                if (self.nodes().empty()) throw Error("LabError", "run a search first", "");
                return self.best_action();
            },
            "Return the action with the highest value at the root. Raises LabError before the first search.")
        .def("tree", &tree_arrays,
             nb::sig("def tree(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint32], NDArray[numpy.uint32], "
                     "NDArray[numpy.float64], NDArray[numpy.int32]]"),
             "Return the tree, node by node in the order of expansion: states int32[N], visits uint32[N], action "
             "visits\n"
             "uint32[N, 4], value sums float64[N, 4], and children int32[N, 12], 3 for each action, 0 where there is "
             "none.");

    m.def(
        "portable_log",
        [](double number) {
            if (!(number >= 1e-300 && number <= 1e300))
                refuse("the logarithm is of numbers from 1e-300 to 1e300", number);
            return log_of(number);
        },
        "number"_a, "Return the natural logarithm, with the same digits on every machine. Raises LabError.");
}

}  // namespace selfmate
