#!/usr/bin/env python3
"""Compares the `git` program with libgit2 for decision 0031: time per commit, and servers that never end.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install pygit2==1.21.0    # contains libgit2 1.9.7
    TMPDIR=/dev/shm /tmp/venv/bin/python benches/git_program/git_program.py 1000

`--serve` instead of the number of clusters starts the servers alone, for own_transport.rs. All of it stays on loopback and
in a temporary directory. The first commit is made three times, all else seven times. The time of the CPU is that of all
processes but the server.
"""
import http.server
import multiprocessing
import os
import resource
import shutil
import signal
import socketserver
import statistics
import subprocess
import sys
import tempfile
import time

import pygit2

SERVE = sys.argv[1:] == ["--serve"]
CLUSTERS = int(sys.argv[1]) if sys.argv[1:] and not SERVE else 1_000
FILES = 6
ROOT = tempfile.mkdtemp(prefix="git-program-")
# Git reads no settings of the user or the machine, never prompts, and uses two transports only.
ENV = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "http:file",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
}
OPTIONS = ["-c", "http.followRedirects=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c",
           "protocol.version=2", "-c", "core.fsync=none"]
ME = pygit2.Signature("a", "a@b")


def git(directory, *arguments, data=None, **more):
    command = ["git", *OPTIONS, *arguments]
    return subprocess.run(command, cwd=directory, env=ENV | more, input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True).stdout


def content(cluster, file, round=0):
    return (f"# {cluster} {file} {round}\n" + "key: value of a field\n" * 60).encode()


def paths(cluster):
    return [f"clusters/demo/cluster-{cluster:05}/{file}.yaml" for file in range(FILES)]


def all_files(round=0):
    return {path: content(c, f, round) for c in range(CLUSTERS) for f, path in enumerate(paths(c))}


def two_files(cluster, round):
    return {path: content(cluster, f, round) for f, path in enumerate(paths(cluster)[:2])}


# The git program ------------------------------------------------------------------------------------------------------
def by_fast_import(directory, files, parent):
    """One process: blobs, trees, commit. Leaves a reference of ours, and returns the commit."""
    out = [b"commit refs/stackflux/new\ncommitter a <a@b> 1700000000 +0000\ndata 1\nx\n"]
    out.append(b"from " + parent.encode() + b"\n" if parent else b"")
    for path, data in files.items():
        out.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
    git(directory, "fast-import", "--quiet", "--force", data=b"".join(out) + b"\ndone\n")
    return git(directory, "rev-parse", "refs/stackflux/new").decode().strip()


def by_index(directory, files, parent):
    """Files in a scratch directory, hash-object, a temporary index, write-tree, commit-tree: five processes."""
    scratch = tempfile.mkdtemp(dir=ROOT)
    names = []
    for number, data in enumerate(files.values()):
        names.append(f"{scratch}/{number}")
        with open(names[-1], "wb") as file:
            file.write(data)
    ids = git(directory, "hash-object", "-w", "--no-filters", "--stdin-paths", data="\n".join(names).encode())
    index = {"GIT_INDEX_FILE": f"{scratch}/index"}
    if parent:
        git(directory, "read-tree", parent, **index)
    entries = "".join(f"100644 {id} 0\t{path}\n" for id, path in zip(ids.decode().split(), files))
    git(directory, "update-index", "--index-info", data=entries.encode(), **index)
    tree = git(directory, "write-tree", **index).decode().strip()
    commit = git(directory, "commit-tree", tree, *(["-p", parent] if parent else []), data=b"x")
    shutil.rmtree(scratch)
    return commit.decode().strip()


def git_push(directory, url, commit, expected):
    lease = f"--force-with-lease=refs/heads/main:{expected or ''}"
    git(directory, "push", "--porcelain", "--no-verify", lease, "--", url, f"{commit}:refs/heads/main")


def git_fetch(directory, url):
    git(directory, "fetch", "--no-tags", "--no-write-fetch-head", "--", url, "+refs/heads/main:refs/stackflux/main")


# libgit2 --------------------------------------------------------------------------------------------------------------
def by_libgit2(directory, files, parent):
    repository = pygit2.Repository(directory)
    tree = {}
    for path, data in files.items():
        *above, name = path.split("/")
        at = tree
        for part in above:
            at = at.setdefault(part, {})
        at[name] = repository.create_blob(data)

    def write(names, before):
        builder = repository.TreeBuilder(before) if before else repository.TreeBuilder()
        for name, what in names.items():
            if isinstance(what, dict):
                old = before[name] if before and name in before else None
                builder.insert(name, write(what, old), 0o040000)
            else:
                builder.insert(name, what, 0o100644)
        return builder.write()

    before = repository[parent].tree if parent else None
    commit = repository.create_commit(None, ME, ME, "x", write(tree, before), [parent] if parent else [])
    return str(commit)


def libgit2_push(directory, url, commit, _):
    repository = pygit2.Repository(directory)
    repository.references.create("refs/stackflux/new", commit, force=True)
    repository.remotes.create_anonymous(url).push(["refs/stackflux/new:refs/heads/main"])


def libgit2_fetch(directory, url):
    remote = pygit2.Repository(directory).remotes.create_anonymous(url)
    remote.fetch(["+refs/heads/main:refs/stackflux/main"])


# Measuring ------------------------------------------------------------------------------------------------------------
def bare(name):
    directory = f"{ROOT}/{name}.git"
    shutil.rmtree(directory, ignore_errors=True)
    git(ROOT, "init", "-q", "--bare", "--template=", "-b", "main", directory)
    git(directory, "config", "http.receivepack", "true")
    return directory


def timed(work):
    start, before = time.perf_counter(), sum(os.times()[:4])
    result = work()
    return ((time.perf_counter() - start) * 1e3, (sum(os.times()[:4]) - before) * 1e3), result


def show(what, times):
    best, (median, cpu) = min(times)[0], (statistics.median(column) for column in zip(*times))
    print(f"{what:>54} {best:>8.1f} ms best {median:>8.1f} ms median {cpu:>7.0f} ms CPU", flush=True)


def measure(name, commit, push, fetch, base):
    first, pushed = [], []
    for _ in range(3):
        ours, theirs = bare("ours"), bare("theirs")
        took, tip = timed(lambda: commit(ours, all_files(), None))
        first.append(took)
        pushed.append(timed(lambda: push(ours, f"file://{theirs}", tip, None))[0])
    show(f"{name}: first commit, {CLUSTERS * FILES} files", first)
    show(f"{name}: its push", pushed)
    # A clone whose objects are packed, as after a fetch.
    git(ours, "-c", "pack.threads=2", "repack", "-q", "-a", "-d", "--keep-unreachable")
    for transport, url in [("file", f"file://{theirs}"), ("http", f"{base}/theirs.git")]:
        fetched, committed, pushed = [], [], []
        for round in range(1, 8):
            fetched.append(timed(lambda: fetch(ours, url))[0])
            took, new = timed(lambda: commit(ours, two_files(round, f"{transport} {round}"), tip))
            committed.append(took)
            pushed.append(timed(lambda: push(ours, url, new, tip))[0])
            tip = new
        show(f"{name}, {transport}: fetch of nothing new", fetched)
        if transport == "file":
            show(f"{name}: commit of two files", committed)
        show(f"{name}, {transport}: its push", pushed)
    return ours, tip


def read_all(ours, tip):
    def by_git():
        names = git(ours, "ls-tree", "-r", "--format=%(objectname)", tip)
        return len(git(ours, "cat-file", "--batch", "--buffer", data=names))

    def by_libgit2():
        repository, total = pygit2.Repository(ours), 0
        trees = [repository[tip].tree]
        while trees:
            for entry in trees.pop():
                if entry.type_str == "tree":
                    trees.append(entry)
                else:
                    total += len(entry.data)
        return total

    show("git: all files read (ls-tree, cat-file --batch)", [timed(by_git)[0] for _ in range(7)])
    show("libgit2: all files read", [timed(by_libgit2)[0] for _ in range(7)])


# Servers --------------------------------------------------------------------------------------------------------------
class Backend(http.server.BaseHTTPRequestHandler):
    """git http-backend."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(length)
        more = {"GIT_PROJECT_ROOT": ROOT, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_USER": "a",
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
        out = subprocess.run(["git", "http-backend"], env=ENV | more, input=body, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Endless(http.server.BaseHTTPRequestHandler):
    """A list of branches without end; with /slow a byte a second."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        line = lambda text: f"{len(text) + 4:04x}{text}".encode()
        send = lambda data: self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        branches = b"".join(line("1" * 40 + f" refs/heads/{number:012}\n") for number in range(20_000))
        try:
            send(line("# service=git-upload-pack\n") + b"0000" + line("1" * 40 + " HEAD\0ofs-delta agent=x\n"))
            for at in range(len(branches) if self.path.startswith("/slow") else 0):
                send(branches[at:at + 1])
                time.sleep(1)
            while True:
                send(branches)
        except OSError:
            pass

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def serve(handler):
    server = Server(("127.0.0.1", 0), handler)
    process = multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True)
    process.start()
    return f"http://127.0.0.1:{server.server_port}"


# Hostile --------------------------------------------------------------------------------------------------------------
LIMIT = 512 << 20


def group(command, url, limited, kill):
    """Runs a command in its own process group; returns how it ended, its peak memory, and what is left of it."""
    def prepare():
        if limited:
            resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    start = time.perf_counter()
    child = subprocess.Popen([*command, url], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             process_group=0, preexec_fn=prepare, cwd=ROOT)
    most = 0
    while child.poll() is None and time.perf_counter() - start < 5:
        most = max(most, sum(memory(pid) for pid in members(child.pid)))
        time.sleep(0.02)
    ended = "ended by itself" if child.poll() is not None else "was killed"
    took = time.perf_counter() - start
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL) if kill == "group" else child.kill()
    child.wait()
    time.sleep(1)
    left = members(child.pid)
    said = b"" if left else child.stderr.read().strip().splitlines()[-1:]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    print(f"    {ended} after {took:.1f} s with {most / 1024:.0f} MiB; {len(left)} processes left; {said}", flush=True)


def members(pgid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == pgid and fields[0] != "Z":
            found.append(int(name))
    return found


def memory(pid):
    try:
        lines = open(f"/proc/{pid}/status").read().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def hostile():
    url = serve(Endless)
    by_git = ["git", *OPTIONS, "ls-remote", "--heads", "--"]
    script = ("import pygit2,sys,tempfile; pygit2.settings.server_timeout=60000; "
              "pygit2.init_repository(tempfile.mkdtemp(dir='.'), True).remotes.create_anonymous(sys.argv[1])"
              ".list_heads()")
    by_libgit2 = [sys.executable, "-c", script]
    for name, command in [("git", by_git), ("libgit2 in a child", by_libgit2)]:
        print(f"{name}: endless list of branches, no limit, group killed after 5 s")
        group(command, f"{url}/r.git", False, "group")
        print(f"{name}: endless list of branches, address space limited to 512 MiB")
        group(command, f"{url}/r.git", True, "group")
        print(f"{name}: a byte a second, group killed after 5 s")
        group(command, f"{url}/slow/r.git", True, "group")
        print(f"{name}: a byte a second, first process killed after 5 s")
        group(command, f"{url}/slow/r.git", True, "one")


def serve_only():
    directory = bare("theirs")
    git(directory, "update-ref", "refs/heads/main", by_fast_import(directory, {"file": b"x"}, None))
    print(f"{serve(Backend)}/theirs.git {serve(Endless)}", flush=True)
    signal.pause()


def main():
    version = git(ROOT, "version").decode().strip()
    print(f"{version}; libgit2 {pygit2.LIBGIT2_VERSION}; load {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores")
    base = serve(Backend)
    show("git: start of a process (git version)", [timed(lambda: git(ROOT, "version"))[0] for _ in range(20)])
    measure("git fast-import", by_fast_import, git_push, git_fetch, base)
    measure("git with an index", by_index, git_push, git_fetch, base)
    ours, tip = measure("libgit2", by_libgit2, libgit2_push, libgit2_fetch, base)
    read_all(ours, tip)
    hostile()


if __name__ == "__main__":
    try:
        serve_only() if SERVE else main()
    except KeyboardInterrupt:
        pass
    finally:
        shutil.rmtree(ROOT, ignore_errors=True)
