// The config structs as Python classes, made from their tables of fields: keyword arguments with range checks, read-only
// attributes, and `fields()` for recipes and documentation.
#include "search/config.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/bindings.h"

namespace selfmate {
namespace {

// A field as Python sees it.
struct ConfigField {
    std::string name, help;
    nb::object type, default_value, minimum, maximum;
    std::vector<std::string> choices;
    bool is_above_minimum, is_required, in_recipe;
};

// The shortest decimal that reads back as the same float: 0.33, not 0.33000001311302185.
double as_double(float value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    double result = 0;
    std::from_chars(text, end, result);
    return result;
}

// A value of a field as Python sees it: a flag, a number, or the name of an enum's value.
template <class Config, class T>
auto plain(const FieldOf<Config, T>& field, T value) {
    if constexpr (std::is_same_v<T, float>)
        return as_double(value);
    else if constexpr (std::is_enum_v<T>)
        return field.choices[static_cast<std::size_t>(value)];
    else
        return value;
}

template <class Config, class T>
nb::object python_value(const FieldOf<Config, T>& field, T value) {
    return nb::cast(plain(field, value));
}

template <class T>
nb::object python_type() {
    if constexpr (std::is_same_v<T, bool>)
        return nb::borrow(reinterpret_cast<PyObject*>(&PyBool_Type));
    else if constexpr (std::is_enum_v<T>)
        return nb::borrow(reinterpret_cast<PyObject*>(&PyUnicode_Type));
    else if constexpr (std::is_integral_v<T>)
        return nb::borrow(reinterpret_cast<PyObject*>(&PyLong_Type));
    else
        return nb::borrow(reinterpret_cast<PyObject*>(&PyFloat_Type));
}

// A text for an error message: printable ASCII, at most 40 letters of it.
std::string one_line(std::string text) {
    const bool is_long = text.size() > 40;
    text.resize(std::min<std::size_t>(text.size(), 40));
    for (char& c : text) c = c >= ' ' && c < '\x7f' ? c : '?';
    return text + (is_long ? "…" : "");
}

std::string as_text(const nb::object& value) { return nb::cast<std::string>(nb::str(value)); }

template <class Config, class Visit>
void each_field(Visit visit) {
    std::apply([&](const auto&... field) { (visit(field), ...); }, Config::fields());
}

// "a whole number from 1 to 256"
template <class Config, class T>
std::string expected(const FieldOf<Config, T>& field) {
    if constexpr (std::is_same_v<T, bool>) return "True or False";
    if (!field.choices.empty()) {
        std::string names;
        for (const char* const each : field.choices) names += (names.empty() ? "one of " : ", ") + std::string(each);
        return names;
    }
    const std::string minimum = as_text(python_value(field, field.minimum));
    const std::string maximum = as_text(python_value(field, field.maximum));
    return (std::is_integral_v<T> ? "a whole number " : "a number ") +
           (field.above_minimum ? "above " + minimum + ", at most " : "from " + minimum + " to ") + maximum;
}

// The value of a Python number, flag or name of the field's type; nothing for other objects, for numbers out of range
// and for unknown names.
template <class Config, class T>
std::optional<T> read(const FieldOf<Config, T>& field, PyObject* value) {
    if (PyBool_Check(value) != std::is_same_v<T, bool>) return std::nullopt;
    if constexpr (std::is_same_v<T, bool>) {
        return value == Py_True;
    } else if constexpr (std::is_enum_v<T>) {
        Py_ssize_t size = 0;
        const char* const text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &size) : nullptr;
        for (std::size_t i = 0; text && i < field.choices.size(); ++i)
            if (std::string_view(text, static_cast<std::size_t>(size)) == field.choices[i]) return static_cast<T>(i);
        return std::nullopt;
    } else if constexpr (std::is_integral_v<T>) {
        const nb::object index = nb::steal(PyNumber_Index(value));
        if (!index.is_valid()) return std::nullopt;
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
        const bool fits = !overflow && std::in_range<T>(number) && field.contains(static_cast<T>(number));
        return fits ? std::optional(static_cast<T>(number)) : std::nullopt;
    } else {
        const double number = PyFloat_AsDouble(value);
        const bool fits = !PyErr_Occurred() && field.contains(static_cast<T>(number));  // false for NaN
        return fits ? std::optional(static_cast<T>(number)) : std::nullopt;
    }
}

template <class Config>
Config from_keywords(const std::string& name, const nb::kwargs& keywords) {
    Config config;
    each_field<Config>([&](const auto& field) {
        if (!keywords.contains(field.name)) {
            if (field.use == Use::REQUIRED_RECIPE) throw nb::type_error((name + " needs " + field.name).c_str());
            return;
        }
        const nb::object given = keywords[field.name];
        const auto value = read(field, given.ptr());
        PyErr_Clear();
        if (!value) {
            const std::string shown = one_line(nb::cast<std::string>(nb::repr(given)));
            throw Error("SearchError", std::string(field.name) + ": expected " + expected(field) + ", not " + shown,
                        shown);
        }
        config.*field.member = *value;
    });
    for (const auto [key, value] : keywords) {
        const std::string given = nb::cast<std::string>(key);
        bool known = false;
        each_field<Config>([&](const auto& field) { known |= given == field.name; });
        if (!known) throw nb::type_error((name + " has no field '" + given + "'").c_str());
    }
    return config;
}

// The fields that differ from their defaults, and those without a default.
template <class Config>
nb::dict changed_fields(const Config& config) {
    nb::dict changed;
    each_field<Config>([&](const auto& field) {
        if (field.use == Use::REQUIRED_RECIPE || config.*field.member != Config{}.*field.member)
            changed[field.name] = python_value(field, config.*field.member);
    });
    return changed;
}

// "SearchConfig(cpuct=2.0, lcb=True)"
template <class Config>
std::string config_repr(const std::string& name, const Config& config) {
    std::string text;
    for (const auto [key, value] : changed_fields(config))
        text += (text.empty() ? "" : ", ") + nb::cast<std::string>(key) + "=" + nb::cast<std::string>(nb::repr(value));
    return name + "(" + text + ")";
}

template <class Config>
nb::tuple all_values(const Config& config) {
    nb::list values;
    each_field<Config>([&](const auto& field) { values.append(python_value(field, config.*field.member)); });
    return nb::tuple(values);
}

// Adds what makes a config a value: repr, comparison, hash, pickling, `replace`.
template <class Config>
void bind_value_methods(nb::class_<Config>& bound, const char* name) {
    static const std::string replace_signature = [] {
        std::string text = "def replace(self, *";
        each_field<Config>([&]<class T>(const FieldOf<Config, T>& field) {
            text += std::string(", ") + field.name + ": " + as_text(python_type<T>().attr("__name__")) + " = ...";
        });
        return text + ") -> " + (std::is_same_v<Config, SearchConfig> ? "SearchConfig" : "SelfPlayConfig");
    }();
    bound.def("__repr__", [name](const Config& self) { return config_repr<Config>(name, self); })
        .def(
            "__eq__", [](const Config& self, const Config& other) { return all_values(self).equal(all_values(other)); },
            nb::is_operator())
        .def("__hash__", [](const Config& self) { return nb::hash(all_values(self)); })
        .def("__getstate__", &changed_fields<Config>, nb::sig("def __getstate__(self) -> dict[str, typing.Any]"))
        .def(
            "__setstate__",
            [name](Config& self, const nb::dict& state) {
                new (&self) Config(from_keywords<Config>(name, nb::borrow<nb::kwargs>(state)));
            },
            nb::sig("def __setstate__(self, state: dict[str, typing.Any], /) -> None"))
        .def(
            "replace",
            [name](const Config& self, const nb::kwargs& keywords) {
                nb::dict fields = changed_fields(self);
                fields.update(nb::borrow<nb::dict>(keywords));
                return from_keywords<Config>(name, nb::borrow<nb::kwargs>(fields));
            },
            nb::sig(replace_signature.c_str()),
            "Return a copy with other values of some fields. Raises SearchError, which names the field.");
}

// `def __init__(self, *, visits: int, fast_visits: int = 1, …) -> None`
template <class Config>
std::string init_signature() {
    std::string text = "def __init__(self, *";
    each_field<Config>([&]<class T>(const FieldOf<Config, T>& field) {
        text += std::string(", ") + field.name + ": " + as_text(python_type<T>().attr("__name__"));
        if (field.use != Use::REQUIRED_RECIPE)
            text += " = " + nb::cast<std::string>(nb::repr(python_value(field, Config{}.*field.member)));
    });
    return text + ") -> None";
}

template <class Config>
std::vector<ConfigField> list_fields() {
    std::vector<ConfigField> list;
    each_field<Config>([&]<class T>(const FieldOf<Config, T>& field) {
        const bool required = field.use == Use::REQUIRED_RECIPE,
                   is_number = !std::is_same_v<T, bool> && !std::is_enum_v<T>;
        const nb::object none = nb::none();
        list.push_back({.name = field.name,
                        .help = field.help,
                        .type = python_type<T>(),
                        .default_value = required ? none : python_value(field, Config{}.*field.member),
                        .minimum = is_number ? python_value(field, field.minimum) : none,
                        .maximum = is_number ? python_value(field, field.maximum) : none,
                        .choices = {field.choices.begin(), field.choices.end()},
                        .is_above_minimum = field.above_minimum,
                        .is_required = required,
                        .in_recipe = field.use != Use::CODE});
    });
    return list;
}

template <class Config>
nb::class_<Config> bind_config(nb::module_& m, const char* name, const char* doc) {
    static const std::string signature = init_signature<Config>();
    nb::class_<Config> bound(m, name, doc);
    bound
        .def(
            "__init__",
            [name](Config* self, const nb::kwargs& keywords) {
                new (self) Config(from_keywords<Config>(name, keywords));
            },
            nb::sig(signature.c_str()), "Raises SearchError, which names the field, for a value out of range.")
        .def_static("fields", &list_fields<Config>, "Every field as it was declared, in order.");
    each_field<Config>([&](const auto& field) {
        bound.def_prop_ro(
            field.name, [field](const Config& self) { return plain(field, self.*field.member); }, field.help);
    });
    bind_value_methods(bound, name);
    return bound;
}

}  // namespace

void bind_configs(nb::module_& m) {
    nb::class_<ConfigField>(m, "ConfigField",
                            "A field of a config struct of the core: name, type, default, range, help.")
        .def_ro("name", &ConfigField::name)
        .def_ro("help", &ConfigField::help)
        .def_ro("type", &ConfigField::type, nb::for_getter(nb::sig("def type(self) -> typing.Any")),
                "bool, int, float or str")
        .def_ro("default", &ConfigField::default_value, nb::for_getter(nb::sig("def default(self) -> typing.Any")),
                "None for a required field")
        .def_ro("minimum", &ConfigField::minimum, nb::for_getter(nb::sig("def minimum(self) -> typing.Any")),
                "None for a flag or a choice")
        .def_ro("maximum", &ConfigField::maximum, nb::for_getter(nb::sig("def maximum(self) -> typing.Any")),
                "None for a flag or a choice")
        .def_prop_ro(
            "choices", [](const ConfigField& self) { return std::vector<std::string>(self.choices); },
            "The names that a choice may have; empty for other fields")
        .def_ro("is_above_minimum", &ConfigField::is_above_minimum, "Whether the minimum itself is excluded")
        .def_ro("is_required", &ConfigField::is_required)
        .def_ro("in_recipe", &ConfigField::in_recipe, "Whether it is also a key of recipes");
    bind_config<SearchConfig>(m, "SearchConfig",
                              "How to search; the defaults are those of playing.\n\n"
                              ">>> SearchConfig(cpuct=2).cpuct, SearchConfig().fpu_reduction\n"
                              "(2.0, 0.33)\n"
                              ">>> SearchConfig(cpuct=2, lcb=True).replace(cpuct=3)  # shows what is not a default\n"
                              "SearchConfig(cpuct=3.0, lcb=True)\n"
                              ">>> SearchConfig(noise_epsilon=2)\n"
                              "Traceback (most recent call last):\n"
                              "...\n"
                              "selfmate.errors.SearchError: noise_epsilon: expected a number from 0.0 to 1.0, not 2\n")
        .def("without_noise", &SearchConfig::without_noise,
             "The same search as matches are played: without noise and without the penalty of repetitions.")
        .def("with_max_bytes", &SearchConfig::with_max_bytes, "bytes"_a,
             "The same search with another size of the tree.");
    bind_config<SelfPlayConfig>(m, "SelfPlayConfig",
                                "How the moves of self-play games are chosen; the defaults are those of a recipe.\n\n"
                                ">>> SelfPlayConfig(visits=64).max_plies\n"
                                "512\n"
                                ">>> [field.name for field in SelfPlayConfig.fields() if field.is_required]\n"
                                "['visits']\n");
}

}  // namespace selfmate
