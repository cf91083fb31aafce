"""Runs one convolution in a framework and tells what it loaded. Given to the user's own Python by `cudnnm test`."""
import ctypes, json, os, sys, time

NAME = sys.argv[1]
report = {"python": sys.executable, "convolution": None, "trouble": None, "version": None, "says": None, "times": {}}
SHAPE, FILTERS = (8, 3, 224, 224), (64, 3, 3, 3)


class NotHere(Exception):
    """There is nothing to run the convolution on, or no way to ask for one."""


def torch():
    import torch

    report["version"] = torch.__version__
    if not torch.cuda.is_available():
        raise NotHere("torch finds no GPU")
    report["says"] = torch.backends.cudnn.version()
    torch.backends.cudnn.benchmark = True
    for name, kind, tf32 in (
        ("fp32", torch.float32, False),
        ("tf32", torch.float32, True),
        ("fp16", torch.float16, False),
        ("bf16", torch.bfloat16, False),
    ):
        torch.backends.cudnn.allow_tf32 = tf32
        x = torch.randn(SHAPE, device="cuda").to(kind)
        w = torch.randn(FILTERS, device="cuda").to(kind)
        y = torch.nn.functional.conv2d(x, w, padding=1)
        torch.cuda.synchronize()
        report["convolution"] = "cuda"
        g = torch.randn_like(y)
        back = torch.ops.aten.convolution_backward
        rest = (None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        for direction, run in (
            ("forward", lambda: torch.nn.functional.conv2d(x, w, padding=1)),
            ("backward-data", lambda: back(g, x, w, *rest, [True, False, False])),
            ("backward-filter", lambda: back(g, x, w, *rest, [False, True, False])),
        ):
            report["times"][name + " " + direction] = torch_time(torch, run)


def torch_time(torch, run):
    for _ in range(3):
        run()
    times = []
    for _ in range(9):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(5):
            run()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last) / 5)
    return sorted(times)[4]


def tensorflow():
    import tensorflow as tf

    report["version"] = tf.__version__
    report["says"] = tf.sysconfig.get_build_info().get("cudnn_version")
    if not tf.config.list_physical_devices("GPU"):
        raise NotHere("tensorflow finds no GPU")
    with tf.device("/GPU:0"):
        x = tf.random.normal((8, 224, 224, 3))
        tf.nn.conv2d(x, tf.random.normal((3, 3, 3, 64)), 1, "SAME").numpy()
    report["convolution"] = "cuda"


def onnxruntime():
    import onnxruntime as ort

    report["version"] = ort.__version__
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        raise NotHere("this onnxruntime has no CUDA provider")
    import numpy

    session = ort.InferenceSession(onnx_model(), providers=["CUDAExecutionProvider"])
    if "CUDAExecutionProvider" not in session.get_providers():
        raise NotHere("onnxruntime fell back to the CPU")
    session.run(None, {"x": numpy.zeros(SHAPE, "f4"), "w": numpy.zeros(FILTERS, "f4")})
    report["convolution"] = "cuda"


def onnx_model():
    """One Conv node; written by hand, because the onnx package need not be there."""

    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])

    def number(field, n):
        return varint(field << 3) + varint(n)

    def block(field, data):
        data = data.encode() if isinstance(data, str) else data
        return varint(field << 3 | 2) + varint(len(data)) + data

    def value(name, sizes):
        shape = b"".join(block(1, number(1, n)) for n in sizes)
        return block(1, name) + block(2, block(1, number(1, 1) + block(2, shape)))

    pads = block(1, "pads") + b"".join(number(8, 1) for _ in range(4)) + number(20, 7)
    node = block(1, "x") + block(1, "w") + block(2, "y") + block(4, "Conv") + block(5, pads)
    graph = block(1, node) + block(2, "g") + block(11, value("x", SHAPE)) + block(11, value("w", FILTERS))
    graph += block(12, value("y", (8, 64, 224, 224)))
    return number(1, 8) + block(7, graph) + block(8, number(2, 13))


def jax():
    import jax

    report["version"] = jax.__version__
    if jax.default_backend() != "gpu":
        raise NotHere("jax finds no GPU")
    x, w = jax.numpy.ones(SHAPE), jax.numpy.ones(FILTERS)
    jax.lax.conv(x, w, (1, 1), "SAME").block_until_ready()
    report["convolution"] = "cuda"


def cupy():
    import cupy

    report["version"] = cupy.__version__
    if int(cupy.__version__.split(".")[0]) >= 14:
        raise NotHere("cupy 14 and later do not use cuDNN")
    from cupy_backends.cuda.libs import cudnn as backend

    report["says"] = backend.getVersion()
    from cupy import cudnn

    x, w, y = cupy.ones(SHAPE, "f4"), cupy.ones(FILTERS, "f4"), cupy.empty((8, 64, 224, 224), "f4")
    cudnn.convolution_forward(x, w, None, y, (1, 1), (1, 1), (1, 1), 1, auto_tune=False, tensor_core="never")
    cupy.cuda.runtime.deviceSynchronize()
    report["convolution"] = "cuda"


def ctranslate2():
    import ctranslate2

    report["version"] = ctranslate2.__version__
    if not ctranslate2.get_cuda_device_count():
        raise NotHere("ctranslate2 finds no GPU")
    raise NotHere("ctranslate2 runs convolutions only in a Whisper model, so none was run")


def loaded():
    if os.name != "nt":
        with open("/proc/self/maps", errors="surrogateescape") as maps:
            return sorted({line[line.index("/") :].rstrip("\n") for line in maps if "/" in line})
    from ctypes import wintypes

    kernel = ctypes.WinDLL("kernel32")
    modules, needed = (wintypes.HMODULE * 4096)(), wintypes.DWORD()
    kernel.GetCurrentProcess.restype = wintypes.HANDLE
    kernel.K32EnumProcessModules.argtypes = [wintypes.HANDLE, ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p]
    kernel.K32EnumProcessModules(
        kernel.GetCurrentProcess(), modules, ctypes.sizeof(modules), ctypes.byref(needed)
    )
    kernel.GetModuleFileNameW.argtypes = [wintypes.HMODULE, wintypes.LPWSTR, wintypes.DWORD]
    name, found = ctypes.create_unicode_buffer(32768), []
    for module in modules[: needed.value // ctypes.sizeof(wintypes.HMODULE)]:
        if kernel.GetModuleFileNameW(module, name, len(name)):
            found.append(name.value)
    return sorted(found)


def answer(files):
    """What the dispatcher that is in the process says of itself."""
    for path in files:
        name = os.path.basename(path).lower()
        if name.startswith(("libcudnn.so", "libcudnn-", "cudnn64_")):
            try:
                ask = ctypes.CDLL(path).cudnnGetVersion
                ask.restype = ctypes.c_size_t
                return ask()
            except OSError:
                pass
    return None


started = time.time()
try:
    globals()[NAME]()
except NotHere as reason:
    report["trouble"] = str(reason)
    report["not-run"] = True
except Exception as error:  # Whatever the framework says is what the person wants to read.
    report["trouble"] = type(error).__name__ + ": " + " ".join(str(error).split())[:600]
    report["not-run"] = False
report["seconds"] = round(time.time() - started, 2)
report["files"] = [path for path in loaded() if "cudnn" in os.path.basename(path).lower()]
report["answers"] = answer(report["files"])
sys.stdout.flush()
print("\nCUDNNM-RESULT " + json.dumps(report), flush=True)
# Some frameworks crash while they are taken down; the work is done.
os._exit(0)
