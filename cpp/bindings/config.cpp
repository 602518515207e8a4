// The config structs as Python classes, made from their tables of fields: keyword arguments with range checks, read-only
// attributes, and `fields()` for recipes and documentation.
#include "search/config.h"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "bindings/bindings.h"

namespace selfmate {
namespace {

// A field as Python sees it.
struct ConfigField {
    std::string name, help;
    nb::object type, default_value, minimum, maximum;
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

template <class T>
auto plain(T value) {
    if constexpr (std::is_same_v<T, float>)
        return as_double(value);
    else
        return value;
}

template <class T>
nb::object python_value(T value) {
    return nb::cast(plain(value));
}

template <class T>
nb::object python_type() {
    if constexpr (std::is_same_v<T, bool>)
        return nb::borrow(reinterpret_cast<PyObject*>(&PyBool_Type));
    else if constexpr (std::is_integral_v<T>)
        return nb::borrow(reinterpret_cast<PyObject*>(&PyLong_Type));
    else
        return nb::borrow(reinterpret_cast<PyObject*>(&PyFloat_Type));
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
    const std::string minimum = as_text(python_value(field.minimum)), maximum = as_text(python_value(field.maximum));
    return (std::is_integral_v<T> ? "a whole number " : "a number ") +
           (field.above_minimum ? "above " + minimum + ", at most " : "from " + minimum + " to ") + maximum;
}

// The value of a Python number or flag of the field's type; nothing for other objects and numbers out of range.
template <class Config, class T>
std::optional<T> read(const FieldOf<Config, T>& field, PyObject* value) {
    if (PyBool_Check(value) != std::is_same_v<T, bool>) return std::nullopt;
    if constexpr (std::is_same_v<T, bool>) {
        return value == Py_True;
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
            const std::string shown = nb::cast<std::string>(nb::repr(given));
            throw nb::value_error(
                (std::string(field.name) + ": expected " + expected(field) + ", not " + shown).c_str());
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

// `def __init__(self, *, visits: int, fast_visits: int = 1, …) -> None`
template <class Config>
std::string init_signature() {
    std::string text = "def __init__(self, *";
    each_field<Config>([&]<class T>(const FieldOf<Config, T>& field) {
        text += std::string(", ") + field.name + ": " + as_text(python_type<T>().attr("__name__"));
        if (field.use != Use::REQUIRED_RECIPE) text += " = " + as_text(python_value(Config{}.*field.member));
    });
    return text + ") -> None";
}

template <class Config>
std::vector<ConfigField> list_fields() {
    std::vector<ConfigField> list;
    each_field<Config>([&]<class T>(const FieldOf<Config, T>& field) {
        const bool required = field.use == Use::REQUIRED_RECIPE, is_flag = std::is_same_v<T, bool>;
        const nb::object none = nb::none();
        list.push_back({.name = field.name,
                        .help = field.help,
                        .type = python_type<T>(),
                        .default_value = required ? none : python_value(Config{}.*field.member),
                        .minimum = is_flag ? none : python_value(field.minimum),
                        .maximum = is_flag ? none : python_value(field.maximum),
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
            nb::sig(signature.c_str()), "Raises ValueError, which names the field, for a value out of range.")
        .def_static("fields", &list_fields<Config>, "Every field as it was declared, in order.");
    each_field<Config>([&](const auto& field) {
        bound.def_prop_ro(
            field.name, [member = field.member](const Config& self) { return plain(self.*member); }, field.help);
    });
    return bound;
}

}  // namespace

void bind_configs(nb::module_& m) {
    nb::class_<ConfigField>(m, "ConfigField",
                            "A field of a config struct of the core: name, type, default, range, help.")
        .def_ro("name", &ConfigField::name)
        .def_ro("help", &ConfigField::help)
        .def_ro("type", &ConfigField::type, nb::for_getter(nb::sig("def type(self) -> typing.Any")),
                "bool, int or float")
        .def_ro("default", &ConfigField::default_value, nb::for_getter(nb::sig("def default(self) -> typing.Any")),
                "None for a required field")
        .def_ro("minimum", &ConfigField::minimum, nb::for_getter(nb::sig("def minimum(self) -> typing.Any")),
                "None for a flag")
        .def_ro("maximum", &ConfigField::maximum, nb::for_getter(nb::sig("def maximum(self) -> typing.Any")),
                "None for a flag")
        .def_ro("is_above_minimum", &ConfigField::is_above_minimum, "Whether the minimum itself is excluded")
        .def_ro("is_required", &ConfigField::is_required)
        .def_ro("in_recipe", &ConfigField::in_recipe, "Whether it is also a key of recipes");
    bind_config<SearchConfig>(m, "SearchConfig",
                              "How to search; the defaults are those of playing.\n\n"
                              ">>> SearchConfig(cpuct=2).cpuct, SearchConfig().fpu_reduction\n"
                              "(2.0, 0.33)\n"
                              ">>> SearchConfig(noise_epsilon=2)\n"
                              "Traceback (most recent call last):\n"
                              "...\n"
                              "ValueError: noise_epsilon: expected a number from 0.0 to 1.0, not 2\n")
        .def("without_noise", &SearchConfig::without_noise,
             "The same search without noise at the root, as matches are played.");
    bind_config<SelfPlayConfig>(m, "SelfPlayConfig",
                                "How the moves of self-play games are chosen; the defaults are those of a recipe.\n\n"
                                ">>> SelfPlayConfig(visits=64).max_plies\n"
                                "512\n"
                                ">>> [field.name for field in SelfPlayConfig.fields() if field.is_required]\n"
                                "['visits']\n");
}

}  // namespace selfmate
