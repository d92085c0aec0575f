"""PTX, as NVRTC makes it from a kernel's text, turned into C++ line by line: a CPU runs what a GPU would be given.

The shim alone cannot see what CUDA's own front end does to the text: `__byte_perm`, for one, clears selector bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gemsim_kernels.cuda_kernel import Kernel
from tests.kernels.gpu_text.nvrtc import compiled
from tests.kernels.gpu_text.shim import HEADER

_REGISTERS = {"pred": "bool", "b16": "uint16_t", "b32": "uint32_t", "b64": "uint64_t"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_COMPARE |= {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_BINARY = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
_SPECIAL = {"%tid": "threadIdx", "%ctaid": "blockIdx", "%ntid": "blockDim", "%nctaid": "gridDim"}


def source(kernel: Kernel) -> str:
    """A C++ file that runs the kernel's PTX over all threads; it takes the same call as the shim's own."""
    text = compiled(kernel, "compute_90").code.rstrip(b"\0").decode()
    body = re.sub(r"//[^\n]*", "", text[text.index("{") :])
    statements = re.findall(r"\s*(\$\w+:|[^;{}]*\{[^;{}]*\}[^;{}]*;|[^;{}]+;)", body)
    lines = [translated(statement) for statement in statements]
    return (
        f'#include "{HEADER}"\nstatic void kernel(const unsigned long long* a) {{\n'
        + "\n".join(lines)
        + '\n}\nextern "C" void run(unsigned across, unsigned down, unsigned threads, const unsigned long long* a) {\n'
        "  launch(across, down, threads, [&] { kernel(a); });\n}\n"
    )


def translated(statement: str) -> str:
    """One PTX statement as one of C++. Raises ValueError for what the kernels are not known to use."""
    statement = " ".join(statement.split()).rstrip(";")
    if statement.endswith(":"):
        return f"{_label(statement[:-1])}: ;"
    if statement.startswith(".reg"):
        kind, name, count = re.match(r"\.reg \.(\w+) %(\w+)<(\d+)>", statement).groups()  # type: ignore[union-attr]
        return f"{_REGISTERS[kind]} " + ", ".join(f"{name}{index} = 0" for index in range(int(count))) + ";"
    if statement.startswith(".pragma"):
        return ""
    guard = re.match(r"@(!?)%(\w+) (.*)", statement)
    if guard:
        return f"if ({guard[1]}{guard[2]}) {translated(guard[3])}"
    opcode, _, rest = statement.partition(" ")
    name, *parts = opcode.split(".")
    return _instruction(name, parts, [_operand(part) for part in re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", rest)])


def _instruction(name: str, parts: list[str], given: list[str]) -> str:
    kind = _type(parts[-1]) if parts else ""
    if name in ("ld", "st"):
        return _memory(name, parts, kind, given)
    if name in ("bra", "ret"):
        return f"goto {_label(given[0])};" if name == "bra" else "return;"
    values = [f"({kind}){value}" for value in given[1:]]
    if name in _BINARY:
        return f"{given[0]} = {values[0]} {_BINARY[name]} {values[1]};"
    if name in _VALUE:
        return f"{given[0]} = {_VALUE[name](parts, given[1:], values)};"
    raise ValueError(f"PTX that this translation does not know: {name}.{'.'.join(parts)} {given}")


def _shift(parts: list[str], given: list[str], values: list[str], sign: str) -> str:
    """Shifts past the width give 0 in PTX; in C++ they are undefined."""
    return f"{given[1]} >= {int(parts[-1][1:])}u ? 0 : {values[0]} {sign} {given[1]}"


def _multiply(parts: list[str], given: list[str], values: list[str]) -> str:
    wide = f"(uint{2 * int(parts[-1][1:])}_t)" if parts[0] == "wide" else ""
    return f"{wide}{values[0]} * {values[1]}" + (f" + {given[2]}" if len(given) > 2 else "")


def _three(parts: list[str], given: list[str], values: list[str]) -> str:
    if given[3] != "0x6a":
        raise ValueError(f"PTX that this translation does not know: lop3 with {given[3]}")
    return f"({given[0]} & {given[1]}) ^ {given[2]}"


# The value of an instruction from its suffixes, its sources as they are, and its sources in its own type.
_VALUE: dict[str, Callable[[list[str], list[str], list[str]], str]] = {
    "mov": lambda parts, given, values: values[0],
    "cvta": lambda parts, given, values: values[0],
    "cvt": lambda parts, given, values: f"({_type(parts[-2])}){values[0]}",
    "neg": lambda parts, given, values: f"-{values[0]}",
    "not": lambda parts, given, values: f"{'!' if parts == ['pred'] else '~'}{values[0]}",
    "shl": lambda parts, given, values: _shift(parts, given, values, "<<"),
    "shr": lambda parts, given, values: _shift(parts, given, values, ">>"),
    "mul": _multiply,
    "mad": _multiply,
    "setp": lambda parts, given, values: f"{values[0]} {_COMPARE[parts[0]]} {values[1]}",
    "selp": lambda parts, given, values: f"{given[2]} ? {values[0]} : {values[1]}",
    "prmt": lambda parts, given, values: f"prmt({', '.join(given)})",
    "lop3": _three,
}


def _memory(name: str, parts: list[str], kind: str, given: list[str]) -> str:
    if parts[0] == "param":
        return f"{given[0]} = ({kind})a[{given[1].rsplit('_', 1)[1]}];"
    register, address = given if name == "ld" else given[::-1]
    if "v4" not in parts:
        place = f"*({kind}*)({address})"
        return f"{register} = {place};" if name == "ld" else f"{place} = ({kind}){register};"
    words = register.split("|")
    if name == "st":
        return f"__stcs((uint4*)({address}), uint4{{{', '.join(words)}}});"
    moves = " ".join(f"{word} = v.{lane};" for word, lane in zip(words, "xyzw", strict=True) if word)
    return f"{{ const uint4 v = __ldcs((const uint4*)({address})); {moves} }}"


def _operand(text: str) -> str:
    if text[0] == "{":
        return "|".join(word.strip().lstrip("%").replace("_", "") for word in text[1:-1].split(","))
    if text[0] == "[":
        return " + ".join(_operand(part) for part in text[1:-1].split("+"))
    for special, mine in _SPECIAL.items():
        if text.startswith(special):
            return mine + text[len(special) :]
    return text.lstrip("%")


def _type(suffix: str) -> str:
    if suffix == "pred":
        return "bool"
    sign, bits = suffix[0], suffix[1:]
    return f"{'int' if sign == 's' else 'uint'}{bits}_t" if bits.isdigit() else "uint64_t"


def _label(text: str) -> str:
    return text.replace("$", "")
