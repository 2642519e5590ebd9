"""Programs from Debian with real inputs: what they print must not depend on how they run."""
import os
import shutil
from dataclasses import dataclass

PYTHON = "/usr/bin/python3"


@dataclass
class Program:
    name: str
    command: list
    needs: tuple = ()
    stdin: str = ""     # "text": some megabytes of it
    tool: str = "null"

    def input(self):
        return text() if self.stdin == "text" else self.stdin.encode()


def text(size=1 << 20):
    """The same on every run on this machine."""
    out = b""
    for folder, folders, files in os.walk("/usr/include/linux"):
        folders.sort()
        for name in sorted(files):
            with open(os.path.join(folder, name), "rb") as f:
                out += f.read()
        if len(out) > size:
            break
    return out[:size]


def sh(name, script, *needs, stdin="", tool="null"):
    return Program(name, ["sh", "-c", script], needs, stdin, tool)


# Those that check runs: each a fraction of a second.
BRIEF = [
    Program("true", ["true"]),
    Program("bash", ["bash", "-c",
                     "x=0; for i in {1..3000}; do x=$((x+i)); done; echo $x $(echo a | tr a b); exit 7"],
            ("bash",), tool="blocks"),
    Program("bash-kill", ["bash", "-c", "trap 'echo usr1' USR1; kill -USR1 $$; kill -9 $$"],
            ("bash",)),
    Program("perl", ["perl", "-e",
                     "print join q(,), sort { $a <=> $b } map { $_ * 7 % 1000 } 1..20000"],
            ("perl",),
            tool="edges"),
    Program("perl-alarm", ["perl", "-e", "$SIG{ALRM} = sub { $n++ }; for (1..20) { alarm 0; "
            "select undef, undef, undef, 0.001; kill ALRM => $$ } print $n"], ("perl",)),
    Program("python3", [PYTHON, "-c", "import json, re, subprocess, threading\n"
            "r = []\nts = [threading.Thread(target=lambda: r.append(sum(range(20000)))) for _ in range(4)]\n"
            "[t.start() for t in ts]; [t.join() for t in ts]\n"
            "print(r, subprocess.run(['sh', '-c', 'echo hi; exit 3'], capture_output=True))"],
            (PYTHON,),
            tool="blocks"),
    Program("gzip", ["gzip", "-n", "-c"], ("gzip",), "text", "count"),
    Program("xz", ["xz", "-1", "-c", "-T2"], ("xz",), "text"),
    Program("zstd", ["zstd", "-q", "-c", "-T2"], ("zstd",), "text"),
    Program("sort", ["sort", "--parallel=2"], ("sort",), "text", "edges"),
    Program("awk", ["awk", "{ n[$1]++ } END { for (k in n) s += n[k]; print NR, s }"], ("awk",),
            "text"),
    Program("grep", ["grep", "-c", "-E", "(struct|union) [a-z_]+ [{]"], ("grep",), "text"),
    sh("tar", "tar -cf - /usr/include/asm-generic | sha256sum", "tar"),
    Program("openssl", ["openssl", "dgst", "-sha512"], ("openssl",), "text"),
    Program("git", ["sh", "-c",
                    "git init -q . && echo x > f && git add f && git hash-object f && git status --short"],
            ("git",)),
    Program("gcc", ["gcc", "-O1", "-S", "-o", "-", "-x", "c", "-"], ("gcc",),
            "#include <stdio.h>\nint main(void) { for (int i = 0; i < 9; i++) printf(\"%d\", i); return 0; }\n"),
    sh("ld", "echo 'int main(void){return 3;}' > a.c && gcc a.c -o a && ./a", "gcc", "ld"),
    Program("file", ["file", "-L", "/bin/ls", "/etc/passwd"], ("file",)),
    Program("gdb", ["gdb", "-nx", "--batch", "-ex", "print 6 * 7"], ("gdb",)),
    Program("valgrind", ["valgrind", "--version"], ("valgrind",)),
]

# The others, which tests/soak/programs runs; where they are not installed they are left out.
LONG = [
    Program("ruby", ["ruby", "-e",
                     "puts (1..20000).map { |i| i * i }.sum; puts [3,1,2].sort.inspect"],
            ("ruby",)),
    Program("php", ["php", "-r",
                    "echo array_sum(range(1, 10000)), preg_replace('/a+/', 'b', 'caaat');"],
            ("php",)),
    Program("lua", ["lua", "-e", "local s = 0 for i = 1, 300000 do s = s + i % 7 end print(s)"],
            ("lua",), tool="edges"),
    Program("luajit", ["luajit", "-e", "local s = 0 for i = 1, 1e7 do s = s + i % 7 end print(s)"],
            ("luajit",)),
    Program("node-compile", ["node", "-e",
                             "const v = {}; for (let i = 0; i < 30000; i++) { const s = 'k' + i % 977; "
            "(v[s] = v[s] || []).push(i); } const t = JSON.stringify(v); const r = t.replace(/(\\d)(\\d)/g, '$2$1'); "
            "const f = new Function('x', 'return x * 3 + 1'); let n = 0; for (let i = 0; i < 200000; i++) n += f(i) % 7; "
            "console.log(t.length, r.length, n, require('crypto').createHash('sha256').update(r).digest('hex'))"],
            ("node",)),
    Program("node", ["node", "-e",
                     "let s = 0; for (let i = 0; i < 1e6; i++) s = (s + i * i) % 1000003; console.log(s)"],
            ("node",)),
    Program("java", ["java", "-version"], ("java",)),
    sh("javac", "printf 'public class A { public static void main(String[] a) { long s = 0; "
       "for (int i = 0; i < 3000000; i++) s += i %% 7; System.out.println(s); } }' > A.java && java A.java", "java"),
    sh("java-collect", "cat > B.java && java -Xmx48m -XX:+UseSerialGC B.java && java -Xmx64m -XX:+UseG1GC B.java", "java",
       stdin="""import java.util.*;
public class B {
    static int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
    public static void main(String[] a) throws Exception {
        Map<String, List<Integer>> m = new TreeMap<>();
        for (int i = 0; i < 200000; i++) m.computeIfAbsent("k" + i % 4999, k -> new ArrayList<>()).add(i);
        long sum = 0;
        for (List<Integer> l : m.values()) for (int x : l) sum += x * 31L % 1000003;
        int caught = 0;
        String none = a.length > 0 ? "x" : null;
        for (int i = 0; i < 20000; i++) try { sum += none.length(); } catch (NullPointerException e) { caught++; }
        Thread[] t = new Thread[4];
        long[] r = new long[4];
        for (int i = 0; i < 4; i++) { int n = i; t[i] = new Thread(() -> { for (int j = 0; j < 300000; j++) r[n] += new int[9].length; }); t[i].start(); }
        for (Thread x : t) x.join();
        boolean deep = false;
        try { depth(10000000); } catch (StackOverflowError e) { deep = true; }
        System.out.println(sum + " " + caught + " " + (r[0] + r[1] + r[2] + r[3]) + " " + deep);
    }
}
"""),
    sh("clang", "echo 'int main(void){return 3;}' > a.c && clang -O2 a.c -o a && ./a", "clang"),
    sh("cc1", "gcc -O2 -S -x c -o - - | sha256sum", "gcc",
       stdin="#include <stdlib.h>\n#include <math.h>\ndouble f(double x) { return sin(x) + exp(x); }\n"),
    Program("sqlite3", ["sqlite3", ":memory:",
                        "create table t(a, b); with recursive c(x) as (select 1 union all "
            "select x + 1 from c where x < 20000) insert into t select x, x * 7 % 1000 from c; "
            "select b, count(*) from t group by b order by 2 desc, 1 limit 5"], ("sqlite3",)),
    sh("redis", "redis-server --save '' --appendonly no --port 0 --unixsocket $PWD/r.sock >/dev/null & p=$!; "
       "for i in $(seq 200); do [ -S r.sock ] && break; sleep 0.05; done; "
       "redis-benchmark -s r.sock -q -n 2000 -t set,get,lpush >/dev/null && redis-cli -s r.sock incrby n 5; "
       "redis-cli -s r.sock shutdown nosave; wait $p; echo $?", "redis-server", "redis-benchmark"),
    sh("nginx", "printf 'daemon off; pid n.pid; error_log stderr crit; events {} http { access_log off; "
       "server { listen unix:%s/n.sock; return 200 hello; } }' $PWD > n.conf; nginx -p $PWD -c n.conf -e stderr & "
       "for i in $(seq 200); do [ -S n.sock ] && break; sleep 0.05; done; "
       "curl -s --unix-socket n.sock http://x/; kill -QUIT $(cat n.pid); wait", "nginx", "curl"),
    sh("wrk", "printf 'daemon off; pid n.pid; error_log stderr crit; events {} http { access_log off; "
       "server { listen 127.0.0.1:18734; return 200 hello; } }' > n.conf; nginx -p $PWD -c n.conf -e stderr & sleep 1; "
       "wrk -t2 -c4 -d1s http://127.0.0.1:18734/ | grep -c Requests/sec; kill -QUIT $(cat n.pid); wait", "nginx", "wrk"),
    sh("openssl-speed", "openssl speed -seconds 1 -bytes 1024 sha256 2>/dev/null | grep -c ^sha256",
       "openssl"),
    sh("ffmpeg", "ffmpeg -v error -f lavfi -i testsrc=duration=1:size=160x120:rate=10 -threads 2 -c:v mpeg4 "
       "-f rawvideo -bitexact - | sha256sum", "ffmpeg"),
    sh("stockfish", "/usr/games/stockfish bench 16 2 8 default depth 2>&1 | grep -cE '^(Position|bestmove|Nodes)'",
       "/usr/games/stockfish"),
    sh("povray", "printf 'camera{location<0,2,-3> look_at 0} light_source{<2,4,-3> rgb 1} sphere{0,1 pigment{rgb 1}}' "
       "> s.pov; povray +Is.pov +Os.ppm +FP +W64 +H48 -D +WT1 2>/dev/null; grep -av ^# s.ppm | sha256sum", "povray"),
    sh("x264", "ffmpeg -v error -f lavfi -i testsrc=duration=1:size=160x120:rate=10 -threads 2 -c:v libx264 -preset fast "
       "-f rawvideo -bitexact - | sha256sum", "ffmpeg"),
    # Statically linked: it runs natively.
    sh("busybox", "busybox sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo $i | busybox md5sum'", "busybox"),
    Program("pcre2", ["grep", "-cP",
                      "(?<a>struct|union)\\s+\\w+(?=\\s*\\{)|^#\\s*define\\s+(\\w+)_\\2"],
            ("grep",), "text"),
    sh("sevenzip", "7z a -bso0 -bsp0 -mmt2 x.7z /usr/include/linux >/dev/null && 7z t x.7z | grep -c Ok", "7z"),
    # PostgreSQL refuses to run as root.
    sh("pgbench", "as() { if [ $(id -u) = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups \"$@\"; "
       "else \"$@\"; fi; }; as mkdir -m 700 $PWD/d && as initdb -A trust -N -D $PWD/d >/dev/null && "
       "as postgres -D $PWD/d -k $PWD/d -h '' -c fsync=off -c log_min_messages=panic 2>/dev/null & "
       "for i in $(seq 600); do as psql -h $PWD/d -d postgres -Atc 'select 1' >/dev/null 2>&1 && break; sleep 0.1; done; "
       "as pgbench -h $PWD/d -i -q -s 1 postgres >/dev/null 2>&1; "
       "as pgbench -h $PWD/d -n -c 4 -j 2 -t 100 postgres 2>/dev/null | grep -E 'actually|failed'; "
       "as psql -h $PWD/d -d postgres -Atc 'select count(*), sum(abalance) = sum(tbalance) from pgbench_history h, "
       "(select sum(abalance) abalance from pgbench_accounts) a, (select sum(tbalance) tbalance from pgbench_tellers) t'; "
       "kill -INT $(head -1 d/postmaster.pid); wait; echo $?", "postgres", "pgbench", "psql",
       "setpriv"),
    Program("gap", ["gap", "-q", "-A"], ("gap",),
            "Print(Size(SymmetricGroup(8)), \"\\n\"); quit;\n"),
    Program("link-parser", ["link-parser", "-verbosity=0"], ("link-parser",),
            "The cat sat on the mat.\n"),
    sh("graywolf", "graywolf 2>&1 | head -3", "graywolf"),
    Program("sed", ["sed", "-E", "s/([a-z]+)_([a-z]+)/\\2-\\1/g"], ("sed",), "text"),
    Program("bzip2", ["bzip2", "-c"], ("bzip2",), "text"),
    Program("jq", ["jq", "-n", "[range(3000) | . * 3] | add"], ("jq",)),
    sh("vim", "printf 'b\\na\\nc\\n' > f; vim -u NONE -es -c sort -c wq f; cat f", "vim"),
    Program("emacs", ["emacs", "-Q", "--batch", "--eval",
                      "(princ (apply '+ (number-sequence 1 1000)))"], ("emacs",)),
    Program("make", ["make", "-s", "-j4", "-f", "-"], ("make",),
            "all: a b c\na b c:\n\t@echo x | sha256sum; true\n"),
    Program("find", ["find", "/usr/share/doc", "-name", "*.gz"], ("find",)),
    Program("strace", ["strace", "-qq", "-f", "-e", "trace=none", "sh", "-c", "echo x; exit 3"],
            ("strace",)),
    sh("seccomp", "setpriv --no-new-privs sh -c 'echo sandboxed; ls / | sha256sum'", "setpriv"),
]
