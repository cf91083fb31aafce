# Written by cudnnm; changes here are lost. `cudnnm exec` puts this folder first on PYTHONPATH.
#
# Makes the active cuDNN the one that this Python loads, at the price of one stat at start-up:
# - Windows: its folder is added for extension modules (Python >= 3.8 does not look at PATH for those) and put on PATH
#   (where cuDNN itself looks for its parts).
# - Just before a framework is imported, the libraries are opened by absolute path. The loader then reuses them whatever
#   RPATH a wheel carries. A Python that imports no framework opens nothing.
# Then the sitecustomize that would have run without us runs. Works with Python 2.7 and every 3.
import os
import sys

_FRAMEWORKS = frozenset((
    "torch", "tensorflow", "tensorflow_core", "jax", "jaxlib", "jax_plugins", "jax_cuda12_plugin", "jax_cuda13_plugin",
    "onnxruntime", "cupy", "cupy_backends", "ctranslate2", "paddle", "mxnet", "chainer", "theano", "cv2",
))


class _CudnnmPrelude(object):
    """Opens the active cuDNN when the first framework is imported; a finder that finds nothing itself."""

    def __init__(self, root, name):
        self.root = root
        self.name = name
        self.kept = []

    def find_spec(self, fullname, path=None, target=None):
        if fullname in _FRAMEWORKS:
            self.preload(fullname)
        return None

    def find_module(self, fullname, path=None):
        return self.find_spec(fullname, path)

    def preload(self, framework):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            import ctypes
            for library in self.libraries():
                self.kept.append(ctypes.CDLL(library))
        except Exception as error:
            sys.stderr.write("cudnnm: could not open cuDNN %s before importing %s: %s\n" % (self.name, framework, error))
        if os.name == "nt" and framework == "torch":
            sys.stderr.write("cudnnm: torch on Windows loads the cuDNN in its own folder, not %s\n" % self.name)

    def libraries(self):
        """The main library; on Windows every part before it, because parts are looked up by bare name there."""
        if os.name != "nt":
            lib = os.path.join(self.root, "lib")
            return [os.path.join(lib, name) for name in os.listdir(lib)
                    if name.startswith("libcudnn.so.") and name.count(".") == 2]
        folder = os.path.join(self.root, "bin")
        # In the order in which they import one another; the front door, cudnn64_N.dll, comes last.
        order = ("graph", "ops_infer", "ops_train", "ops", "cnn_infer", "cnn_train", "cnn", "adv_infer", "adv_train", "adv")
        ranked = []
        for name in os.listdir(folder):
            stem = name.lower()
            if stem.startswith("cudnn") and stem.endswith(".dll"):
                part = stem.partition("64_")[0].replace("cudnn_", "", 1)
                rank = order.index(part) if part in order else (len(order) + 1 if part == "cudnn" else len(order))
                ranked.append((rank, os.path.join(folder, name)))
        return [path for _, path in sorted(ranked)]


def _cudnnm_start():
    root = os.environ.get("CUDNNM_ACTIVE_PATH")
    name = os.environ.get("CUDNNM_ACTIVE", "")
    if not root:
        return
    folder = os.path.join(root, "bin" if os.name == "nt" else "lib")
    if not os.path.isdir(folder):
        sys.stderr.write("cudnnm: cuDNN %s has vanished from %s; Python goes on without it\n" % (name, root))
        return
    prelude = _CudnnmPrelude(root, name)
    if os.name == "nt":
        if hasattr(os, "add_dll_directory"):
            prelude.kept.append(os.add_dll_directory(folder))
        path = os.environ.get("PATH", "")
        if folder.lower() not in path.lower().split(os.pathsep):
            os.environ["PATH"] = folder + os.pathsep + path
    sys.meta_path.insert(0, prelude)


def _cudnnm_chain():
    """Runs the next sitecustomize on sys.path and leaves that one, or else this one, in sys.modules."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    ours = sys.modules.pop(__name__, None)
    try:
        __import__("sitecustomize")
    except ImportError as error:
        missing = getattr(error, "name", None) or ("sitecustomize" if "sitecustomize" in str(error) else None)
        if missing != "sitecustomize":
            raise
    finally:
        if ours is not None and __name__ not in sys.modules:
            sys.modules[__name__] = ours


_cudnnm_start()
if __name__ == "sitecustomize":
    _cudnnm_chain()
