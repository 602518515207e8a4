// Arrays of callers, checked: one exception that names the array, what it is and what is needed, instead of nanobind's
// TypeError.
#pragma once

#include <nanobind/ndarray.h>

#include <initializer_list>
#include <string>
#include <type_traits>

#include "bindings/bindings.h"

namespace selfmate {

constexpr std::size_t ANY_SIZE = static_cast<std::size_t>(-1);  // an axis of any length

// "float32", "bool", "uint16"
inline std::string dtype_name(nb::dlpack::dtype type) {
    const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
    if (code == nb::dlpack::dtype_code::Bool) return "bool";
    const std::string bits = std::to_string(type.bits);
    if (code == nb::dlpack::dtype_code::Int) return "int" + bits;
    if (code == nb::dlpack::dtype_code::UInt) return "uint" + bits;
    if (code == nb::dlpack::dtype_code::Float) return "float" + bits;
    return "another dtype of " + bits + " bits";
}

template <class Sizes>
std::string shape_text(const Sizes& sizes) {
    std::string text = "[";
    for (const std::size_t size : sizes)
        text += (text.size() > 1 ? ", " : "") + (size == ANY_SIZE ? "any" : std::to_string(size));
    return text + "]";
}

// A C-contiguous array of the caller: its elements and its shape.
template <class T>
struct CheckedArray {
    T* data;
    std::vector<std::size_t> shape;
};

// Returns the array behind a Python object. Throws the error `kind` unless it is C-contiguous, in the memory of the
// CPU, of the dtype T and of the given shape, and writable unless T is const.
template <class T>
CheckedArray<T> checked_array(nb::handle object, const char* name, std::initializer_list<std::size_t> shape,
                              const char* kind) {
    using Array = std::conditional_t<std::is_const_v<T>, nb::ndarray<nb::ro>, nb::ndarray<>>;
    const nb::dlpack::dtype wanted = nb::dtype<std::remove_const_t<T>>();
    const auto fail = [&](const std::string& given) {
        throw Error(kind,
                    std::string(name) + ": " + dtype_name(wanted) + shape_text(shape) + " is needed, not " + given,
                    given);
    };
    Array array;
    if (!nb::try_cast<Array>(object, array)) {
        nb::ndarray<nb::ro> read_only;
        if (nb::try_cast<nb::ndarray<nb::ro>>(object, read_only)) fail("an array that cannot be written to");
        fail(nb::cast<std::string>(nb::str(object.type().attr("__name__"))));
    }
    CheckedArray<T> found{.data = static_cast<T*>(array.data()), .shape = {}};
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) found.shape.push_back(array.shape(axis));
    bool fits = array.dtype() == wanted && array.ndim() == shape.size();
    for (std::size_t axis = 0; fits && axis < shape.size(); ++axis)
        fits = shape.begin()[axis] == ANY_SIZE || shape.begin()[axis] == found.shape[axis];
    if (!fits) fail(dtype_name(array.dtype()) + shape_text(found.shape));
    if (array.device_type() != nb::device::cpu::value) fail("an array on another device");
    std::int64_t stride = 1;
    for (std::size_t axis = array.ndim(); axis-- > 0; stride *= static_cast<std::int64_t>(array.shape(axis)))
        if (array.shape(axis) > 1 && array.stride(axis) != stride) fail("an array that is not C-contiguous");
    return found;
}

// Binds `apply` and `apply_native` of a class that hands out tickets (Search, Pool).
template <class Class>
void bind_apply(nb::class_<Class>& class_) {
    class_
        .def(
            "apply",
            [](Class& self, std::uint64_t ticket, nb::object priors, nb::object wdl) {
                const auto policy =
                    checked_array<const float>(priors, "priors", {ANY_SIZE, ANY_SIZE}, "EvaluatorError");
                const std::size_t rows = policy.shape[0];
                const auto values = checked_array<const float>(wdl, "wdl", {rows, 3}, "EvaluatorError");
                nb::gil_scoped_release release;
                self.apply(ticket, rows, policy.data, policy.shape[1], values.data);
            },
            nb::sig("def apply(self, ticket: int, priors: NDArray[numpy.float32], wdl: NDArray[numpy.float32]) -> "
                    "None"),
            "Apply the evaluations of a ticket's leaves: priors float32[B, M], of sum one over the legal moves, and "
            "wdl\n"
            "float32[B, 3], of sum one. Raises EvaluatorError for other arrays and for numbers that are not\n"
            "probabilities, whose leaves are abandoned; SearchError for a ticket that is not open or another B.")
        .def(
            "apply_native",
            [](Class& self, std::uint64_t ticket, const std::string& name) {
                const NativeEvaluator evaluator = native_evaluator(name);
                nb::gil_scoped_release release;
                self.apply(ticket, evaluator);
            },
            "ticket"_a, "evaluator"_a, "Evaluate a ticket's leaves by 'uniform', 'fake' or 'heuristic-1' and apply.");
}

}  // namespace selfmate
