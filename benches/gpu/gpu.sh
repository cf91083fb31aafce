#!/usr/bin/env bash
# Everything that only a GPU can show, in one run; see README.md. Needs: a cudnnm ($CUDNNM), jit wheels ($WHEELS), an
# unpacked cuDNN 8.9.7 with its cuBLAS ($TREE, optional), cc, python3. Results go to $OUT. Nothing of the machine is changed:
# no setting of the GPU, no file outside $WORK and $OUT. Every step has a time limit.
set -u
here=$(cd "$(dirname "$0")" && pwd)
CUDNNM=${CUDNNM:?the program to test}
WHEELS=${WHEELS:?a folder with nvidia_cudnn_jit_cu13 wheels}
TREE=${TREE:-}
OUT=${OUT:-$PWD/gpu-results}
WORK=${WORK:-$(mktemp -d)}
SYSTEM=${SYSTEM:-/usr/lib/x86_64-linux-gnu}
PYTHON=${PYTHON:-/opt/torch/.venv/bin/python}
BUDGET=${BUDGET:-500}
mkdir -p "$OUT" "$WORK"
export CUDNNM_ROOT=$WORK/store CUDNNM_ACCEPT_LICENSE=1 CUDNNM_OFFLINE=1
log=$OUT/log.txt
: > "$log"
begun=$SECONDS
left() { echo $((BUDGET - (SECONDS - begun))); }

# record FILE LABEL LIMIT COMMAND…: runs it, and adds a line with all it said to FILE.
record() {
    local file=$1 label=$2 limit=$3
    shift 3
    if [ "$(left)" -lt 3 ]; then
        echo "== $label: no time left" >> "$log"
        return 0
    fi
    [ "$limit" -gt "$(left)" ] && limit=$(left)
    python3 - "$OUT/$file" "$label" "$limit" "$log" "$@" <<'PYTHON'
import json, subprocess, sys, time
file, label, limit, log, *command = sys.argv[1:]
start = time.time()
child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
try:
    out, err = child.communicate(timeout=float(limit))
    code = child.returncode
except subprocess.TimeoutExpired:
    child.kill()
    out, err = child.communicate()
    code = "time limit"
seconds = round(time.time() - start, 3)
try:
    said = json.loads(out)
except ValueError:
    said = out
with open(file, "a") as lines:
    lines.write(json.dumps({"label": label, "command": command[-12:], "exit": code, "seconds": seconds, "stdout": said, "stderr": err[-3000:]}) + "\n")
with open(log, "a") as text:
    shown = out if isinstance(said, str) else ""
    text.write(f"== {label}: exit {code}, {seconds} s\n{shown[-6000:]}{err[-2500:]}\n")
PYTHON
}

facts() {
    python3 - "$OUT/machine.json" <<'PYTHON'
import json, os, platform, subprocess, sys, time
def ask(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return None
fields = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit,compute_cap"
json.dump({
    "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    "gpu": ask("nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader"),
    "kernel": platform.release(),
    "libc": " ".join(platform.libc_ver()),
    "cores": os.cpu_count(),
    "cudnnm": ask(os.environ["CUDNNM"], "--version"),
    "toolkit": ask("sh", "-c", "ls -d /usr/local/cuda-*"),
    "loader": ask("sh", "-c", "ldconfig -p | grep -E 'libcudnn|libcublasLt|libnvrtc.so' | sort"),
}, open(sys.argv[1], "w"), indent=1)
PYTHON
}

companion() { # cuBLAS 12.1.3.1, where an install with --with-companions would put it.
    local from=$TREE/nvidia_cublas_cu12/nvidia/cublas/lib to=$CUDNNM_ROOT/cublas-12.1.3.1-cuda12
    [ -d "$from" ] || return 0
    mkdir -p "$to/lib"
    cp -l "$from"/libcublas*.so.12 "$to/lib" 2> /dev/null || cp "$from"/libcublas*.so.12 "$to/lib"
    python3 - "$to" <<'PYTHON'
import hashlib, os, sys
root = sys.argv[1]
text = 'schema = 1\nsource = "local"\norigin = "gpu.sh"\ntrust = "local"\ninstalled = "2026-01-01T00:00:00Z"\n\n[package.companion]\nkind = "cublas"\nversion = "12.1.3.1"\ncuda_major = 12\nplatform = "linux-x86_64"\n'
for name in sorted(os.listdir(root + "/lib")):
    path = root + "/lib/" + name
    digest = hashlib.file_digest(open(path, "rb"), "sha256").hexdigest()
    text += f'\n[[files]]\npath = "lib/{name}"\nsize = {os.path.getsize(path)}\nsha256 = "{digest}"\n'
open(root + "/receipt.toml", "w").write(text)
PYTHON
}

facts
cc -shared -fPIC -O2 -o "$WORK/hide.so" "$here/hide.c" || exit 1

# ---- builds
for wheel in "$WHEELS"/nvidia_cudnn_jit_*.whl; do
    record install.jsonl "install $(basename "$wheel")" 60 "$CUDNNM" install --from "$wheel" --json
done
if [ -n "$TREE" ]; then
    record install.jsonl "install 8.9.7" 90 "$CUDNNM" install --from "$TREE/nvidia_cudnn_cu12" --json
    companion
fi
record install.jsonl "link the system's" 60 "$CUDNNM" import --link "$SYSTEM" --json
site=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2> /dev/null)
record install.jsonl "link torch's" 60 "$CUDNNM" import --link "$site/nvidia/cudnn" --json
record install.jsonl "list" 20 "$CUDNNM" list
mapfile -t builds < <("$CUDNNM" list --json | python3 -c 'import json,sys; print("\n".join(row["name"] for row in json.load(sys.stdin)["builds"]))')
jits=() full=()
for build in "${builds[@]}"; do
    case $build in *jit*) jits+=("$build") ;; *) full+=("$build") ;; esac
done
echo "builds: ${builds[*]}" >> "$log"

# ---- three layers
for build in "${builds[@]}"; do
    record tests.jsonl "test $build" 70 "$CUDNNM" test --cudnn "$build" --json
done
# As on a machine without a system-wide cuDNN.
for build in "${jits[@]}"; do
    record tests.jsonl "test $build, the system's hidden" 70 env LD_AUDIT="$WORK/hide.so" "$CUDNNM" test --cudnn "$build" --json
done
export OUT WORK CUDNNM
[ -n "${MORE:-}" ] && record more.jsonl "more" 100 bash -c "$MORE"
# Warm, as a person sees it.
for build in "${builds[@]}"; do
    for again in 1 2; do
        record warm.jsonl "warm $again $build" 40 "$CUDNNM" test --cudnn "$build"
    done
done

# ---- damage: copies in a store of their own
damage() { # LABEL FOLDER COMMANDS [VARIABLE=VALUE]
    local label=$1 folder=$2 commands=$3 variable=${4:-NOTHING=1}
    rm -rf "$WORK/damaged"
    mkdir -p "$WORK/damaged"
    cp -a "$CUDNNM_ROOT/$folder" "$WORK/damaged/"
    [ -d "$CUDNNM_ROOT/cublas-12.1.3.1-cuda12" ] && ln -s "$CUDNNM_ROOT/cublas-12.1.3.1-cuda12" "$WORK/damaged/"
    (cd "$WORK/damaged/$folder/lib" && eval "$commands")
    local spec
    spec=$(echo "$folder" | sed 's/^cudnn-//; s/-cuda/+cuda/; s/-jit/+jit/')
    record damage.jsonl "$label" 45 env "$variable" CUDNNM_ROOT="$WORK/damaged" "$CUDNNM" test --cudnn "$spec" --time-limit 30
}
folder() { (cd "$CUDNNM_ROOT" && ls -d $1 | head -1); }
newest=$(folder 'cudnn-9.19*-jit')
older=$CUDNNM_ROOT/$(folder 'cudnn-9.15*-jit')/lib
engines=libcudnn_engines_runtime_compiled.so
damage "jit 9.19, engines deleted" "$newest" "rm $engines*"
damage "jit 9.19, engines deleted, the system's hidden" "$newest" "rm $engines*" "LD_AUDIT=$WORK/hide.so"
damage "jit 9.19, graph library of 9.15" "$newest" 'rm libcudnn_graph.so.9; cp -L "$older/libcudnn_graph.so.9" .'
damage "jit 9.19, engines of 9.15" "$newest" 'rm $engines.9; cp -L "$older/$engines.9" .'
damage "jit 9.19, graph library cut off" "$newest" 'mv libcudnn_graph.so.9 x; head -c $(($(stat -c %s x) / 2)) x > libcudnn_graph.so.9; rm x'
damage "jit 9.19, main library of 32 bits" "$newest" 'cp libcudnn.so.9 x; rm libcudnn.so.9; mv x libcudnn.so.9; printf "\001" | dd of=libcudnn.so.9 bs=1 seek=4 conv=notrunc status=none; printf "\003\000" | dd of=libcudnn.so.9 bs=1 seek=18 conv=notrunc status=none'
if [ -d "$CUDNNM_ROOT/cublas-12.1.3.1-cuda12" ]; then
    damage "8.9.7, cnn_infer deleted" "$(folder 'cudnn-8.9.7*')" 'rm libcudnn_cnn_infer.so.8'
    mv "$CUDNNM_ROOT/cublas-12.1.3.1-cuda12" "$WORK/aside"
    record damage.jsonl "8.9.7 without cuBLAS 12" 45 "$CUDNNM" test --cudnn 8.9.7 --time-limit 30
    mv "$WORK/aside" "$CUDNNM_ROOT/cublas-12.1.3.1-cuda12"
fi

# ---- frameworks
for build in 9.19+jit 9.14; do
    record frameworks.jsonl "torch with $build" 100 "$CUDNNM" test --cudnn "$build" --framework torch --python "$PYTHON" --json
done
record frameworks.jsonl "torch, in words" 60 "$CUDNNM" test --cudnn 9.14 --framework torch --python "$PYTHON"

# ---- side by side
record bench.jsonl "bench" 260 "$CUDNNM" bench "${builds[@]}" --framework torch --python "$PYTHON" --html "$OUT/bench.html" --time-limit 60 --json
record bench.jsonl "bench, in words" 60 "$CUDNNM" bench "${builds[@]}" --quick

for framework in jax onnxruntime cupy; do
    if "$PYTHON" -c "import importlib.util,sys; sys.exit(importlib.util.find_spec('$framework') is None)"; then
        record frameworks.jsonl "$framework with 9.14" 60 "$CUDNNM" test --cudnn 9.14 --framework "$framework" --python "$PYTHON"
    fi
done
echo "took $((SECONDS - begun)) s" >> "$log"
# At most eight files come back from some machines.
python3 - "$OUT" <<'PYTHON'
import glob, json, os, sys
out = sys.argv[1]
everything = {}
for path in sorted(glob.glob(out + "/*.jsonl")):
    name = os.path.basename(path)[:-6]
    if name != "more":
        everything[name] = [json.loads(line) for line in open(path)]
        os.remove(path)
everything["machine"] = json.load(open(out + "/machine.json"))
os.remove(out + "/machine.json")
json.dump(everything, open(out + "/results.json", "w"), indent=1)
PYTHON
ls -la "$OUT"
tail -c 3000 "$log"
