"""The toolkit's `npu-smi`: the queries with which setup scripts find out what NPU a machine has.

The layout of the answers is that of the driver's command, whose users cut them apart with awk and
regular expressions. What only hardware has (temperatures, power, buses, firmware) is NA. Every
other query is refused by name.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.errors import OpwrightError
from opwright.twin.toolkit import installed_toolkit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.twin.toolkit import Toolkit

__all__ = ["Machine", "NpuQueryError", "answer", "main", "measure"]

MEBIBYTE = 1 << 20
CHIP = 0  # each of the twin's NPUs has one
UNKNOWN = "NA"
DRIVER_PACKAGE = b"driver"
MOST_CHARACTERS = 128  # of a version


class NpuQueryError(OpwrightError):
    """A query of npu-smi that the twin does not answer."""

    id = "OPW-T060"
    title = "npu-smi cannot answer that for the twin"
    usual_fix = "use one of the allowed queries; the twin has no sensors, links or firmware"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The twin's devices.

    Parameters
    ----------
    soc
        Name of the chip, as torch_npu sees it.
    devices
        Number of NPUs.
    memory
        Bytes of each.
    driver
        Version that the twin reports for the driver.
    """

    soc: str
    devices: int
    memory: int
    driver: str

    @property
    def chip(self) -> dict[str, str]:
        """The chip's name in the parts that the driver gives: Ascend and 910B4, or Ascend910_9391.

        Public setup scripts put them together again to SOC_VERSION.
        """
        name, _, npu = self.soc.partition("_")
        if npu:
            return {"Chip Type": "Ascend", "Chip Name": name, "NPU Name": npu}
        return {"Chip Type": "Ascend", "Chip Name": name.removeprefix("Ascend")}

    @property
    def megabytes(self) -> int:
        """Memory of each device, in the unit of the driver's tables."""
        return self.memory // MEBIBYTE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run npu-smi as a command; return its exit code: 1 for a query that is refused."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.write(answer(words, lambda: measure(installed_toolkit())))
    except OpwrightError as error:
        sys.stderr.write(f"npu-smi: {error}\n")
        return 1
    return 0


def measure(toolkit: Toolkit) -> Machine:
    """Ask the twin's libraries, which read the settings from the environment.

    Raises
    ------
    NpuQueryError
        OPW-T060, if a setting cannot be used.
    """
    acl = ctypes.CDLL(str(toolkit.libraries / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)
    hal = ctypes.CDLL(str(toolkit.libraries / "libascend_hal.so"))
    acl.aclrtGetSocName.restype = acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    devices = ctypes.c_int()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    version = ctypes.create_string_buffer(MOST_CHARACTERS)
    failed = (
        hal.drvGetDevNum(ctypes.byref(devices))
        or acl.aclrtSetDevice(0)
        or acl.aclrtGetMemInfo(0, ctypes.byref(free), ctypes.byref(total))
        or acl.aclsysGetVersionStr(ctypes.create_string_buffer(DRIVER_PACKAGE), version)
    )
    if failed:
        raise NpuQueryError(where="the twin", got=acl.aclGetRecentErrMsg().decode())
    return Machine(
        soc=acl.aclrtGetSocName().decode(),
        devices=devices.value,
        memory=total.value,
        driver=version.value.decode(),
    )


def answer(words: Sequence[str], machine: Callable[[], Machine]) -> str:
    """Return what the command prints.

    Parameters
    ----------
    words
        The command line behind `npu-smi`.
    machine
        Called for a query that the twin answers.

    Raises
    ------
    NpuQueryError
        OPW-T060.
    """
    if not words or words[0] in {"-h", "--help", "help"}:
        return HELP
    if words == ["-v"]:
        return f"npu-smi version: {machine().driver}\n"
    if words[0] != "info":
        raise _refusal(words)
    asked = _parse(words)
    found = machine()
    if asked.list:
        return _lines({"Total Count": str(found.devices)}) + "".join(
            "\n" + _lines({"NPU ID": str(npu), "Chip Count": "1"}) for npu in range(found.devices)
        )
    if asked.map:
        return _map(found)
    if asked.type is None:
        return _table(found, range(found.devices) if asked.npu is None else [_npu(asked, found)])
    return _lines(_about_one(asked, found, words))


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="npu-smi info", add_help=False, exit_on_error=False)
    parser.add_argument("-l", dest="list", action="store_true")
    parser.add_argument("-m", dest="map", action="store_true")
    parser.add_argument("-t", dest="type")
    parser.add_argument("-i", dest="npu")
    parser.add_argument("-c", dest="chip")
    try:
        asked, rest = parser.parse_known_args(words[1:])
    except argparse.ArgumentError:
        raise _refusal(words) from None
    values = (asked.type, asked.npu, asked.chip)
    alone = [option for option in (asked.list, asked.map) if option]
    is_mixed = len(alone) > 1 or (alone and any(value is not None for value in values))
    if rest or is_mixed or (asked.chip is not None and asked.type is None):
        raise _refusal(words)
    return asked


def _refusal(words: Sequence[str]) -> NpuQueryError:
    return NpuQueryError(
        where="the command line",
        got=" ".join(("npu-smi", *words)),
        allowed=("-v", "info", "info -l", "info -m", *(f"info -t {kind} -i ID" for kind in KINDS)),
    )


def _npu(asked: argparse.Namespace, machine: Machine) -> int:
    for option, value, count in (("-i", asked.npu, machine.devices), ("-c", asked.chip, CHIP + 1)):
        if value is not None and not (value.isascii() and value.isdigit() and int(value) < count):
            raise NpuQueryError(
                where=f"option {option}",
                got=value,
                allowed=(f"0 to {count - 1}",),
                fix="`npu-smi info -l` lists the NPUs; each has chip 0",
            )
    return int(asked.npu or 0)


def _about_one(
    asked: argparse.Namespace, machine: Machine, words: Sequence[str]
) -> Mapping[str, str]:
    if asked.type not in KINDS or asked.npu is None:
        raise _refusal(words)
    npu = {"NPU ID": str(_npu(asked, machine))}
    return npu | KINDS[asked.type](machine, None if asked.chip is None else CHIP)


def _board(machine: Machine, chip: int | None) -> dict[str, str]:
    versions = {"Software Version": machine.driver, "Firmware Version": UNKNOWN}
    if chip is None:
        return {
            "Product Name": "opwright twin",
            "Model": UNKNOWN,
            "Manufacturer": "opwright",
            "Serial Number": UNKNOWN,
            **versions,
            "Compatibility": "OK",
            **machine.chip,
            "Chip Count": "1",
        }
    return {"Chip ID": str(chip), **machine.chip, **versions, "PCIe Bus Info": UNKNOWN}


def _usages(machine: Machine, chip: int | None) -> dict[str, str]:
    # A device belongs to the process that uses it: nobody else can be seen there.
    return {
        "Chip ID": str(chip or CHIP),
        "HBM Capacity(MB)": str(machine.megabytes),
        "HBM Usage Rate(%)": "0",
        "Aicore Usage Rate(%)": "0",
    }


def _memory(machine: Machine, chip: int | None) -> dict[str, str]:
    return {"Chip ID": str(chip or CHIP), "HBM Capacity(MB)": str(machine.megabytes)}


def _health(_machine: Machine, _chip: int | None) -> dict[str, str]:
    return {"Health": "OK"}


KINDS: dict[str, Callable[[Machine, int | None], dict[str, str]]] = {
    "board": _board,
    "usages": _usages,
    "memory": _memory,
    "health": _health,
}


def _lines(values: Mapping[str, str]) -> str:
    return "".join(f"\t{name:<31}: {value}\n" for name, value in values.items())


def _map(machine: Machine) -> str:
    chip = machine.chip
    name = chip["Chip Name"] if "NPU Name" in chip else " ".join(chip.values())
    rows = [("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")]
    rows += [(str(npu), str(CHIP), str(npu), name) for npu in range(machine.devices)]
    return "".join("\t" + " ".join(f"{cell:<30}" for cell in row).rstrip() + "\n" for row in rows)


def _row(*cells: str) -> str:
    widths = DEVICES if len(cells) == len(DEVICES) else PROCESSES
    columns = zip(cells, widths, strict=True)
    return "|" + "|".join(f" {cell:<{width}} " for cell, width in columns) + "|"


# Widths of the columns of the two tables.
DEVICES = (25, 13, 50)
PROCESSES = (25, 13, 24, 23)
WIDTH = 94
LINE, DOUBLE = ("+" + "+".join(mark * width for width in (27, 15, 52)) + "+" for mark in ("-", "="))


def _table(machine: Machine, npus: Sequence[int]) -> str:
    chip = machine.chip["Chip Name"]
    used = f"0    / {machine.megabytes}"
    head = [
        "+" + "-" * (WIDTH + 2) + "+",
        f"| {f'npu-smi {machine.driver}':<33}{f'Version: {machine.driver}':<{WIDTH - 33}} |",
        LINE,
        _row("NPU   Name", "Health", "Power(W)    Temp(C)          Hugepages-Usage(page)"),
        _row("Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"),
        DOUBLE,
    ]
    devices = [
        line
        for npu in npus
        for line in (
            _row(f"{npu:<5} {chip}", "OK", f"{UNKNOWN:<12}{UNKNOWN:<18}0    / 0"),
            _row(str(CHIP), UNKNOWN, f"{0:<12}{'0    / 0':<18}{used}"),
            DOUBLE,
        )
    ]
    processes = [
        LINE,
        _row("NPU     Chip", "Process id", "Process name", "Process memory(MB)"),
        DOUBLE,
        *(
            line
            for npu in npus
            for line in (f"| {f'No running processes found in NPU {npu}':<{WIDTH}} |", DOUBLE)
        ),
    ]
    return "\n".join([*head, *devices, *processes]) + "\n"


HELP = """\
usage: npu-smi -v
       npu-smi info [-i ID]
       npu-smi info -l | -m
       npu-smi info -t board | usages | memory | health -i ID [-c 0]

Says what opwright's twin offers, in the layout of the driver's command. See docs/twin.md.
"""


if __name__ == "__main__":
    sys.exit(main())
