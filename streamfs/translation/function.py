"""Translation of one function of restricted Python, for given types of its arguments, from its syntax tree."""

import ast
from collections.abc import Iterable
from typing import NamedTuple

from streamfs.errors import TranslationError
from streamfs.translation.expressions import BINARY, Expressions, Translated, Typed, bare, extents
from streamfs.translation.values import NONE, REAL, TRUTH, WHOLE, Array, Results, Scalar, Value, unified


class Row(NamedTuple):
    """A row of an array of two dimensions: its name, its type, and the row's number in C."""

    array: str
    kind: Array
    text: str


class Function(Expressions):
    """A function of restricted Python, as it is called with arguments of given types.

    Numbers, arrays of numbers and records, loops over ranges, conditions and calls of functions of the same kind
    are translated. Operations keep their order, and mean in C what they mean in Python; whatever else is refused.

    Raises
    ------
    TranslationError
        If the function has anything that is not translated, with its place.
    """

    def translate(self) -> Translated:
        """Return the function in C."""
        before = None
        while before != (self._locals, self._result):
            before = dict(self._locals), self._result
            self._calls, self._written = {}, set()
            body = self._statements(self._tree.body, 1)
        written = frozenset(place for place, name in enumerate(self._arguments) if name in self._written)
        text = f"{self._comment()}{self._head()} {{\n{self._declarations(body)}{body}}}\n"
        return Translated(self._name, text, self._result, written, tuple(self._calls))

    def _comment(self) -> str:
        text = " ".join((ast.get_docstring(self._tree) or "").split("\n\n")[0].split()).replace("*/", "* /")
        return f"/* {text.replace('`', '')} */\n" if text else ""

    def _head(self) -> str:
        parameters: list[str] = []
        for name in self._arguments:
            kind = self._kinds[name]
            if isinstance(kind, Array):
                parameters.append(f"{'' if name in self._written else 'const '}{kind.text} *{name}")
                parameters += [f"int32_t {extent}" for extent in extents(name, kind)]
            elif kind != NONE:
                parameters.append(f"{kind.text} {name}")
        result = "void" if self._result is None else text_of(self._result)
        return f"static {result} {self._name}({', '.join(parameters)})"

    def _declarations(self, body: str) -> str:
        named: dict[str, list[str]] = {}
        for name, kind in self._locals.items():
            named.setdefault(text_of(kind), []).append(f"{name} = {'0' if isinstance(kind, Scalar) else '{0}'}")
        lines = [f"  {kind} {', '.join(names)};\n" for kind, names in named.items()]
        for name in self._arguments:
            kind = self._kinds[name]
            parts = (name, *(extents(name, kind) if isinstance(kind, Array) else ()))
            lines += [f"  (void){part};\n" for part in parts if kind != NONE and part not in _words(body)]
        return "".join(lines)

    def _statements(self, nodes: Iterable[ast.stmt], depth: int) -> str:
        lines = []
        for node in nodes:
            self._n_changing = 0
            lines.append(self._statement(node, depth))
            if self._n_changing > 1 and not isinstance(node, ast.If | ast.For | ast.While):
                raise self._refuse(node, "changes arrays twice, in an order that C does not settle")
        return "".join(lines)

    def _statement(self, node: ast.stmt, depth: int) -> str:
        pad = "  " * depth
        match node:
            case ast.If() | ast.While(orelse=[]) | ast.For(target=ast.Name(), orelse=[]):
                return self._compound(node, depth)
            case ast.Assign(targets=[target], value=value):
                return "".join(f"{pad}{line}\n" for line in map(_ended, self._assignment(target, value)))
            case ast.AugAssign(target=target, op=op, value=value):
                return f"{pad}{self._in_place(target, op, value)};\n"
            case ast.Expr(value=ast.Constant()):
                return ""
        return f"{pad}{self._simple(node)};\n"

    def _simple(self, node: ast.stmt) -> str:
        match node:
            case ast.Return(value=value):
                return self._return(value)
            case ast.Expr(value=value):
                return self._expression(value).text
            case ast.Break() | ast.Continue():
                return ast.unparse(node)
        raise self._refuse(node)

    def _compound(self, node: ast.If | ast.While | ast.For, depth: int) -> str:
        pad = "  " * depth
        if isinstance(node, ast.If):
            return self._condition(node, depth)
        if isinstance(node, ast.For):
            return self._loop(ast.unparse(node.target), node.iter, node.body, depth)
        test = bare(self._expression(node.test).text)
        return f"{pad}while ({test}) {{\n{self._statements(node.body, depth + 1)}{pad}}}\n"

    def _return(self, value: ast.expr | None) -> str:
        if value is None:
            return "return"
        if isinstance(value, ast.Tuple):
            items = [self._expression(item) for item in value.elts]
            kind = Results(tuple(_scalar(item.kind) for item in items))
            self._result = kind
            return f"return ({kind.text}){{{', '.join(item.text for item in items)}}}"
        result = self._expression(value)
        self._result = unified(self._result, result.kind)
        return f"return {bare(result.text)}"

    def _condition(self, node: ast.If, depth: int) -> str:
        pad, settled = "  " * depth, self._settled(node.test)
        if settled is not None:
            return self._statements(node.body if settled else node.orelse, depth)
        test = bare(self._expression(node.test).text)
        text = f"{pad}if ({test}) {{\n{self._statements(node.body, depth + 1)}{pad}}}"
        if node.orelse:
            text += f" else {{\n{self._statements(node.orelse, depth + 1)}{pad}}}"
        return text + "\n"

    def _loop(self, name: str, over: ast.expr, body: list[ast.stmt], depth: int) -> str:
        """Write a loop; the end is taken once, and a name that is read elsewhere keeps its last value."""
        pad = "  " * depth
        match over:
            case ast.Call(func=ast.Name(id="range"), args=args):
                index = name if self._is_own(name) else f"{name}_at"
                head = self._range(index, over, args)
                first = "" if index == name else f"{pad}  {name} = {index};\n"
                if first:
                    self._assign(name, WHOLE)
                else:
                    self._kinds.setdefault(name, WHOLE)
            case ast.Name(id=array) if (
                isinstance(kind := self._kinds.get(array), Array) and kind.n_dimensions == 1
            ):
                self._assign(name, kind.item)
                head = f"for (int32_t {name}_at = 0; {name}_at < n_{array}; {name}_at++)"
                first = f"{pad}  {name} = {array}[{name}_at];\n"
            case _:
                raise self._refuse(over)
        return f"{pad}{head} {{\n{first}{self._statements(body, depth + 1)}{pad}}}\n"

    def _range(self, index: str, over: ast.expr, args: list[ast.expr]) -> str:
        match args:
            case [_] | [_, _]:
                sign, step = "<", "++"
            case [_, _, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))]:
                sign, step = ">", "--"
            case _:
                raise self._refuse(over)
        low = "0" if len(args) == 1 else bare(self._expression(args[0]).text)
        end = args[min(1, len(args) - 1)]
        high = bare(self._expression(end).text)
        if self._is_fixed(end):
            return f"for (int32_t {index} = {low}; {index} {sign} {high}; {index}{step})"
        return f"for (int32_t {index} = {low}, end_{index} = {high}; {index} {sign} end_{index}; {index}{step})"

    def _is_own(self, name: str) -> bool:
        """Return whether a name is used by loops over it alone."""
        loops = [
            each for each in ast.walk(self._tree) if isinstance(each, ast.For) and ast.unparse(each.target) == name
        ]
        inside = {id(part) for loop in loops for each in loop.body for part in ast.walk(each)}
        named = [each for each in ast.walk(self._tree) if isinstance(each, ast.Name) and each.id == name]
        targets = {id(loop.target) for loop in loops}
        return all(
            id(each) in targets or (id(each) in inside and isinstance(each.ctx, ast.Load)) for each in named
        )

    def _is_fixed(self, node: ast.expr) -> bool:
        """Return whether an expression reads no name that the function assigns, and no array."""
        assigned = {each.id for each in ast.walk(self._tree) if isinstance(each, ast.Name) and _is_stored(each)}
        return not any(
            (isinstance(each, ast.Call) and ast.unparse(each.func) != "len")
            or (isinstance(each, ast.Subscript) and not ast.unparse(each.value).endswith(".shape"))
            or (isinstance(each, ast.Name) and each.id in assigned)
            for each in ast.walk(node)
        )

    def _assignment(self, target: ast.expr, value: ast.expr) -> list[str]:
        if not isinstance(target, ast.Tuple):
            return [self._assigned(target, self._expression(value))]
        if isinstance(value, ast.Tuple):
            if self._depends(target, value):
                raise self._refuse(value, "reads what is assigned at once")
            pairs = zip(target.elts, value.elts, strict=True)
            return [self._assigned(each, self._expression(of)) for each, of in pairs]
        given = self._expression(value)
        if not isinstance(given.kind, Results):
            raise self._refuse(value)
        name = f"{ast.unparse(value).split('(')[0].split('.')[-1].lstrip('_')}_result"
        self._locals[name] = given.kind
        lines = [f"{name} = {given.text}"]
        for place, (each, kind) in enumerate(zip(target.elts, given.kind.items, strict=True)):
            if not (isinstance(each, ast.Name) and each.id == "_"):
                lines.append(self._assigned(each, Typed(f"{name}.item{place}", kind)))
        return lines

    def _depends(self, target: ast.Tuple, value: ast.Tuple) -> bool:
        """Return whether a value reads what an earlier target of the same assignment is."""
        return any(
            ast.unparse(each) == ast.unparse(part)
            for place, each in enumerate(target.elts)
            for later in value.elts[place + 1 :]
            for part in ast.walk(later)
            if isinstance(part, ast.expr)
        )

    def _assigned(self, target: ast.expr, value: Typed) -> str:
        if isinstance(target, ast.Name):
            self._assign(target.id, value.kind)
            return f"{target.id} = {bare(value.text)}"
        row = self._row(target)
        if row is not None:
            at = f"{row.text} * {extents(row.array, row.kind)[1]} + column"
            loop = f"for (int32_t column = 0; column < {extents(row.array, row.kind)[1]}; column++)"
            return f"{loop} {{ {row.array}[{at}] = {value.text}; }}"
        return f"{self._place(target).text} = {bare(value.text)}"

    def _row(self, target: ast.expr) -> Row | None:
        """Return the row of an array that is assigned to as a whole; None if it is an element."""
        match target:
            case ast.Subscript(value=ast.Name(id=name), slice=place) if not isinstance(place, ast.Tuple):
                kind = self._kinds.get(name)
                if isinstance(kind, Array) and kind.n_dimensions == 2:
                    self._written.add(name)
                    return Row(name, kind, self._expression(place).text)
        return None

    def _assign(self, name: str, kind: Value) -> None:
        if name in self._arguments:
            self._kinds[name] = unified(self._kinds[name], kind)
        else:
            self._locals[name] = unified(self._locals.get(name), kind)

    def _in_place(self, target: ast.expr, op: ast.operator, value: ast.expr) -> str:
        given = self._expression(value)
        if isinstance(target, ast.Name):
            self._assign(target.id, given.kind)
        place = self._place(target)
        if isinstance(op, ast.BitOr):
            return f"{place.text} |= {given.text}"
        if type(op) in BINARY or (isinstance(op, ast.Div) and place.kind == REAL):
            return f"{place.text} {BINARY.get(type(op), '/')}= {given.text}"
        raise self._refuse(value, f"in place by {type(op).__name__} is not translated")

    def _place(self, target: ast.expr) -> Typed:
        """Return what is assigned to, and note that its array is changed."""
        inner = target
        while isinstance(inner, ast.Subscript | ast.Attribute):
            inner = inner.value
        if inner is not target and isinstance(inner, ast.Name):
            self._written.add(inner.id)
        return self._expression(target)


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _ended(line: str) -> str:
    """Return a statement with its end."""
    return line if line.endswith("}") else f"{line};"


def _words(text: str) -> set[str]:
    """Return the names in a text in C."""
    return set("".join(sign if sign.isalnum() or sign == "_" else " " for sign in text).split())


def text_of(kind: Value) -> str:
    """Return the type in C."""
    if isinstance(kind, Array):
        raise TranslationError("an array is not translated as a local name or a result")
    return kind.text


def _scalar(kind: Value) -> Scalar:
    if not isinstance(kind, Scalar):
        raise TranslationError(f"a part of a result is {kind}, expected a number")
    return WHOLE if kind == TRUTH else kind
