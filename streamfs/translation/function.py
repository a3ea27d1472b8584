"""Translation of one function of restricted Python, for given types of its arguments, from its syntax tree."""

import ast
from collections.abc import Iterable

from streamfs.errors import TranslationError
from streamfs.translation.arrays import ArrayExpressions, item_of
from streamfs.translation.expressions import (
    BINARY,
    BITS,
    Translated,
    Typed,
    arguments_of,
    bare,
    called,
    referenced,
    root_of,
)
from streamfs.translation.values import (
    REAL,
    TRUTH,
    WHOLE,
    Array,
    Reference,
    Results,
    Scalar,
    Struct,
    Together,
    Value,
    declared,
    unified,
)


class Function(ArrayExpressions):
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
            self._calls, self._written, self._roots = {}, set(), {}
            body = self._statements(self._tree.body, 1)
        written = frozenset(place for place, name in enumerate(self._arguments) if name in self._written)
        text = f"{self._comment()}{self._head()} {{\n{self._declarations(body)}{body}}}\n"
        return Translated(self._name, text, self._result, written, tuple(self._calls))

    def _comment(self) -> str:
        text = " ".join((ast.get_docstring(self._tree) or "").split("\n\n")[0].split()).replace("*/", "* /")
        return f"/* {text.replace('`', '')} */\n" if text else ""

    def _head(self) -> str:
        parameters: list[str] = []
        is_vectorised = self._unit.is_vectorised(self._function)
        for name in self._arguments:
            is_read = (
                self._unit.has_constants and isinstance(self._kinds[name], Array) and name not in self._written
            )
            first, *others = [*declared(name, self._kinds[name]), ""]
            if is_vectorised and name in self._written:
                first = first.replace("*", "*restrict ")
            parameters += [f"const {first}" if is_read else first, *others]
        result = "void" if self._result is None else text_of(self._result)
        storage = "static EACH_WIDTH" if is_vectorised else self._unit.storage
        return f"{storage} {result} {self._name}({', '.join(filter(None, parameters)) or 'void'})"

    def _declarations(self, body: str) -> str:
        named: dict[str, list[str]] = {}
        arrays = []
        for name, kind in self._locals.items():
            if isinstance(kind, Scalar | Results):
                named.setdefault(kind.text, []).append(f"{name} = {'0' if isinstance(kind, Scalar) else '{0}'}")
            else:
                arrays += [f"  {part} = 0;\n" for part in declared(name, kind)]
        lines = [*(f"  {kind} {', '.join(names)};\n" for kind, names in named.items()), *arrays]
        for name in self._arguments:
            parts = [part.rpartition(" ")[2].lstrip("*") for part in declared(name, self._kinds[name])]
            lines += [f"  (void){part};\n" for part in parts if part not in _words(body)]
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
            case ast.If() | ast.While(orelse=[]) | ast.For(orelse=[]):
                return self._compound(node, depth)
            case ast.Assign(targets=targets, value=value):
                lines = [line for target in reversed(targets) for line in self._assignment(target, value)]
                return "".join(f"{pad}{line}\n" for line in map(_ended, lines))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return f"{pad}{self._assigned(target, self._expression(value), value)};\n"
            case ast.AugAssign(target=target, op=op, value=value):
                return f"{pad}{self._in_place(target, op, value)};\n"
            case ast.Expr(value=ast.Constant()) | ast.Pass():
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
            return self._for(node, depth)
        test = bare(self._expression(node.test).text)
        return f"{pad}while ({test}) {{\n{self._statements(node.body, depth + 1)}{pad}}}\n"

    def _return(self, value: ast.expr | None) -> str:
        if value is None:
            return "return"
        if isinstance(value, ast.Tuple):
            items = [self._expression(item) for item in value.elts]
            kind = Results(tuple(_item(item.kind) for item in items))
            if isinstance(self._result, Results) and self._result != kind:
                kind = Results(tuple(map(unified, self._result.items, kind.items)))
            self._result = kind
            parts = [part for item in items for part in (item.text, *item.extents)]
            return f"return ({kind.text}){{{', '.join(parts)}}}"
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

    def _for(self, node: ast.For, depth: int) -> str:
        match node:
            case ast.For(target=ast.Name(id=name), iter=over):
                return self._loop(name, over, node.body, depth)
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=place), ast.Name(id=name)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[over]),
            ):
                return self._loop(name, over, node.body, depth, place)
        raise self._refuse(node.target)

    def _loop(self, name: str, over: ast.expr, body: list[ast.stmt], depth: int, place: str = "") -> str:
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
            case _:
                array = self._array(over)
                if not isinstance(array.kind, Array) or array.kind.n_dimensions != 1:
                    raise self._refuse(over)
                item = referenced(Typed(f"{array.text}[{name}_at]", array.kind.item))
                self._assign(name, item.kind)
                head = f"for (whole {name}_at = 0; {name}_at < {array.extents[0]}; {name}_at++)"
                first = f"{pad}  {name} = {bare(item.text)};\n"
                if place:
                    self._assign(place, WHOLE)
                    first = f"{pad}  {place} = {name}_at;\n{first}"
        return f"{pad}{head} {{\n{first}{self._statements(body, depth + 1)}{pad}}}\n"

    def _range(self, index: str, over: ast.expr, args: list[ast.expr]) -> str:
        match args:
            case [_] | [_, _]:
                sign, step = "<", "++"
            case [_, _, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))]:
                sign, step = ">", "--"
            case [_, _, by]:
                return self._stepped(index, args, by)
            case _:
                raise self._refuse(over)
        low = "0" if len(args) == 1 else bare(self._expression(args[0]).text)
        end = args[min(1, len(args) - 1)]
        high = bare(self._expression(end).text)
        if self._is_fixed(end):
            return f"for (whole {index} = {low}; {index} {sign} {high}; {index}{step})"
        return f"for (whole {index} = {low}, end_{index} = {high}; {index} {sign} end_{index}; {index}{step})"

    def _stepped(self, index: str, args: list[ast.expr], by: ast.expr) -> str:
        """Write the head of a loop with a step, which is positive or negative, but not 0."""
        low, high, step = (bare(self._expression(each).text) for each in (*args[:2], by))
        names = f"whole {index} = {low}, end_{index} = {high}, step_{index} = {step}"
        if isinstance(value := self._look_up(by), int) and value > 0:
            goes_on = f"{index} < end_{index}"
        else:
            goes_on = f"step_{index} > 0 ? {index} < end_{index} : {index} > end_{index}"
        return f"for ({names}; {goes_on}; {index} += step_{index})"

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
            return [self._assigned(target, self._expression(value), value)]
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            of = self._array(value.value)
            return self._unpacked(target, [Typed(extent, WHOLE) for extent in of.extents], value)
        if isinstance(value, ast.Tuple):
            if self._depends(target, value):
                raise self._refuse(value, "reads what is assigned at once")
            pairs = zip(target.elts, value.elts, strict=True)
            return [self._assigned(each, self._expression(of), of) for each, of in pairs]
        given = self._expression(value)
        if isinstance(given.kind, Together):
            return self._unpacked(target, list(given.parts), value)
        if not isinstance(given.kind, Results):
            raise self._refuse(value)
        name = f"{ast.unparse(value).split('(')[0].split('.')[-1].lstrip('_')}_result"
        self._locals[name] = given.kind
        items = [item_of(called(name, given.kind), place) for place in range(len(given.kind.items))]
        return [f"{name} = {given.text}", *self._unpacked(target, items, value)]

    def _unpacked(self, target: ast.Tuple, items: list[Typed], value: ast.expr) -> list[str]:
        """Assign the items of a value to names, but for those called _."""
        pairs = zip(target.elts, items, strict=True)
        return [
            self._assigned(each, item, value)
            for each, item in pairs
            if not (isinstance(each, ast.Name) and each.id == "_")
        ]

    def _depends(self, target: ast.Tuple, value: ast.Tuple) -> bool:
        """Return whether a value reads what an earlier target of the same assignment is."""
        return any(
            ast.unparse(each) == ast.unparse(part)
            for place, each in enumerate(target.elts)
            for later in value.elts[place + 1 :]
            for part in ast.walk(later)
            if isinstance(part, ast.expr)
        )

    def _assigned(self, target: ast.expr, value: Typed, source: ast.expr) -> str:
        value = referenced(value)
        if isinstance(target, ast.Name):
            return self._bound(target.id, value, source)
        place = self._place(target)
        if isinstance(place.kind, Array):
            size = " * ".join(place.extents)
            return (
                f"for (whole each_at = 0; each_at < {size}; each_at++) {{ {place.text}[each_at] = {value.text}; }}"
            )
        return f"{place.text} = {'*' * isinstance(place.kind, Struct)}{bare(value.text)}"

    def _bound(self, name: str, value: Typed, source: ast.expr) -> str:
        """Assign to a name; one of an array stands for its place and its lengths."""
        self._assign(name, value.kind)
        if isinstance(value.kind, Array | Reference | Together):
            root = root_of(source)
            self._roots[name] = self._roots.get(root, root) if root is not None else ""
        places = [part.rpartition(" ")[2].lstrip("*") for part in declared(name, value.kind)] or [name]
        texts = arguments_of(value) or [value.text]
        return "; ".join(f"{place} = {text}" for place, text in zip(places, texts, strict=True))

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
        if type(op) in BITS and place.kind != REAL:
            return f"{place.text} {BITS[type(op)]}= {given.text}"
        if type(op) in BINARY or (isinstance(op, ast.Div) and place.kind == REAL):
            return f"{place.text} {BINARY.get(type(op), '/')}= {given.text}"
        raise self._refuse(value, f"in place by {type(op).__name__} is not translated")

    def _place(self, target: ast.expr) -> Typed:
        """Return what is assigned to, and note that its array is changed."""
        if not isinstance(target, ast.Name):
            self._write(target)
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            return self._array(target.value)  # all of it: kernels fill whole arrays
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
    """Return the type in C of what a function returns."""
    if not isinstance(kind, Scalar | Results):
        raise TranslationError(f"{kind} is not translated as a result")
    return kind.text


def _item(kind: Value) -> Value:
    if not isinstance(kind, Scalar | Array):
        raise TranslationError(f"a part of a result is {kind}, expected a number or an array")
    return WHOLE if kind == TRUTH else kind
