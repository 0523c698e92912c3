"""`manage.py broker --store DIR`: run brokers and a name server for real clients, without pages."""

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
        "Run a RocketMQ-compatible broker and its name server on one port until Ctrl+C. --brokers runs several, "
        "--slave-of runs slaves. File sizes and settings are Apache's."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--store", type=Path, required=True, metavar="DIR", help="store directory, in Apache's format")
        add("--listen", metavar="IP:PORT", help="address for clients (default 127.0.0.1:9876)")
        add("--properties", type=Path, metavar="FILE", help="settings, as in Apache's broker.conf")
        add("--brokers", type=int, default=1, metavar="N", help=f"number of masters (default 1, up to {MAX_BROKERS})")
        add("--slave-of", nargs="+", default=[], metavar="IP:PORT", help="run slaves of these masters instead")
        add(
            "--name-server",
            nargs="+",
            default=[],
            metavar="IP:PORT",
            help="register with these name servers and run none",
        )
        add(
            "--acl",
            type=Path,
            metavar="FILE",
            help="accounts and permissions, as Apache's plain_acl.yml; sets aclEnable",
        )
        add("--certificate", type=Path, metavar="FILE", help="also accept TLS, with this certificate (PEM)")
        add("--key", type=Path, metavar="FILE", help="private key, if it is not in the certificate file")
        add("--public", action="store_true", help="allow an address in --listen that other machines can reach")

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
