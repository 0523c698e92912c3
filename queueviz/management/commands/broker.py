"""`manage.py broker --store DIR`: brokers and a name server for real clients, without pages."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from sandbox.tools.accounts_file import read_accounts
from sandbox.tools.broker_plan import MAX_BROKERS, CannotStart, Options
from sandbox.tools.broker_process import serve, server_tls
from sandbox.tools.properties_file import BadProperties, read_properties


class Command(BaseCommand):
    help = (
        "Run a RocketMQ-compatible broker with its name server on one port (or several brokers, or slaves of "
        "others), with Apache's own file sizes and settings, until Ctrl+C."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--store", type=Path, required=True, metavar="DIR", help="where messages lie, in Apache's format")
        add("--listen", metavar="IP:PORT", help="where clients connect (default 127.0.0.1:9876)")
        add("--properties", type=Path, metavar="FILE", help="settings, as in Apache's broker.conf")
        add("--brokers", type=int, default=1, metavar="N", help=f"how many masters (default 1, up to {MAX_BROKERS})")
        add("--slave-of", nargs="+", default=[], metavar="IP:PORT", help="run slaves of these masters instead")
        add("--name-server", nargs="+", default=[], metavar="IP:PORT", help="register there instead of running one")
        add("--acl", type=Path, metavar="FILE", help="who may do what, as Apache's plain_acl.yml; turns aclEnable on")
        add("--certificate", type=Path, metavar="FILE", help="serve TLS too, with this certificate (PEM)")
        add("--key", type=Path, metavar="FILE", help="its key, when it is not in the same file")
        add("--public", action="store_true", help="let --listen be an address that others reach")

    def handle(self, *args: Any, **arguments: Any) -> None:
        try:
            options = Options(
                store=arguments["store"],
                listen=arguments["listen"],
                properties=properties(arguments["properties"]),
                brokers=arguments["brokers"],
                slave_of=arguments["slave_of"],
                name_servers=arguments["name_server"],
                public=arguments["public"],
                accounts=read_accounts(arguments["acl"]) if arguments["acl"] else None,
                accounts_file=arguments["acl"],
            )
            tls = server_tls(arguments["certificate"], arguments["key"]) if arguments["certificate"] else None
            clean = asyncio.run(serve(options, self._say, tls=tls))
        except CannotStart as error:
            raise CommandError(str(error), returncode=1) from error
        if not clean:
            sys.exit(1)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def properties(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        return read_properties(path.read_text("iso-8859-1"))  # Java's for .properties
    except OSError as error:
        raise CannotStart(f"The properties {path} cannot be read: {error.strerror}.") from error
    except BadProperties as error:
        raise CannotStart(str(error)) from error
