"""What Python calls: for each kernel a function in C that takes its arguments apart, and the module of them.

Arrays come by the buffer protocol; their number of dimensions, the size of their items, and of numbers also the
kind are checked. Nothing but the stable interface of Python is used, so that one file serves all its versions.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streamfs.translation.expressions import Translated
from streamfs.translation.values import (
    NONE,
    REAL,
    SINGLE,
    TRUTH,
    UNSIGNED,
    WHOLE,
    Array,
    Results,
    Scalar,
    Struct,
    Together,
    Value,
)

HEAD = """\
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef double real;
typedef int64_t whole;

/* Zig's compiler links functions of its own in place of libm's, which differ in the last bit. */
#ifdef OTHER_LIBM
#include <dlfcn.h>
typedef double (*function_of_one)(double);
static function_of_one libm[5];
#define cos libm[0]
#define exp libm[1]
#define log libm[2]
#define log2 libm[3]
#define sin libm[4]
static int find_libm(void) {
  static const char *const names[] = {"cos", "exp", "log", "log2", "sin"};
  for (int i = 0; i < 5; i++) {
    libm[i] = (function_of_one)dlsym(RTLD_DEFAULT, names[i]);
    if (libm[i] == NULL) {
      PyErr_Format(PyExc_ImportError, "this process has no function %s of libm", names[i]);
      return -1;
    }
  }
  return 0;
}
#else
static int find_libm(void) { return 0; }
#endif

/* Loops that fill vector registers are compiled for each width of these, of which the processor's is chosen. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define EACH_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EACH_WIDTH __attribute__((noinline))
#endif

"""

HELPERS = """\
/* What an array is expected to be. */
typedef struct {
  const char *kernel;
  int place, n_dimensions, is_written;
  Py_ssize_t size;
  const char *kinds; /* its type is one of these characters; any if there are none */
} expectation;

static int refuse(const expectation *expected, const char *why) {
  PyErr_Format(PyExc_TypeError, "argument %d of %s %s", expected->place, expected->kernel, why);
  return 0;
}

static int check_array(const Py_buffer *view, const expectation *expected) {
  if (view->ndim != expected->n_dimensions) {
    return refuse(expected, expected->n_dimensions == 1   ? "has not one dimension"
                            : expected->n_dimensions == 2 ? "has not two dimensions"
                                                          : "has not three dimensions");
  }
  if (view->itemsize != expected->size) {
    PyErr_Format(PyExc_TypeError, "argument %d of %s has items of %zd bytes, expected %zd", expected->place,
                 expected->kernel, view->itemsize, expected->size);
    return 0;
  }
  if (expected->kinds != NULL && (view->format == NULL || strchr(expected->kinds, view->format[0]) == NULL)) {
    return refuse(expected, "has items of another type");
  }
  if ((uintptr_t)view->buf % (expected->size < 8 ? (uintptr_t)expected->size : 8) != 0) {
    return refuse(expected, "is not aligned");
  }
  return 1;
}

/* Take an array's memory; return whether it is as expected. */
static int take_array(PyObject *given, Py_buffer *view, int *n_views, const expectation *expected) {
  int flags = PyBUF_ND | (expected->is_written ? PyBUF_WRITABLE : 0);
  if (expected->kinds != NULL) {
    flags |= PyBUF_FORMAT;
  }
  if (PyObject_GetBuffer(given, view, flags) != 0) {
    PyErr_Clear();
    return refuse(expected, expected->is_written ? "is no writeable array" : "is no array without gaps");
  }
  (*n_views)++;
  return check_array(view, expected);
}

static int check_number(const char *kernel, Py_ssize_t n, Py_ssize_t expected) {
  if (n != expected) {
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, got %zd", kernel, expected, n);
  }
  return n == expected;
}

static int check_tuple(PyObject *given, const char *kernel, int place, Py_ssize_t expected) {
  if (!PyTuple_Check(given) || PyTuple_Size(given) != expected) {
    PyErr_Format(PyExc_TypeError, "argument %d of %s is not a tuple of %zd items", place, kernel, expected);
    return 0;
  }
  return 1;
}

"""

MODULE = """\
static PyMethodDef methods[] = {{
{methods}  {{NULL, NULL, 0, NULL}}
}};

static struct PyModuleDef module = {{
  PyModuleDef_HEAD_INIT, "_serving", NULL, -1, methods, NULL, NULL, NULL, NULL
}};

static int add_loop(PyObject *loops, const char *name, void (*loop)(whole *)) {{
  PyObject *address = PyLong_FromVoidPtr((void *)loop);
  int failed = address == NULL || PyDict_SetItemString(loops, name, address) != 0;
  Py_XDECREF(address);
  return failed;
}}

static int fill(PyObject *made) {{
  PyObject *loops;
  if (find_libm() != 0) {{
    return -1;
  }}
  loops = PyDict_New();
  if (loops == NULL || PyModule_AddObjectRef(made, "LOOPS", loops) != 0) {{
    Py_XDECREF(loops);
    return -1;
  }}
  Py_DECREF(loops);
{loops}  if (PyModule_AddStringConstant(made, "SOURCES", "{sources}") != 0) {{
    return -1;
  }}
  return PyModule_AddStringConstant(made, "DIGEST", "{digest}");
}}

PyMODINIT_FUNC PyInit__serving(void) {{
  PyObject *made = PyModule_Create(&module);
  if (made != NULL && fill(made) != 0) {{
    Py_DECREF(made);
    return NULL;
  }}
  return made;
}}
"""

KINDS = {
    "real": '"d"',
    "float": '"f"',
    "whole": '"lq"',
    "uint64_t": '"LQ"',
    "int8_t": '"b"',
    "uint8_t": '"B?"',
    "int32_t": '"i"',
}
"""The characters of the struct module for types in C."""


class TakenArgument(NamedTuple):
    """How an argument is taken: declarations, statements, and what the kernel is given."""

    declarations: list[str]
    statements: list[str]
    given: list[str]


class KernelWrapper(NamedTuple):
    """A kernel as Python calls it: its name there and in C, and its text."""

    name: str
    in_c: str
    text: str


def wrap(name: str, kernel: Translated, kinds: Sequence[Value], *, nogil: bool) -> KernelWrapper:
    """Return the function that Python calls for a kernel."""
    short = name.rpartition(".")[2]
    shell = _Shell(short, kernel)
    taken = [shell.take(place, kind) for place, kind in enumerate(kinds)]
    in_c = f"enter_{kernel.name}"
    declarations = [line for each in taken for line in each.declarations]
    statements = [line for each in taken for line in each.statements]
    given = ", ".join(part for each in taken for part in each.given)
    call = f"{kernel.name}({given});"
    result, lines = _returned(kernel.result)
    if result:
        declarations.append(f"{result} result;")
        call = f"result = {call}"
    if nogil:
        call = f"Py_BEGIN_ALLOW_THREADS\n  {call}\n  Py_END_ALLOW_THREADS"
    if shell.n_views:
        declarations = [f"Py_buffer views[{shell.n_views}];", "int n_views = 0;", *declarations]
    ends = ["while (n_views > 0) {", "  PyBuffer_Release(&views[--n_views]);", "}"] if shell.n_views else []
    body = [
        *declarations,
        "PyObject *found = NULL;",
        "(void)self;",
        f'if (!check_number("{short}", n, {len(kinds)})) {{',
        "  return NULL;",
        "}",
        *statements,
        call,
        *lines,
        "end:",
        *ends,
        "return found;",
    ]
    text = "".join(f"  {line}\n" for line in body).replace("  end:", "end:")
    head = f"static PyObject *{in_c}(PyObject *self, PyObject *const *args, Py_ssize_t n)"
    return KernelWrapper(name, in_c, f"{head} {{\n{text}}}\n")


class _Shell:
    """What takes the arguments of a kernel apart."""

    def __init__(self, name: str, kernel: Translated) -> None:
        self._name = name
        self._kernel = kernel
        self.n_views = 0

    def take(self, place: int, kind: Value) -> TakenArgument:
        """Return how an argument is taken."""
        return self._item(f"args[{place}]", place, kind, f"number_{place}")

    def _item(self, given: str, place: int, kind: Value, name: str) -> TakenArgument:
        """Return how an array, a number, or a tuple of them is taken."""
        if isinstance(kind, Together):
            return self._tuple(given, place, kind, name)
        return (
            self._array(given, place, kind) if isinstance(kind, Array) else self._number(given, place, kind, name)
        )

    def _tuple(self, given: str, place: int, kind: Together, name: str) -> TakenArgument:
        items = [
            self._item(f"PyTuple_GetItem({given}, {k})", place, item, f"{name}_{k}")
            for k, item in enumerate(kind.items)
        ]
        check = f'if (!check_tuple({given}, "{self._name}", {place + 1}, {len(items)})) {{'
        return TakenArgument(
            [line for item in items for line in item.declarations],
            [check, "  goto end;", "}", *(line for item in items for line in item.statements)],
            [part for item in items for part in item.given],
        )

    def _array(self, given: str, place: int, kind: Array) -> TakenArgument:
        view, self.n_views = self.n_views, self.n_views + 1
        size, kinds = f"sizeof({kind.text})", "NULL" if isinstance(kind.item, Struct) else KINDS[kind.text]
        is_written = int(place in self._kernel.written)
        expected = f'{{"{self._name}", {place + 1}, {kind.n_dimensions}, {is_written}, {size}, {kinds}}}'
        extents = [f"views[{view}].shape[{k}]" for k in range(kind.n_dimensions)]
        return TakenArgument(
            [f"static const expectation expected_{view} = {expected};"],
            [f"if (!take_array({given}, &views[{view}], &n_views, &expected_{view})) {{", "  goto end;", "}"],
            [f"({kind.text} *)views[{view}].buf", *extents],
        )

    def _number(self, given: str, place: int, kind: Value, name: str) -> TakenArgument:
        taken = {
            REAL: f"PyFloat_AsDouble({given})",
            SINGLE: f"(float)PyFloat_AsDouble({given})",
            WHOLE: f"PyLong_AsLongLong({given})",
            TRUTH: f"PyObject_IsTrue({given})",
        }
        if not isinstance(kind, Scalar) or kind not in taken:
            raise TypeError(f"argument {place + 1} of {self._name} is {kind}, expected an array or a number")
        check = [f"if ({name} == -1 && PyErr_Occurred() != NULL) {{", "  goto end;", "}"]
        return TakenArgument([f"{kind.text} {name};"], [f"{name} = {taken[kind]};", *check], [name])


def _returned(kind: Value | None) -> tuple[str, list[str]]:
    """Return the type of a kernel's result, none if it has none, and the statements that make it Python's."""
    if kind is None or kind == NONE:
        return "", ["found = Py_NewRef(Py_None);"]
    if isinstance(kind, Results):
        parts = [_made(f"result.item{k}", item) for k, item in enumerate(kind.items)]
        return kind.text, [f"found = PyTuple_Pack({len(parts)}, {', '.join(parts)});"]
    if not isinstance(kind, Scalar):
        raise TypeError(f"a kernel returns {kind}, expected a number")
    return kind.text, [f"found = {_made('result', kind)};"]


def _made(text: str, kind: Value) -> str:
    makers = {REAL: "PyFloat_FromDouble", TRUTH: "PyBool_FromLong", UNSIGNED: "PyLong_FromUnsignedLongLong"}
    return f"{makers.get(kind, 'PyLong_FromLongLong') if isinstance(kind, Scalar) else ''}({text})"


def module(
    wrapped: Sequence[KernelWrapper], loops: Sequence[tuple[str, str]], sources: Sequence[str], digest: str
) -> str:
    """Return the definition of the module, with the names and functions of loops."""
    return MODULE.format(
        methods="".join(_methods(wrapped)),
        loops="".join(
            f'  if (add_loop(loops, "{name}", {in_c})) {{\n    return -1;\n  }}\n' for name, in_c in loops
        ),
        sources=" ".join(sources),
        digest=digest,
    )


def _methods(wrapped: Sequence[KernelWrapper]) -> Iterator[str]:
    for each in wrapped:
        yield f'  {{"{each.name}", (PyCFunction)(void (*)(void)){each.in_c}, METH_FASTCALL, NULL}},\n'
