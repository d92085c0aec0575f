"""Machine code of a kernel, and what one turn of its loop over shards costs; disassembled without a GPU."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gemsim_kernels.cuda_kernel import Kernel
from tests.kernels.gpu_text.nvrtc import compiled, tool

MISSING = "no disassembler: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm (no GPU needed)"

# What runs on the 64 lanes of the integer pipe. IMAD runs on the other; U… once for a warp; loads and jumps elsewhere.
_ALU = re.compile(
    r"(LOP3|PRMT|SHF|IADD|IADD3|VIADD|ISETP|LEA|SEL|PLOP3|MOV|CS2R|IABS|IMNMX|VIMNMX|SGXT|BMSK|R2P|P2R|LOP|SHL|SHR)\b"
)
_LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);")


@dataclass(frozen=True, slots=True)
class Instruction:
    at: int
    name: str
    operands: str


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop over shards. Data loads carry the mark of streaming access (EF), maps and addresses do not."""

    body: list[Instruction]

    @property
    def loads(self) -> list[str]:
        return [one.name for one in self.body if one.name.startswith("LDG") and ".EF" in one.name]

    @property
    def alu_per_word(self) -> float:
        """Integer-pipe instructions for each 4-byte word of data loaded."""
        return sum(bool(_ALU.match(one.name)) for one in self.body) / (4 * len(self.loads))


@dataclass(frozen=True, slots=True)
class Machine:
    instructions: list[Instruction]
    registers: int

    @property
    def loop(self) -> Loop:
        """Of the innermost loops that load data and store nothing, the first of those that load most at a turn."""
        spans = [span for one in self.instructions if (span := _back(one)) is not None]
        inner = [span for span in spans if not any(o != span and span[0] <= o[0] and o[1] <= span[1] for o in spans)]
        loops = [Loop([one for one in self.instructions if low <= one.at <= high]) for low, high in inner]
        return max((loop for loop in loops if not _stores(loop)), key=lambda loop: len(loop.loads))

    def count(self, name: str) -> int:
        return sum(one.name.split(".")[0] == name for one in self.instructions)


def _back(one: Instruction) -> tuple[int, int] | None:
    target = re.search(r"0x([0-9a-f]+)\s*$", one.operands) if one.name.startswith("BRA") else None
    return (int(target[1], 16), one.at) if target and int(target[1], 16) < one.at else None


def _stores(loop: Loop) -> bool:
    return any(one.name.startswith("ST") for one in loop.body)


def available() -> bool:
    return tool("cuobjdump") is not None and tool("nvdisasm") is not None


@cache
def machine(kernel: Kernel, architecture: str) -> Machine:
    """The kernel's instructions for one architecture, and the registers of a thread."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(compiled(kernel, architecture).code)
        listing, usage = _run("-sass", cubin), _run("-res-usage", cubin)
    found = [match for line in listing.splitlines() if (match := _LINE.match(line))]
    registers = re.search(r"REG:(\d+)", usage)
    assert found, f"no instructions in the listing of {kernel.name}:\n{listing[:500]}"
    assert registers is not None, f"no registers in the usage of {kernel.name}:\n{usage[:500]}"
    return Machine([Instruction(int(one[1], 16), one[2], one[3].strip()) for one in found], int(registers[1]))


def _run(option: str, cubin: Path) -> str:
    cuobjdump, nvdisasm = tool("cuobjdump"), tool("nvdisasm")
    assert cuobjdump is not None, MISSING
    assert nvdisasm is not None, MISSING
    paths = os.pathsep.join([str(Path(nvdisasm).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [cuobjdump, option, str(cubin)], capture_output=True, text=True, check=True, env={**os.environ, "PATH": paths}
    )
    return done.stdout + done.stderr
