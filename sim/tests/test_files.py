"""Output files appear whole or not at all."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from weir_sim.files import Outputs


def test_files_get_their_names_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("old")
    with Outputs() as outputs:
        outputs.open(target).write(b"new")
        outputs.path(tmp_path / "b.png").write_bytes(b"picture")
        assert target.read_text() == "old"
        assert not (tmp_path / "b.png").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "b.png"]
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    (tmp_path / "a.json").write_text("old")
    with pytest.raises(error), Outputs() as outputs:
        outputs.open(tmp_path / "a.json").write(b"half")
        outputs.path(tmp_path / "b.png")
        raise error
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "old"


def test_nothing_appears_if_one_file_cannot(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), Outputs() as outputs:
        outputs.open(tmp_path / "a.json").write(b"half")
        outputs.open(tmp_path / "absent" / "b.json")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_files_get_their_names_is_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, not some."""
    replace = Path.replace

    def interrupted(part: Path, target: Path) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with Outputs() as outputs:
        outputs.open(tmp_path / "a.json").write(b"a")
        outputs.open(tmp_path / "b.json").write(b"b")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_errors_name_the_place_and_no_temporary_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as found, Outputs() as outputs:
        outputs.open(tmp_path / "absent" / "b.json")
    assert found.value.filename == str(tmp_path / "absent" / "b.json")
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError) as found, Outputs() as outputs:
        outputs.open(tmp_path / "b").write(b"b")
        (tmp_path / "b").mkdir()  # meanwhile
    assert found.value.filename == str(tmp_path / "b") and not list(tmp_path.glob(".*"))


def test_a_device_is_written_directly() -> None:
    with Outputs() as outputs:
        outputs.open("/dev/null").write(b"gone")
    assert not Path("/dev/null").is_file()


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with Outputs() as outputs:
        outputs.open(tmp_path / "link").write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
