// The Python module `_cpu`: which builds of the core this CPU can run, which is fastest, and what they were built from.
// Compiled for the baseline CPU and independent of the core, because it is imported first.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

// __builtin_cpu_supports also checks that the operating system saves the AVX registers.
static bool runs_v2(void) {
    return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
           __builtin_cpu_supports("popcnt");
}

static bool runs_v3(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    const unsigned f16c = 1u << 29, movbe = 1u << 22, lzcnt = 1u << 5;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & f16c) || !(c & movbe)) return false;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & lzcnt)) return false;
    return runs_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

// AMD before Zen 3 (family 0x19) and Hygon execute pext in microcode, ten times slower than a magic multiplication.
static bool has_slow_pext(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(0, &a, &b, &c, &d)) return true;
    char vendor[13] = {0};
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    if (strcmp(vendor, "AuthenticAMD") != 0 && strcmp(vendor, "HygonGenuine") != 0) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return true;
    unsigned family = (a >> 8) & 0xf;
    if (family == 0xf) family += (a >> 20) & 0xff;
    return family < 0x19;
}
#else
static bool runs_v2(void) { return true; }
static bool runs_v3(void) { return false; }
static bool has_slow_pext(void) { return true; }
#endif

static PyObject* can_run(PyObject* module, PyObject* argument) {
    (void)module;
    const char* name = PyUnicode_AsUTF8AndSize(argument, NULL);  // part of the stable ABI, unlike PyUnicode_AsUTF8
    if (name == NULL) return NULL;
    return PyBool_FromLong((strcmp(name, "v2") == 0 && runs_v2()) || (strcmp(name, "v3") == 0 && runs_v3()));
}

static PyObject* best(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    return PyUnicode_FromString(runs_v3() && !has_slow_pext() ? "v3" : "v2");
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
