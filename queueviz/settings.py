"""Django's settings.  They read only `QUEUEVIZ_…` environment variables (docs/running.md), all optional."""

import sys
from pathlib import Path

from queueviz.operations import environment
from sandbox.control.limits import HostLimits

BASE_DIR = Path(__file__).resolve().parent.parent
INSTALLED = Path(__file__).with_name("site")  # where the wheel holds templates/ and static/ of a checkout
SITE = INSTALLED if INSTALLED.is_dir() else BASE_DIR
QUEUEVIZ_HOME = environment.directory(
    "QUEUEVIZ_HOME", Path.home() / ".local" / "share" / "queueviz" if SITE == INSTALLED else BASE_DIR / "var"
)

QUEUEVIZ_NODE_ADDRESS = environment.ip("QUEUEVIZ_NODE_ADDRESS", "127.0.0.1")  # brokers of new sandboxes
QUEUEVIZ_FIRST_PORT = environment.number("QUEUEVIZ_FIRST_PORT", 20_000, 1_024, 59_000)  # of the nodes of new sandboxes
QUEUEVIZ_HISTORY_S = environment.number("QUEUEVIZ_HISTORY_S", 600, 0, 86_400)  # that new sandboxes begin with; 0: none
QUEUEVIZ_ENGINES = environment.text("QUEUEVIZ_ENGINES", "0")  # processes beside the server, or auto; 0: a thread of it

DEBUG = environment.switch("QUEUEVIZ_DEBUG")
QUEUEVIZ_METRICS_TOKEN = environment.text("QUEUEVIZ_METRICS_TOKEN")  # of clients that read the clusters' metrics
SECRET_KEY = environment.text("QUEUEVIZ_SECRET_KEY") or environment.kept_secret(QUEUEVIZ_HOME)
ALLOWED_HOSTS = environment.names("QUEUEVIZ_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = environment.names("QUEUEVIZ_TRUSTED_ORIGINS")

# LTI (docs/lti.md): a PEM file instead of the key pair in the database; hosts that may have addresses of a private net.
QUEUEVIZ_LTI_KEY_FILE = environment.text("QUEUEVIZ_LTI_KEY_FILE")
QUEUEVIZ_LTI_PRIVATE_HOSTS = environment.names("QUEUEVIZ_LTI_PRIVATE_HOSTS")

ROOT_URLCONF = "queueviz.urls"
ASGI_APPLICATION = "queueviz.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "ninja",  # serves the API page's own script and style: no third-party host
    "queueviz",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "queueviz.operations.static_files.StaticFiles",
    "django.middleware.gzip.GZipMiddleware",  # pages; static files are squeezed already
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "queueviz.middleware.RollingSession",
    "django.middleware.locale.LocaleMiddleware",
    "queueviz.middleware.Readable",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "queueviz.middleware.EngineAnswers",
    "queueviz.middleware.Masked",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [SITE / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "queueviz.pages.context.shell",
            ],
        },
    },
]

# --- Data ------------------------------------------------------------------------------------------------------------

DATABASES = {"default": environment.database("QUEUEVIZ_DATABASE_URL", f"sqlite:///{QUEUEVIZ_HOME}/web.sqlite3")}
SQLITE_OPTIONS = {
    "timeout": 5,
    "transaction_mode": "IMMEDIATE",  # a writer waits for its turn instead of failing at the upgrade
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
}
POSTGRESQL_OPTIONS = {"connect_timeout": 5, "options": "-c lock_timeout=5s"}  # then the request is refused as busy
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"] |= {"OPTIONS": SQLITE_OPTIONS, "CONN_MAX_AGE": None}  # one connection a thread
elif DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    DATABASES["default"]["OPTIONS"] = POSTGRESQL_OPTIONS | DATABASES["default"].get("OPTIONS", {})  # the URL's own win

# Engines on a Ray cluster of several machines (docs/growing.md); `ray start --address` names it so.
QUEUEVIZ_RAY_ADDRESS = environment.text("QUEUEVIZ_RAY_ADDRESS")
QUEUEVIZ_RAY_NODE = environment.text("QUEUEVIZ_RAY_NODE")  # this machine's address there, where it has several

# Rare notices between web processes (live.notified).  No channel layer: each socket would listen to it and end with it.
QUEUEVIZ_REDIS_URL = environment.text("QUEUEVIZ_REDIS_URL")

DATA_UPLOAD_MAX_MEMORY_SIZE = HostLimits().request_bytes
DATA_UPLOAD_MAX_NUMBER_FIELDS = HostLimits().request_fields

# --- Sessions, cookies, headers --------------------------------------------------------------------------------------

BEHIND_HTTPS = environment.switch("QUEUEVIZ_HTTPS")  # a proxy in front speaks TLS and sets X-Forwarded-…
SESSION_COOKIE_AGE = 30 * 24 * 3600  # rolling: see middleware.RollingSession
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = BEHIND_HTTPS
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
CSRF_FAILURE_VIEW = "queueviz.pages.errors.csrf_failed"
if BEHIND_HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 30 * 24 * 3600

LOGIN_URL = "login"  # the one place where passwords are looked at, and attempts counted (pages.accounts)
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]

X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "style-src": ["'self'", "'unsafe-inline'"],  # inline style attributes of the drawings
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- Static files ----------------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = QUEUEVIZ_HOME / "static"
environment.make(STATIC_ROOT)
STATICFILES_DIRS = [SITE / "static"]
# Hashed names where the files are collected, or are about to be; elsewhere they are found where they are written.
COLLECTS = sys.argv[1:2] in (["collectstatic"], ["serve"])
HASHED = COLLECTS or ((STATIC_ROOT / "staticfiles.json").exists() and not DEBUG)
WHITENOISE_USE_FINDERS = DEBUG or not HASHED
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "queueviz.operations.static_files.HashedFiles"
        if HASHED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- Words -----------------------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "queueviz" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname:7} {name}: {message}", "style": "{"}},
    "filters": {"flood": {"()": "queueviz.operations.log_flood.Flood"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["flood"]}},
    "root": {"handlers": ["console"], "level": environment.text("QUEUEVIZ_LOG_LEVEL", "INFO")},
    "loggers": {
        "django.request": {"level": "ERROR"},  # a 404 is an answer, not an incident
        "django.security": {"level": "CRITICAL"},  # so is a 400 to a wrong Host
        "daphne": {"level": "WARNING"},
        "twisted": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
    },
}
