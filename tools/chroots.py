"""Chroots of Debian releases, made by debootstrap. As root."""

import filecmp
import os
import re
import shutil
import subprocess

MOUNTS = """
set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --bind /dev "$root/dev"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
[ -L /dev/ptmx ] || mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx"
exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "$@"
"""


class Failure(Exception):
    pass


def say(text):
    print(text, flush=True)


def release_here():
    """The name of this machine's release."""
    with open("/etc/os-release", encoding="utf-8") as f:
        here = re.search(r"^VERSION_CODENAME=(\w+)", f.read(), re.M)
    return here and here[1]


def mirror(release):
    """Where apt gets this machine's release from."""
    here = release_here()
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages"],
                             capture_output=True, text=True, check=True).stdout
    for line in targets.splitlines():
        site, name = line.split()
        if here and name == here:
            return site
    raise Failure(f"cannot get packages of {release}: apt's sources name no mirror of this machine's release")


class Chroot:
    def __init__(self, folder, name):
        self.name, self.folder = name, folder
        self.root = os.path.join(folder, name)
        self.ready = self.root + ".ready"

    def make(self):
        """Bootstraps it, if that has not been done."""
        if not os.path.exists(self.ready):
            shutil.rmtree(self.root, ignore_errors=True)
            say(f"{self.name}: debootstrap")
            log = self.root + ".log"
            with open(log, "wb") as f:
                done = subprocess.run(["debootstrap", "--variant=minbase", self.name, self.root, mirror(self.name)],
                                      stdout=f, stderr=f, stdin=subprocess.DEVNULL, check=False)
            if done.returncode:
                raise Failure(f"cannot make a chroot of {self.name}: debootstrap failed, see {log}")
            open(self.ready, "wb").close()
        shutil.copyfile("/etc/resolv.conf", os.path.join(self.root, "etc/resolv.conf"))
        return self

    def run(self, script, *arguments, network=True, check=True):
        """Runs a shell script inside; what it printed."""
        command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
        if not network:
            command.append("--net")
        command += ["--", "bash", "-c", MOUNTS, "mounts", self.root, "bash", "-euc", script + "\nexit", self.name, *arguments]
        log = f"{self.root}.log"
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        output = done.stdout.decode("utf-8", "replace")
        with open(log, "a", encoding="utf-8") as f:
            f.write(f"\n==== {script.strip()} {arguments}\n{output}== {done.returncode}\n")
        if check and done.returncode:
            raise Failure(f"{self.name}: failed, see the end of {log}:\n" + "\n".join(output.splitlines()[-25:]))
        return output

    def install(self, packages):
        self.run("""
            for p in "$@"; do dpkg-query -W -f '${db:Status-Status}\\n' "$p" 2>/dev/null | grep -qx installed || missing=1; done
            [ -n "${missing:-}" ] || exit 0
            apt-get update -q; apt-get install -y -q --no-install-recommends "$@" """, *packages)

    def put(self, path, folder):
        inside = os.path.join(self.root, folder.lstrip("/"))
        os.makedirs(inside, exist_ok=True)
        shutil.copy(path, inside)

    def unpack(self, dist):
        """The source tarball in /src/NAME, files that have not changed left alone, for builds go on there."""
        name = os.path.basename(dist).removesuffix(".tar.xz")
        fresh, kept = (os.path.join(self.root, "src", part, name) for part in ("fresh", ""))
        shutil.rmtree(os.path.dirname(fresh), ignore_errors=True)
        os.makedirs(os.path.dirname(fresh))
        subprocess.run(["tar", "-C", os.path.dirname(fresh), "-xf", dist], check=True)
        os.makedirs(kept, exist_ok=True)
        have, want = files_of(kept), files_of(fresh)
        for path in have - want:
            os.unlink(os.path.join(kept, path))
        for path in want:
            new, old = os.path.join(fresh, path), os.path.join(kept, path)
            if path in have and not os.path.islink(new) and filecmp.cmp(new, old, shallow=False):
                continue
            os.makedirs(os.path.dirname(old), exist_ok=True)
            shutil.copy2(new, old, follow_symlinks=False)
            os.utime(old, follow_symlinks=False) # all files of a tarball are equally old
        return "/src/" + name


def files_of(folder):
    found = set()
    for path, folders, names in os.walk(folder):
        if path == folder:
            folders[:] = [f for f in folders if not f.startswith("build")]
        found |= {os.path.relpath(os.path.join(path, name), folder) for name in names}
    return found
