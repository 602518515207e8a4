// The Python module `_cpu`: which builds of the core this CPU can run, which is fastest, and what they were built from.
// Compiled for the baseline CPU and independent of the core, because it is imported first.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "util/cpu_level.h"

static PyObject* can_run(PyObject* module, PyObject* argument) {
    (void)module;
    const char* name = PyUnicode_AsUTF8AndSize(argument, NULL);  // part of the stable ABI, unlike PyUnicode_AsUTF8
    if (name == NULL) return NULL;
    return PyBool_FromLong((strcmp(name, "v2") == 0 && runs_v2()) || (strcmp(name, "v3") == 0 && runs_v3()));
}

static PyObject* best(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    return PyUnicode_FromString(best_core());
}

static PyObject* commit(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    return PyUnicode_FromString(SELFMATE_COMMIT);
}

static PyObject* compiler(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    return PyUnicode_FromString(SELFMATE_COMPILER);
}

static PyMethodDef METHODS[] = {
    {"best", best, METH_NOARGS,
     "best() -> str\n\nReturn the build of the core that is fastest on this CPU: 'v2' or 'v3'."},
    {"can_run", can_run, METH_O, "can_run(name) -> bool\n\nReturn whether this CPU supports the named build."},
    {"commit", commit, METH_NOARGS,
     "commit() -> str\n\nReturn the git commit that was built, shortened, with '-dirty' where files were changed; "
     "empty "
     "where it was not known."},
    {"compiler", compiler, METH_NOARGS, "compiler() -> str\n\nReturn name and version of the C++ compiler."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_cpu",
    .m_doc = "Builds of the core that this CPU supports.",
    .m_size = 0,
    .m_methods = METHODS,
};

PyMODINIT_FUNC PyInit__cpu(void) { return PyModuleDef_Init(&MODULE); }
