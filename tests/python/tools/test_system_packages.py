"""What is asked of the package manager, and what of the user."""

import pytest

from setup import system_packages
from setup.report import SetupError
from setup.system_packages import Need, ensure


class Machine:
    """A machine on which apt installs what it is asked for, if it can."""

    def __init__(self) -> None:
        self.installed: set[str] = set()
        self.commands: list[list[str]] = []
        self.broken_once = False

    def need(self, package: str) -> Need:
        return Need(f"the program {package}", (package,), lambda: package in self.installed)

    def run_logged(self, _title: str, command: list[str], **_options: object) -> None:
        self.commands.append(command)
        if "install" not in command:
            return
        if self.broken_once:
            self.broken_once = False
            raise SetupError("apt-get failed")
        self.installed.update(command[command.index("--no-install-recommends") + 1 :])


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(system_packages, "run_logged", machine.run_logged)
    monkeypatch.setattr(system_packages, "machine_is_debian_family", lambda: True)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return machine


def test_what_is_there_costs_nothing(machine: Machine) -> None:
    machine.installed.add("a")
    ensure([machine.need("a")])
    assert machine.commands == []


def test_root_gets_only_what_is_missing_in_one_go(machine: Machine) -> None:
    machine.installed.add("b")
    ensure([machine.need("a"), machine.need("b"), machine.need("c")])
    assert machine.installed == {"a", "b", "c"}
    assert [command[-2:] for command in machine.commands] == [["a", "c"]]


def test_stale_lists_and_half_done_installations_are_put_right(machine: Machine) -> None:
    machine.broken_once = True
    ensure([machine.need("a")])
    assert machine.installed == {"a"}
    assert ["dpkg", "--configure", "-a"] in machine.commands
    assert ["apt-get", "-q", "update"] in machine.commands


def test_a_package_without_the_program_is_an_error(machine: Machine) -> None:
    with pytest.raises(SetupError, match="the magic not found, though wrong is installed"):
        ensure([Need("the magic", ("wrong",), lambda: False)])


def test_others_than_root_are_told_the_command(machine: Machine, monkeypatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(SetupError, match=r"not found: run  sudo apt-get install a b$"):
        ensure([machine.need("a"), machine.need("b")])
    assert machine.commands == []


def test_other_systems_are_told_the_name(machine: Machine, monkeypatch) -> None:
    monkeypatch.setattr(system_packages, "machine_is_debian_family", lambda: False)
    with pytest.raises(SetupError, match="the program a not found: install it with"):
        ensure([machine.need("a")])
    assert machine.commands == []
