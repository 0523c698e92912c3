"""A new signing key: it signs at once, and the old one stays published until its overlap ends."""

from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import jwt
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from queueviz.lti import keys
from queueviz.models import LtiKey

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _keys_of_the_database(settings: Any) -> None:
    settings.QUEUEVIZ_LTI_KEY_FILE = ""


def published() -> dict[str, Any]:
    jwks: Any = Client().get("/lti/jwks.json").json()
    return {key["kid"]: key for key in jwks["keys"]}


def signed_with(private: str) -> str:
    """The published key that verifies what this key signs."""
    token = jwt.encode({"x": 1}, private, algorithm="RS256")
    for kid, key in published().items():
        try:
            jwt.decode(token, jwt.PyJWK(key).key, algorithms=["RS256"])
        except jwt.InvalidSignatureError:
            continue
        return kid
    raise AssertionError("no platform can verify it")


def ltikeys(*arguments: str) -> str:
    out = StringIO()
    call_command("ltikeys", *arguments, stdout=out)
    return out.getvalue()


def test_after_a_rotation_another_key_signs_and_both_are_published() -> None:
    old, _ = keys.signing()
    keys.rotate(7 * DAY)
    new, _ = keys.signing()
    assert len({signed_with(old), signed_with(new)}) == 2
    assert next(iter(published())) == signed_with(new)


def test_the_old_key_is_published_and_stored_until_the_end_of_the_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    keys.signing()
    keys.rotate(7 * DAY)
    now = timezone.now()
    monkeypatch.setattr(keys, "now", lambda: now + 6 * DAY)
    assert len(published()) == 2
    monkeypatch.setattr(keys, "now", lambda: now + 8 * DAY)
    assert list(published()) == [signed_with(keys.signing()[0])]
    assert LtiKey.objects.count() == 1, "its private part is of no use any more"


def test_a_second_rotation_does_not_lengthen_the_overlap_of_the_first_key() -> None:
    keys.signing()
    keys.rotate(1 * DAY)
    ends = LtiKey.objects.order_by("pk").values_list("ends_at", flat=True)[0]
    keys.rotate(7 * DAY)
    rows = list(LtiKey.objects.order_by("pk"))
    assert rows[0].ends_at == ends
    assert [row.ends_at is None for row in rows] == [False, False, True]


def test_without_an_overlap_a_key_that_leaked_is_gone_at_once() -> None:
    keys.signing()
    keys.rotate(timedelta())
    assert len(published()) == 1


def test_the_command_rotates_and_lists_the_keys() -> None:
    keys.signing()
    assert "signs" in ltikeys("list")
    until = (timezone.now() + 14 * DAY).strftime("%Y-%m-%d")
    assert f"until {until}" in ltikeys("rotate", "--overlap-days", "14")
    listed = ltikeys("list").splitlines()
    assert [("signs" in line, "published until" in line) for line in listed] == [(True, False), (False, True)]
    assert {line.split()[0] for line in listed} == set(published())


def test_an_overlap_has_a_limit() -> None:
    for days in ("-1", "400", "x"):
        with pytest.raises(CommandError):
            ltikeys("rotate", "--overlap-days", days)


def test_keys_of_a_file_are_rotated_in_the_file(tmp_path: Path, settings: Any) -> None:
    first, _ = keys.signing()
    keys.rotate(DAY)
    second, _ = keys.signing()
    file = tmp_path / "keys.pem"
    file.write_text(f"{second}\n{first}")
    settings.QUEUEVIZ_LTI_KEY_FILE = str(file)
    assert keys.signing()[0].strip() == second.strip()
    assert len(published()) == 2
    with pytest.raises(CommandError, match="QUEUEVIZ_LTI_KEY_FILE"):
        ltikeys("rotate")
