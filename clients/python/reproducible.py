"""Build backend: setuptools, with an sdist whose bytes depend on its files and SOURCE_DATE_EPOCH alone."""

import gzip
import io
import os
import tarfile

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def build_sdist(sdist_directory, config_settings=None):
    name = build_meta.build_sdist(sdist_directory, config_settings)
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None:
        repack(os.path.join(sdist_directory, name), int(epoch))
    return name


def repack(path, epoch):
    content = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=content, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.pax_headers = epoch, {}
            member.mode = 0o755 if member.isdir() else 0o644
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            new.addfile(member, old.extractfile(member))
    with open(path, "wb") as file, gzip.GzipFile("", "wb", mtime=epoch, fileobj=file) as packed:
        packed.write(content.getvalue())
