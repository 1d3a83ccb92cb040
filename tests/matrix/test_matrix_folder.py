"""Which folder is read: the one given, the environment's, the newer of the user's copy and the shipped one."""

import json
import os
from pathlib import Path

import pytest

from envcheck.errors import MatrixError
from envcheck.matrix.locate import VARIABLE, locate, shipped_folder, user_folder


def folder(path: Path, date: str = "2026-11-30", schema: int = 1) -> Path:
    path.mkdir(parents=True)
    (path / "matrix.json").write_text(json.dumps({"schema": schema, "date": date}))
    return path


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def own(home: dict[str, str]) -> Path:
    return Path(home["HOME"]) / ".local" / "share" / "envcheck" / "matrices"


def test_a_checkout_reads_the_folder_beside_the_package(home: dict[str, str]) -> None:
    assert Path(locate(None, home)) == Path(shipped_folder()) == Path(__file__).parents[2] / "matrices"


def test_the_given_folder_comes_before_the_environments(tmp_path: Path, home: dict[str, str]) -> None:
    given, named = folder(tmp_path / "given"), folder(tmp_path / "named")
    assert locate(given, home | {VARIABLE: str(named)}) == str(given)
    assert locate(None, home | {VARIABLE: str(named)}) == str(named)


@pytest.mark.parametrize("how", ["given", "environment"])
def test_a_folder_named_that_holds_no_matrix_is_an_error_not_passed_over(tmp_path: Path, home: dict[str, str], how: str) -> None:
    environ = home if how == "given" else home | {VARIABLE: str(tmp_path)}
    with pytest.raises(MatrixError) as error:
        locate(str(tmp_path) if how == "given" else None, environ)
    assert error.value.text.key == "error.matrix-missing"
    assert error.value.text.params["folder"] == str(tmp_path)


def test_a_newer_copy_of_the_users_wins(home: dict[str, str]) -> None:
    folder(own(home), "2027-01-01")
    assert locate(None, home) == str(own(home))


@pytest.mark.parametrize(("date", "schema"), [("2026-11-30", 1), ("2026-01-01", 1), ("2099-01-01", 2)], ids=["same", "older", "schema"])
def test_a_copy_that_is_no_newer_or_of_another_schema_is_passed_over(home: dict[str, str], date: str, schema: int) -> None:
    folder(own(home), date, schema)
    assert locate(None, home) == shipped_folder()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "1", "date": 2}', "\x00"])
def test_a_broken_copy_is_passed_over(home: dict[str, str], text: str) -> None:
    (folder(own(home)) / "matrix.json").write_text(text)
    assert locate(None, home) == shipped_folder()


def test_xdg_data_home_is_followed_only_where_it_is_absolute(tmp_path: Path) -> None:
    assert user_folder({"HOME": "/h", "XDG_DATA_HOME": str(tmp_path)}) == str(tmp_path / "envcheck" / "matrices")
    assert user_folder({"HOME": "/h", "XDG_DATA_HOME": "here"}) == "/h/.local/share/envcheck/matrices"
    assert not os.path.exists(user_folder({}))
