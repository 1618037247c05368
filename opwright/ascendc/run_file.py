"""A package as a file that installs it: `custom_opp_*.run`, a shell script with an archive."""

from __future__ import annotations

import calendar
import gzip
import io
import os
import tarfile
from typing import TYPE_CHECKING

from opwright.kit.packaging.wheel import archive_time

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_run_file"]

INSTALLER = """\
#!/bin/sh
# An operator package for opwright's twin. Made by opwright ascendc; do not edit.
#   {name} [--install-path=DIR] [--quiet] [--force]
# Installs vendors/{vendor} into ASCEND_OPP_PATH, or into DIR, and says how programs find it.
set -e
folder=
quiet=
for word in "$@"; do
  case "$word" in
    --install-path=*) folder=${{word#--install-path=}} ;;
    --quiet) quiet=yes ;;
    --force) ;;  # the vendor's: for another machine or C library, which are not compared here
    *) echo "$0: unknown option $word; allowed: --install-path=DIR, --quiet, --force" >&2; exit 2 ;;
  esac
done
if [ -n "$folder" ]; then
  root=$folder
elif [ -n "${{ASCEND_OPP_PATH:-}}" ]; then
  root=$ASCEND_OPP_PATH
else
  echo "$0: neither --install-path=DIR nor ASCEND_OPP_PATH" >&2
  exit 1
fi
mkdir -p "$root/vendors"
root=$(cd "$root" && pwd)
package=$root/vendors/{vendor}
new=$(mktemp -d "$root/vendors/.installing-XXXXXX")
trap 'rm -rf "$new"' EXIT
tail -n +{lines} "$0" | tar -xzf - -C "$new"
rm -rf "$package"
mv "$new/{vendor}" "$package"
mkdir -p "$package/bin" "$package/scripts"
cat > "$package/bin/set_env.bash" <<END
export ASCEND_CUSTOM_OPP_PATH=$package\\${{ASCEND_CUSTOM_OPP_PATH:+:\\$ASCEND_CUSTOM_OPP_PATH}}
END
config=$root/vendors/config.ini
if [ -z "$folder" ]; then
  others=$(sed -n 's/^load_priority *= *//p' "$config" 2>/dev/null | tr ',' '\\n' |
    sed 's/^ *//; s/ *$//' | grep -vx '{vendor}' | paste -sd, - || true)
  echo "load_priority={vendor}${{others:+,$others}}" > "$config"
fi
cat > "$package/scripts/uninstall.sh" <<END
#!/bin/sh
rm -rf "$package"
[ ! -f "$config" ] || sed -i 's/\\\\b{vendor},//; s/,{vendor}\\\\b//; s/={vendor}\\$/=/' "$config"
END
chmod +x "$package/scripts/uninstall.sh"
if [ -z "$quiet" ]; then
  echo "installed $package"
  [ -z "$folder" ] || echo "next: source $package/bin/set_env.bash"
fi
exit 0
"""


def write_run_file(package: Path, target: Path) -> None:
    """Write the file that installs a package; the same package gives the same bytes."""
    lines = INSTALLER.count("\n") + 1  # the archive begins behind them
    text = INSTALLER.format(vendor=package.name, name=target.name, lines=lines)
    content = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=content, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        archive.add(package, arcname=package.name, filter=strip_owner_and_times)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(target.name + ".new")
    new.write_bytes(text.encode() + content.getvalue())
    new.chmod(0o755)
    new.replace(target)


def strip_owner_and_times(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an entry without its owner and times, which differ from build to build."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = calendar.timegm((*archive_time(os.environ), 0, 0, 0))
    return member
