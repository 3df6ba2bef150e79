"""Where the packages come from, read from what apt says about the machine."""

import pytest

from setup.debian_archive import PrivateApt, archive_addresses, is_debian_family

DEBIAN = "mirror://main/debian\tDebian\tDebian"
SECURITY = "mirror://main/debian-security\tDebian\tDebian-Security"
OTHER = "mirror://vendor/apt\tVendor\tVendor"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([DEBIAN, DEBIAN, SECURITY], ["mirror://main/debian"], id="each address once"),
        pytest.param([OTHER, SECURITY, DEBIAN], ["mirror://main/debian"], id="only the archive"),
        pytest.param(
            ["mirror://a/debian/\t\t", "mirror://a/debian-security\t\t"],
            ["mirror://a/debian/"],
            id="before the first update nothing has an origin",
        ),
        pytest.param(
            ["mirror://a/debian\t$(ORIGIN)\t$(LABEL)"],
            ["mirror://a/debian"],
            id="an apt that leaves the fields as they are",
        ),
        pytest.param(
            ["mirror://new/debian\t\t", DEBIAN],
            ["mirror://main/debian", "mirror://new/debian"],
            id="a known archive comes first",
        ),
        pytest.param(["mirror://u/ubuntu\tUbuntu\tUbuntu"], [], id="another distribution"),
        pytest.param([], [], id="no source at all"),
    ],
)
def test_archive_addresses(lines: list[str], expected: list[str]) -> None:
    assert archive_addresses("\n".join(lines)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('ID=debian\nVERSION_ID="12"', True, id="Debian"),
        pytest.param("ID=ubuntu\nID_LIKE=debian", True, id="a child"),
        pytest.param('ID=mint\nID_LIKE="ubuntu debian"', True, id="a grandchild, quoted"),
        pytest.param("ID=fedora\nID_LIKE=rhel", False, id="another family"),
        pytest.param("NAME=debian", False, id="the name alone says nothing"),
        pytest.param("", False, id="empty"),
    ],
)
def test_is_debian_family(text: str, expected: bool) -> None:
    assert is_debian_family(text) is expected


def test_private_apt_stays_in_its_folder(tmp_path) -> None:
    options = PrivateApt(tmp_path).options()
    places = [option for option in options if option.startswith("Dir::")]
    outside = [place for place in places if str(tmp_path) not in place]
    assert outside == ["Dir::Etc::sourceparts=/dev/null"]
    assert {"Dir::State", "Dir::Cache"} <= {place.split("=")[0] for place in places}
