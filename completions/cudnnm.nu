module completions {

  # Install cuDNN versions side by side and give each program exactly the one its project names
  export extern cudnnm [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    --version(-V)             # Print version
  ]

  # Install cuDNN versions into the store, from NVIDIA's server, the Python index or a file
  export extern "cudnnm install" [
    --from: path              # From this archive or folder instead of a server; what it is shows its content
    --for: string             # What this release of a framework wants
    --cuda: string            # Of several variants, the one for this CUDA
    --platform: string        # For another platform than this one
    --source: string          # Only from here: nvidia or pypi
    --refresh                 # Ask the sources for versions newer than the built-in list
    --with-companions         # Also install what the build needs beside itself (cuBLAS, NVRTC) and this machine lacks
    --dry-run                 # Show what would be done, and do nothing
    --force                   # Install again what is there
    --trust-on-first-use      # Take a file whose digest nobody has published, and remember its digest
    --accept-license          # Say nothing about NVIDIA's licence
    --keep-archive            # Keep the downloaded archive
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    ...specs: string          # Versions, ranges or latest, with tags if needed: 8.2.1+cuda11.3; without any, what this project asks for
  ]

  # Choose the cuDNN of this project: writes .cudnn-version into the current folder
  export extern "cudnnm use" [
    --for: string             # What this release of a framework wants
    --force                   # Choose it even though this machine can't run it
    --global                  # Choose it for every project that names none
    --install                 # Install it first if it is not there
    --exact                   # Write the exact build and its digest, not the words typed
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    spec?: string             # A version, a range or latest, with tags if needed: 8.2.1+cuda11.3
  ]

  # Show the cuDNN in force in this folder, and why
  export extern "cudnnm current" [
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  # Run a program with the selected cuDNN, for it and its children only
  export extern "cudnnm exec" [
    --cudnn: string           # Use this version instead of the project's
    --install                 # Install the version first if it is not there
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    ...program: string        # The program and its arguments
  ]

  # Adopt a cuDNN that is already on this machine; without a path, list those that are found
  export extern "cudnnm import" [
    --link                    # Refer to the files where they are instead of copying them
    --list                    # Only list what is found, in PATH or on this machine
    --force                   # Adopt it again although it is there
    --python: path            # Also look beside this Python
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    path?: path               # A folder with a cuDNN in it, at any depth: a CUDA toolkit, a conda environment, site-packages; or an archive
  ]

  # List the installed cuDNN builds, newest first; an arrow marks the selected one
  export extern "cudnnm list" [
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    spec?: string             # Only builds that match
  ]

  # List the cuDNN versions that can be installed
  export extern "cudnnm list-remote" [
    --all-platforms           # Builds for every platform, not only this one
    --platform: string        # Builds for another platform, like windows-x86_64
    --cuda: string            # Only builds that serve this CUDA toolkit, like 11.2
    --source: string          # Only what this source has
    --refresh                 # Ask the sources first for versions newer than the built-in list, and remember them
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    spec?: string             # Only these, like 8, 8.2.1, ">=9.10", 9+cuda13; a single release is shown with all its files
  ]

  # Remove installed builds
  export extern "cudnnm uninstall" [
    --all                     # Remove every build that matches
    --force                   # Remove a companion even though installed builds need it
    --dry-run                 # Only say what would be removed
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    ...specs: string          # Builds to remove; one that means several is refused without --all. A companion goes by its folder's name
  ]

  # Show the path of a file of the selected cuDNN; of its main library when no file is named
  export extern "cudnnm which" [
    --cudnn: string           # Use this version instead of the project's
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    file?: string             # A file name, like cudnn.h or libcudnn_ops.so.9
  ]

  def "nu-complete cudnnm env shell" [] {
    [ "bash" "zsh" "fish" "powershell" "cmd" "json" ]
  }

  # Print the selected cuDNN's environment as commands for your shell
  export extern "cudnnm env" [
    --cudnn: string           # Use this version instead of the project's
    --shell: string@"nu-complete cudnnm env shell" # For which shell; found from SHELL otherwise
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print Python code that makes the selected cuDNN win, to paste before the first import
  export extern "cudnnm prelude" [
    --cudnn: string           # Use this version instead of the project's
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  def "nu-complete cudnnm test framework" [] {
    [ "torch" "tensorflow" "onnxruntime" "jax" "cupy" "ctranslate2" ]
  }

  # Prove that the selected cuDNN is complete, is the one that loads, and computes right on the GPU
  export extern "cudnnm test" [
    --cudnn: string           # Use this version instead of the project's
    --full                    # Try every algorithm and engine on every shape (minutes)
    --framework: string@"nu-complete cudnnm test framework" # Also show what this framework loads for a convolution, by itself and under exec
    --python: path            # The framework's Python
    --force                   # Compute although this cuDNN is not made for this GPU
    --time-limit: string      # End the GPU part after so many seconds (60; with --full 900)
    --json                    # One JSON document
    --small                   # A first layer that a processor computes in a blink, and no ceilings: for driving the command without a GPU
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete cudnnm bench framework" [] {
    [ "torch" "tensorflow" "onnxruntime" "jax" "cupy" "ctranslate2" ]
  }

  # Run the same convolutions with several installed versions and compare their times
  export extern "cudnnm bench" [
    --html: path              # Also write a page with bars
    --quick                   # Only the first layer, and few candidates of each (seconds)
    --full                    # Try every algorithm and engine (minutes for each build)
    --framework: string@"nu-complete cudnnm bench framework" # Also show what this framework itself reaches with the cuDNN it uses by itself (torch only)
    --python: path            # The framework's Python
    --force                   # Compute although a cuDNN is not made for this GPU
    --time-limit: string      # End a build's part after so many seconds (300; with --full 1800)
    --json                    # One JSON document
    --small                   # A first layer that a processor computes in a blink, and no ceilings: for driving the command without a GPU
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help (see more with '--help')
    ...specs: string          # Builds to compare; without any, the selected one
  ]

  # Find the first cuDNN version with which a command that succeeded begins to fail
  export extern "cudnnm bisect" [
    --install                 # Also take published versions, and install each that is needed
    --json                    # One JSON document; what the command says goes to stderr
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    range: string             # From a good version to a bad one; either may be the newer
  ]

  # Give back space: partial downloads, kept archives, leftovers, companions that no build needs
  export extern "cudnnm prune" [
    --unused                  # Also remove builds that neither a project known from `cudnnm use` nor the default selects
    --older-than: string      # Only downloads not touched, and with --unused only builds installed, longer ago than this: 12h, 30d, 8w
    --dry-run                 # Only say what would be removed
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  # Tie a virtual environment to a cuDNN, for IDE buttons and Jupyter kernels that `exec` can't reach
  export extern "cudnnm venv" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  # Write a .pth file into the environment: its Python then opens the selected cuDNN by itself
  export extern "cudnnm venv attach" [
    --cudnn: string           # Use this version instead of the project's
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    venv?: path               # The environment's folder; the active one otherwise
  ]

  # Take that file away again
  export extern "cudnnm venv detach" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    venv?: path               # The environment's folder; the active one otherwise
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "cudnnm venv help" [
  ]

  # Write a .pth file into the environment: its Python then opens the selected cuDNN by itself
  export extern "cudnnm venv help attach" [
  ]

  # Take that file away again
  export extern "cudnnm venv help detach" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "cudnnm venv help help" [
  ]

  # Compare installed builds with their receipts: missing, changed and added files, broken links
  export extern "cudnnm verify" [
    --project                 # Check what this project names: the build it pins is here, from the very archive it was pinned to, and whole
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    ...specs: string          # Builds to check, or a companion by its folder's name; without any, everything that is installed
  ]

  # Manage launchers that run a program with its folder's cuDNN, without typing `cudnnm exec`
  export extern "cudnnm shim" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  # Make launchers, e.g. for python
  export extern "cudnnm shim add" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    ...names: string          # Names of programs
  ]

  # Take launchers away
  export extern "cudnnm shim remove" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    ...names: string          # Names of programs
  ]

  # Show the launchers
  export extern "cudnnm shim list" [
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "cudnnm shim help" [
  ]

  # Make launchers, e.g. for python
  export extern "cudnnm shim help add" [
  ]

  # Take launchers away
  export extern "cudnnm shim help remove" [
  ]

  # Show the launchers
  export extern "cudnnm shim help list" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "cudnnm shim help help" [
  ]

  # Find out why cuDNN is not found, not the right one, or does not work
  export extern "cudnnm doctor" [
    --from: path              # Diagnose the outputs saved in this folder instead of this machine
    --save: path              # Write what was found as a folder of small files, to attach to a report; personal names are replaced
    --root: path              # Look at the system in this folder instead of the running one: a container's files, a mounted disk
    --frameworks              # Also look at the copies that Python frameworks bring
    --facts                   # Also print driver, GPUs and every cuDNN in search order
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help (see more with '--help')
  ]

  # Say what an error message of cuDNN, a loader or a framework means
  export extern "cudnnm explain" [
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help (see more with '--help')
    text?: string             # The message, a file that holds it, or - for standard input (the default)
  ]

  # Tell what fits what: any of driver, GPU, CUDA, cuDNN and framework gives the rest
  export extern "cudnnm compat" [
    --driver: string          # A driver's version, like 531.14 or 535.104.05
    --gpu: string             # A GPU's name or compute capability, like "RTX 3060" or 8.6
    --cuda: string            # A CUDA version, like 11.3 or 12
    --cudnn: string           # A cuDNN, like 8.2.1 or 9+cuda12
    --framework: string       # A framework's release, like torch==2.4.1
    --requirements: path      # Which cuDNN each package of a requirements file or `pip freeze` loads, and the conflicts; `-` is stdin
    --platform: string        # For another platform than this one, like windows-x86_64
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help (see more with '--help')
  ]

  # Check, refresh or rebuild what cudnnm knows about published builds
  export extern "cudnnm manifest" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  # See whether the built-in manifests and the store's make sense, and count what is in them
  export extern "cudnnm manifest check" [
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  # Look for versions newer than the built-in list at NVIDIA's server and on the Python index
  export extern "cudnnm manifest update" [
    --source: string          # Only here: nvidia or pypi
    --all                     # Look at every release again, to see whether a known file has changed
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
  ]

  # Write the manifests anew from raw facts (for cudnnm's own developers)
  export extern "cudnnm manifest generate" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    input: path               # Folder with catalogue.jsonl, cuda_toolkits.jsonl, cudnn_support.jsonl, gpu_archs.jsonl, frameworks.jsonl
    output: path              # Folder to write releases.toml, cuda.toml, gpus.toml and frameworks.toml into
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "cudnnm manifest help" [
  ]

  # See whether the built-in manifests and the store's make sense, and count what is in them
  export extern "cudnnm manifest help check" [
  ]

  # Look for versions newer than the built-in list at NVIDIA's server and on the Python index
  export extern "cudnnm manifest help update" [
  ]

  # Write the manifests anew from raw facts (for cudnnm's own developers)
  export extern "cudnnm manifest help generate" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "cudnnm manifest help help" [
  ]

  # Show all settings, show one, or set one
  export extern "cudnnm config" [
    --unset                   # Back to the default
    --json                    # One JSON document
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    key?: string              # The setting
    value?: string            # Its new value
  ]

  def "nu-complete cudnnm completions shell" [] {
    [ "bash" "zsh" "fish" "powershell" "nushell" ]
  }

  # Print the completion script for a shell
  export extern "cudnnm completions" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help (see more with '--help')
    shell: string@"nu-complete cudnnm completions shell" # The shell
  ]

  # Load a cuDNN and compute with it (started by `test` and `bench`)
  export extern "cudnnm __probe" [
    --quiet(-q)               # Say only what was asked for, and errors
    --offline                 # Never use the network
    --no-progress             # No progress bars
    --help(-h)                # Print help
    request: string           # What to do, as JSON
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "cudnnm help" [
  ]

  # Install cuDNN versions into the store, from NVIDIA's server, the Python index or a file
  export extern "cudnnm help install" [
  ]

  # Choose the cuDNN of this project: writes .cudnn-version into the current folder
  export extern "cudnnm help use" [
  ]

  # Show the cuDNN in force in this folder, and why
  export extern "cudnnm help current" [
  ]

  # Run a program with the selected cuDNN, for it and its children only
  export extern "cudnnm help exec" [
  ]

  # Adopt a cuDNN that is already on this machine; without a path, list those that are found
  export extern "cudnnm help import" [
  ]

  # List the installed cuDNN builds, newest first; an arrow marks the selected one
  export extern "cudnnm help list" [
  ]

  # List the cuDNN versions that can be installed
  export extern "cudnnm help list-remote" [
  ]

  # Remove installed builds
  export extern "cudnnm help uninstall" [
  ]

  # Show the path of a file of the selected cuDNN; of its main library when no file is named
  export extern "cudnnm help which" [
  ]

  # Print the selected cuDNN's environment as commands for your shell
  export extern "cudnnm help env" [
  ]

  # Print Python code that makes the selected cuDNN win, to paste before the first import
  export extern "cudnnm help prelude" [
  ]

  # Prove that the selected cuDNN is complete, is the one that loads, and computes right on the GPU
  export extern "cudnnm help test" [
  ]

  # Run the same convolutions with several installed versions and compare their times
  export extern "cudnnm help bench" [
  ]

  # Find the first cuDNN version with which a command that succeeded begins to fail
  export extern "cudnnm help bisect" [
  ]

  # Give back space: partial downloads, kept archives, leftovers, companions that no build needs
  export extern "cudnnm help prune" [
  ]

  # Tie a virtual environment to a cuDNN, for IDE buttons and Jupyter kernels that `exec` can't reach
  export extern "cudnnm help venv" [
  ]

  # Write a .pth file into the environment: its Python then opens the selected cuDNN by itself
  export extern "cudnnm help venv attach" [
  ]

  # Take that file away again
  export extern "cudnnm help venv detach" [
  ]

  # Compare installed builds with their receipts: missing, changed and added files, broken links
  export extern "cudnnm help verify" [
  ]

  # Manage launchers that run a program with its folder's cuDNN, without typing `cudnnm exec`
  export extern "cudnnm help shim" [
  ]

  # Make launchers, e.g. for python
  export extern "cudnnm help shim add" [
  ]

  # Take launchers away
  export extern "cudnnm help shim remove" [
  ]

  # Show the launchers
  export extern "cudnnm help shim list" [
  ]

  # Find out why cuDNN is not found, not the right one, or does not work
  export extern "cudnnm help doctor" [
  ]

  # Say what an error message of cuDNN, a loader or a framework means
  export extern "cudnnm help explain" [
  ]

  # Tell what fits what: any of driver, GPU, CUDA, cuDNN and framework gives the rest
  export extern "cudnnm help compat" [
  ]

  # Check, refresh or rebuild what cudnnm knows about published builds
  export extern "cudnnm help manifest" [
  ]

  # See whether the built-in manifests and the store's make sense, and count what is in them
  export extern "cudnnm help manifest check" [
  ]

  # Look for versions newer than the built-in list at NVIDIA's server and on the Python index
  export extern "cudnnm help manifest update" [
  ]

  # Write the manifests anew from raw facts (for cudnnm's own developers)
  export extern "cudnnm help manifest generate" [
  ]

  # Show all settings, show one, or set one
  export extern "cudnnm help config" [
  ]

  # Print the completion script for a shell
  export extern "cudnnm help completions" [
  ]

  # Load a cuDNN and compute with it (started by `test` and `bench`)
  export extern "cudnnm help __probe" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "cudnnm help help" [
  ]

}

export use completions *
