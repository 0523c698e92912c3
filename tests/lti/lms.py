"""An LMS in this process: `lti1p3platform` behind an adapter of `requests`, so no socket is opened.

It has one course with one tool.  `lost`: no request reaches it.  `scores`: what arrived, in order.
"""

import json
import time
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from lti1p3platform.exceptions import LtiException, LtiServiceException
from lti1p3platform.framework.django.oidc_login import DjangoAPIOIDCLogin
from lti1p3platform.framework.django.request import DjangoRequest
from lti1p3platform.framework.django.response import wrap_json_resp
from lti1p3platform.ltiplatform import LTI1P3PlatformConfAbstract
from lti1p3platform.membership import Context
from lti1p3platform.message_launch import LTIAdvantageMessageLaunchAbstract
from lti1p3platform.registration import Registration
from lti1p3platform.response import Response
from lti1p3platform.score import UpdateScoreStatus
from lti1p3platform.service_connector import AssignmentsGradesService, NamesRoleProvisioningService
from requests.adapters import BaseAdapter

HOST = "lms.example"
ISSUER = f"https://{HOST}"
CLIENT, DEPLOYMENT, CONTEXT = "client-1", "deployment-1", "course-7"
TOOL = "http://testserver"
LEARNER = "http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"
INSTRUCTOR = "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"
LINE_ITEM = f"{ISSUER}/lineitems/1"
ROSTER = f"{ISSUER}/members"
DEEP_LINK_RETURN = f"{ISSUER}/deep-links"


def key_pair() -> tuple[str, str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


PRIVATE, PUBLIC = key_pair()


class Conf(LTI1P3PlatformConfAbstract):
    """The tool's keys are fetched from the tool, as any platform does."""

    def init_platform_config(self, **kwargs: Any) -> None:
        self._registration = Registration().set_iss(ISSUER).set_client_id(CLIENT).set_deployment_id(DEPLOYMENT)
        self._registration.set_launch_url(f"{TOOL}/lti/launch/").set_deeplink_launch_url(f"{TOOL}/lti/launch/?choose")
        self._registration.set_oidc_login_url(f"{TOOL}/lti/login/").set_tool_key_set_url(f"{TOOL}/lti/jwks.json")
        self._registration.set_platform_public_key(PUBLIC).set_platform_private_key(PRIVATE)

    def get_registration_by_params(self, **kwargs: Any) -> Registration:
        raise NotImplementedError

    def fetch_public_key(self, key_set_url: str) -> Any:
        return Client().get(urlsplit(key_set_url).path).json()


class Login(DjangoAPIOIDCLogin):
    def set_lti_message_hint(self, **kwargs: Any) -> None:
        self._lti_message_hint = "link-1"


class Launch(LTIAdvantageMessageLaunchAbstract):
    """The library's own for Django needs Jinja for its form, which has two fields."""

    def render_launch_form(self, launch_data: dict[str, Any], **kwargs: Any) -> Any:
        return launch_data


class Grades(AssignmentsGradesService):
    lms: "Lms"

    def update_score(self, line_item_id: str, score: Any) -> UpdateScoreStatus:
        self.lms.scores.append((line_item_id, score))
        return UpdateScoreStatus.SUCCESS

    def _unused(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    find_lineitems = find_lineitem = create_lineitem = update_lineitem = delete_lineitem = get_results = _unused


class Members(NamesRoleProvisioningService):
    lms: "Lms"

    def get_context_by_id(self) -> Context:
        return Context(CONTEXT, "M101", "Messaging")

    def get_member_data_page(self, page: Any = 1, limit: Any = None, role: Any = None, since: Any = None) -> Any:
        return {"content": [dict(one) for one in self.lms.members], "has_next": False}


class Lms(BaseAdapter):
    def __init__(self) -> None:
        super().__init__()
        self.conf = Conf()
        self.scores: list[tuple[str, dict[str, Any]]] = []
        self.members: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.registered: list[dict[str, Any]] = []
        self.lost = self.broken = False
        self.configuration: dict[str, Any] = {}

    # What a browser does ------------------------------------------------------------------------------------------

    def open(
        self, browser: Client, user: str = "42", roles: tuple[str, ...] = (LEARNER,), *, deep: bool = False, **more: Any
    ) -> Any:
        """From the click in the LMS to the tool's answer to the launch; the token is as `token` makes it."""
        return self.post(browser, *self.authorized(browser, user, roles, deep=deep, **more))

    def begun(self, browser: Client, user: str = "42", *, deep: bool = False) -> dict[str, str]:
        """The tool's redirect to the LMS, with its parameters."""
        login = Login(None, self.conf)
        login.set_lti_message_hint()
        if deep:
            login.set_deeplinking_launch_url()
        address = login.initiate_login(user)["Location"]
        answer = browser.get(address)
        assert answer.status_code == 302, answer.content
        assert answer["Location"].startswith(f"{ISSUER}/auth?")
        return {name: values[0] for name, values in parse_qs(urlsplit(answer["Location"]).query).items()}

    def authorized(
        self, browser: Client, user: str = "42", roles: tuple[str, ...] = (LEARNER,), *, deep: bool = False, **more: Any
    ) -> tuple[str, str]:
        """State and token, as the LMS hands them to the browser."""
        asked = self.begun(browser, user, deep=deep)
        launch = Launch(DjangoRequest(RequestFactory().get("/auth", asked)), self.conf)
        launch.set_user_data(user, list(roles), full_name="Ada Löwe", email_address="ada@school.example")
        launch.set_launch_context_claim(more.get("context", CONTEXT), context_title="Messaging")
        launch.set_resource_link_claim("link-1")
        if "lab" in more:
            launch.set_custom_parameters_claim({"lab": more["lab"]})
        if more.get("line_item", LINE_ITEM):
            launch.set_ags(f"{ISSUER}/lineitems", more.get("line_item", LINE_ITEM))
        launch.set_nrps(more.get("roster", ROSTER))
        if deep:
            launch.set_dl(more.get("back", DEEP_LINK_RETURN), extra_data={"csrf": "its own"})
        form = launch.lti_launch()
        return form["state"], form["id_token"]

    def post(self, browser: Client, state: str, token: str) -> Any:
        return browser.post("/lti/launch/", {"state": state, "id_token": token})

    def forged(
        self,
        token: str,
        key: str = PRIVATE,
        headers: dict[str, Any] | None = None,
        algorithm: str = "RS256",
        **claims: Any,
    ) -> str:
        """The token with other claims (None: without), signed again."""
        body = jwt.decode(token, options={"verify_signature": False}) | claims
        kid = jwt.get_unverified_header(token)["kid"]
        body = {name: value for name, value in body.items() if value is not None}
        text = json.dumps(body).encode()
        return jwt.api_jws.PyJWS().encode(text, key, algorithm=algorithm, headers={"kid": kid} | (headers or {}))

    # What the server asks -----------------------------------------------------------------------------------------

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        self.asked.append(str(request.url))
        if self.lost:
            raise requests.exceptions.ConnectTimeout("lost")
        parts = urlsplit(str(request.url))
        body = request.body or b""
        asked = RequestFactory().generic(
            str(request.method),
            parts.path,
            body,
            request.headers.get("Content-Type", ""),
            QUERY_STRING=parts.query,
            headers=dict(request.headers),
        )
        return self._answer(request, self._handled(asked, parts.path))

    def close(self) -> None:
        pass

    def _handled(self, request: HttpRequest, path: str) -> HttpResponse:
        if self.broken:
            return HttpResponse("<h1>Bad gateway</h1>", status=502)
        if path == "/jwks":
            return wrap_json_resp(Response(self.conf.get_jwks(), 200, ""))
        if path == "/token":
            return wrap_json_resp(Response(self.conf.get_access_token(request.POST.dict()), 200, ""))
        if path == "/configuration":
            return wrap_json_resp(Response(self.configuration, 200, ""))
        if path == "/registrations":
            self.registered.append({"authorization": request.headers.get("Authorization"), **json.loads(request.body)})
            tool = {
                **self.registered[-1]["https://purl.imsglobal.org/spec/lti-tool-configuration"],
                "deployment_id": "deployment-9",
            }
            return wrap_json_resp(
                Response(
                    {"client_id": "client-9", "https://purl.imsglobal.org/spec/lti-tool-configuration": tool}, 201, ""
                )
            )
        try:
            if path.endswith("/scores"):
                grades = Grades(DjangoRequest(request), self.conf, f"{ISSUER}/lineitems", LINE_ITEM)
                grades.lms = self
                return wrap_json_resp(grades.handle_update_score(path.removesuffix("/scores")))
            if path == "/members":
                members = Members(DjangoRequest(request), self.conf, ROSTER)
                members.lms = self
                return wrap_json_resp(members.handle_get_members())
        except LtiServiceException as why:
            return HttpResponse(why.message, status=why.status_code)
        except LtiException as why:
            return HttpResponse(str(why), status=401)
        return HttpResponse(status=404)

    @staticmethod
    def _answer(request: requests.PreparedRequest, answer: HttpResponse) -> requests.Response:
        made = requests.Response()
        made.status_code, made.url, made.request = answer.status_code, str(request.url), request
        made.headers.update(answer.headers)
        made.raw = BytesIO(answer.content)
        return made


def past(seconds: float) -> int:
    return int(time.time() - seconds)
