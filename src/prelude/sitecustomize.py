# Written by cudnnm; changes here are lost. `cudnnm exec` puts this folder first on PYTHONPATH.
#
# Makes the active cuDNN the one that this Python loads, at the price of one stat at start-up:
# - Windows: its folder and those of cuBLAS and NVRTC are added for extension modules (Python >= 3.8 does not look at PATH
#   for those) and put on PATH (where cuDNN itself looks for its parts).
# - Just before a framework is imported, the libraries are opened by absolute path. The loader then reuses them whatever
#   RPATH a wheel carries and whatever lies in System32. A Python that imports no framework opens nothing.
# - PyTorch's Windows wheels open every DLL of torch\lib by absolute path, so theirs would be loaded beside ours. There the
#   active one wins completely (CUDNNM_TORCH=override) or is not opened at all, and one line says so.
# Then the sitecustomize that would have run without us runs. Works with Python 2.7 and every 3.
import os
import sys

_FRAMEWORKS = frozenset((
    "torch", "tensorflow", "tensorflow_core", "jax", "jaxlib", "jax_plugins", "jax_cuda12_plugin", "jax_cuda13_plugin",
    "onnxruntime", "cupy", "cupy_backends", "ctranslate2", "paddle", "mxnet", "chainer", "theano", "cv2",
))
_WINDOWS = os.name == "nt"


def _cudnnm_say(text):
    sys.stderr.write("cudnnm: %s\n" % text)


class _CudnnmPrelude(object):
    """Opens the active cuDNN when the first framework is imported; a finder that finds nothing itself."""

    def __init__(self, root, name):
        self.name = name
        self.folder = os.path.join(root, "bin" if _WINDOWS else "lib")
        self.kept = []
        self.opened = False

    def find_spec(self, fullname, path=None, target=None):
        if fullname == "torch" and _WINDOWS:
            return self.torch_on_windows(path, target)
        if fullname in _FRAMEWORKS:
            self.preload(fullname)
        return None

    def find_module(self, fullname, path=None):
        return self.find_spec(fullname, path)

    def leave(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def preload(self, framework):
        """Whether every library is open now. A part that can't be opened does not keep the others out."""
        if self.opened:
            return True
        self.opened = True
        if not _WINDOWS:
            self.leave()
        failure = None
        try:
            import ctypes
            # LOAD_WITH_ALTERED_SEARCH_PATH: what a DLL needs comes from its own folder, else from PATH. Without it
            # Python >= 3.8 would not look at PATH, where zlibwapi and cuBLAS are.
            options = {"winmode": 8} if hasattr(os, "add_dll_directory") else {}
            for library in self.libraries():
                try:
                    self.kept.append(ctypes.CDLL(library, **options))
                except OSError as error:
                    failure = failure or error
            if not _WINDOWS:
                self.stand_in(ctypes)
        except Exception as error:
            failure = error
        if failure is not None:
            _cudnnm_say("could not open cuDNN %s before importing %s: %s" % (self.name, framework, failure))
        return failure is None

    def stand_in(self, ctypes):
        """torch and JAX also open the front door of their own wheel by absolute path, which would lie in memory beside
        ours. Whatever the active build has under that name is opened in its place."""
        plain = ctypes.CDLL.__init__
        folder = self.folder

        def opened(library, name=None, *args, **options):
            text = os.fspath(name) if hasattr(name, "__fspath__") else name
            if isinstance(text, str) and os.path.basename(text).startswith("libcudnn"):
                ours = os.path.join(folder, os.path.basename(text))
                if os.path.isfile(ours):
                    name = ours
            plain(library, name, *args, **options)

        ctypes.CDLL.__init__ = opened

    def libraries(self):
        """The main library; on Windows every part before it, because parts are looked up by bare name there."""
        names = os.listdir(self.folder)
        if not _WINDOWS:
            return [os.path.join(self.folder, name) for name in names
                    if name.startswith("libcudnn.so.") and name.count(".") == 2]
        # In the order in which they import one another; the front door, cudnn64_N.dll, comes last.
        order = ("graph", "ops_infer", "ops_train", "ops", "cnn_infer", "cnn_train", "cnn", "adv_infer", "adv_train", "adv")
        ranked = []
        for name in _cudnn_dlls(names):
            part = name.lower().partition("64_")[0].replace("cudnn_", "", 1)
            rank = order.index(part) if part in order else (len(order) + 1 if part == "cudnn" else len(order))
            ranked.append((rank, os.path.join(self.folder, name)))
        return [path for _, path in sorted(ranked)]

    def torch_on_windows(self, path, target):
        """The spec of a torch that is kept from opening its own cuDNN, or None for a torch that is left alone."""
        spec = None
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            find = getattr(finder, "find_spec", None)
            spec = find("torch", path, target) if find is not None else None
            if spec is not None:
                break
        places = getattr(spec, "submodule_search_locations", None)
        lib = os.path.join(places[0], "lib") if places else ""
        bundled = set(name.lower() for name in _cudnn_dlls(os.listdir(lib) if os.path.isdir(lib) else []))
        if not bundled:
            # A build of conda-forge, or one for the CPU: what is opened first wins.
            self.preload("torch")
            return None
        front = [name.lower() for name in _cudnn_dlls(os.listdir(self.folder)) if name.lower().startswith("cudnn64_")]
        if not bundled.intersection(front):
            _cudnnm_say("torch needs another major than cuDNN %s and loads the one in %s" % (self.name, lib))
            return None
        if os.environ.get("CUDNNM_TORCH") != "override":
            # Two copies in one process would be worse than the wrong one, so later frameworks share torch's.
            self.leave()
            _cudnnm_say("torch loads the cuDNN in %s, not %s (CUDNNM_TORCH=override changes that)" % (lib, self.name))
            return None
        return self.keep_from_own_cudnn(spec, lib) if self.preload("torch") else None

    @staticmethod
    def keep_from_own_cudnn(spec, lib):
        """torch/__init__.py globs torch\\lib\\*.dll and opens each; while it runs, the list lacks cuDNN."""
        start = os.path.normcase(os.path.join(lib, "cudnn"))
        run = spec.loader.exec_module

        def exec_module(module):
            import glob
            plain = glob.glob
            glob.glob = lambda *args, **options: [
                found for found in plain(*args, **options) if not os.path.normcase(found).startswith(start)]
            try:
                run(module)
            finally:
                glob.glob = plain

        spec.loader.exec_module = exec_module
        return spec


def _cudnn_dlls(names):
    return [name for name in names if name.lower().startswith("cudnn") and name.lower().endswith(".dll")]


def _cudnnm_start():
    root = os.environ.get("CUDNNM_ACTIVE_PATH")
    name = os.environ.get("CUDNNM_ACTIVE", "")
    # An attached environment's .pth file and `exec` may both bring us here.
    if not root or any(type(finder).__name__ == "_CudnnmPrelude" for finder in sys.meta_path):
        return
    prelude = _CudnnmPrelude(root, name)
    if not os.path.isdir(prelude.folder):
        _cudnnm_say("cuDNN %s has vanished from %s; Python goes on without it" % (name, root))
        return
    if _WINDOWS:
        folders = [folder for folder in os.environ.get("CUDNNM_ACTIVE_DLLS", "").split(os.pathsep) if folder]
        folders = folders or [prelude.folder]
        path = os.environ.get("PATH", "")
        present = path.lower().split(os.pathsep)
        absent = [folder for folder in folders if folder.lower() not in present]
        if absent:
            os.environ["PATH"] = os.pathsep.join(absent + [path])
        for folder in folders if hasattr(os, "add_dll_directory") else []:
            try:
                prelude.kept.append(os.add_dll_directory(folder))
            except OSError as error:
                _cudnnm_say("could not add %s to Python's DLL folders: %s" % (folder, error))
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
