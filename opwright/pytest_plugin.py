"""pytest plugin: --npu-twin runs tests on the twin, --opwright-check checks operators.

It stands outside opwright.twin because pytest imports it in every run, also in those without
--npu-twin.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Generator, Iterator, Sequence

    from opwright.twin.order import Finding
    from opwright.twin.settings import TwinSettings

__all__ = ["pytest_addoption", "pytest_configure", "pytest_load_initial_conftests"]

# Options that say how the twin is to be; None when not given.
NEEDS_TWIN = ("npu_soc", "npu_devices", "npu_kernels", "npu_sync", "npu_order")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; they mean the same as those of `opwright run`."""
    group = parser.getgroup("npu", "Ascend NPU")
    group.addoption("--npu-twin", action="store_true", help="run on the twin of opwright")
    group.addoption("--npu-soc", metavar="NAME", help="with --npu-twin: chip that it reports")
    group.addoption(
        "--npu-devices", metavar="N", type=int, help="with --npu-twin: number of devices"
    )
    group.addoption(
        "--npu-kernels",
        metavar="FILE",
        action="append",
        help="with --npu-twin: Python or C++ file with kernels of operators; may be repeated",
    )
    group.addoption(
        "--npu-sync",
        action="store_true",
        default=None,
        help="with --npu-twin: run each task at its call",
    )
    group.addoption(
        "--npu-order",
        action="store_true",
        default=None,
        help="with --npu-twin: fail a test whose streams use the same memory in no order",
    )
    checks = parser.getgroup("opwright", "checks of operators")
    checks.addoption(
        "--opwright-check",
        metavar="TARGET",
        action="append",
        help="check the operators of this target, an item for each operator and row; without paths "
        "of tests, nothing else is run; may be repeated",
    )
    checks.addoption(
        "--opwright-ledger",
        metavar="FILE",
        help="with --opwright-check: known failures (default: check.toml beside the declaration)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the items of --opwright-check, and what --npu-order does after each test."""
    if config.option.npu_order:
        config.pluginmanager.register(OrderPlugin(), "opwright-order")
    targets: list[str] | None = config.option.opwright_check
    ledger: str | None = config.option.opwright_ledger
    if not targets:
        if ledger is not None:
            message = (
                "--opwright-ledger can only be used with --opwright-check; add it, or leave it out"
            )
            raise pytest.UsageError(message)
        return
    from opwright.check.pytest_plugin.items import ChecksPlugin  # noqa: PLC0415 - only where it is used

    plugin = ChecksPlugin(targets, None if ledger is None else Path(ledger))
    config.pluginmanager.register(plugin, "opwright-check")
    is_worker = hasattr(config, "workerinput")  # of pytest-xdist, which has the paths already
    if not is_worker and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []


class OrderPlugin:
    """Fails a test in which streams used the same memory although nothing orders them."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None]:
        """Run the test, then look at what was found in its fixtures and in itself."""
        with fail_on_findings():
            yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None]:
        """End the fixtures, then look at what was found there, or in one that failed to begin."""
        with fail_on_findings():
            yield


@contextmanager
def fail_on_findings() -> Iterator[None]:
    """Fail if anything was found since the last time."""
    try:
        yield
    finally:  # also of what fails by itself: the next test has nothing to do with it
        findings = take_findings()
    if findings:
        pytest.fail("\n\n".join(map(str, findings)), pytrace=False)


def take_findings() -> Sequence[Finding]:
    """Take what streams did without order since the last time; nothing without torch_npu."""
    if "torch_npu" not in sys.modules:
        return ()
    from opwright.twin import order  # noqa: PLC0415 - importing opwright.twin arms the twin

    return order.take_findings()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put the twin in place before any conftest can import torch_npu."""
    options = early_config.known_args_namespace
    if not options.npu_twin:
        alone = [name for name in NEEDS_TWIN if getattr(options, name) is not None]
        if alone:
            named = ", ".join("--" + name.replace("_", "-") for name in alone)
            message = f"{named} can only be used with --npu-twin; add it, or leave them out"
            raise pytest.UsageError(message)
        return
    from opwright.twin import activation  # noqa: PLC0415 - importing opwright.twin arms the twin
    from opwright.twin.user_kernels import build_packages  # noqa: PLC0415 - for the same reason

    try:
        settings = settings_from(options)
        activation.export(settings, build_packages(settings.kernels))
        activation.arm(settings)
    except OpwrightError as error:
        raise pytest.UsageError(str(error)) from error


def settings_from(options: Namespace) -> TwinSettings:
    """Check the options and turn them into settings."""
    from opwright.twin import settings as rules  # noqa: PLC0415 - importing opwright.twin arms the twin

    soc, devices = options.npu_soc, options.npu_devices
    kernels = tuple(map(Path, options.npu_kernels or ()))
    if missing := [str(file) for file in kernels if not file.is_file()]:
        message = f"--npu-kernels: no such file: {', '.join(missing)}"
        raise pytest.UsageError(message)
    return rules.TwinSettings(
        soc=None if soc is None else rules.check_soc(soc, where="--npu-soc"),
        devices=None if devices is None else rules.check_devices(devices, where="--npu-devices"),
        sync=options.npu_sync,
        order=options.npu_order,
        kernels=kernels,
    )
