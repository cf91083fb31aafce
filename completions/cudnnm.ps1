
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'cudnnm' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'cudnnm'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'cudnnm' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Install cuDNN versions into the store, from NVIDIA''s server, the Python index or a file')
            [CompletionResult]::new('use', 'use', [CompletionResultType]::ParameterValue, 'Choose the cuDNN of this project: writes .cudnn-version into the current folder')
            [CompletionResult]::new('current', 'current', [CompletionResultType]::ParameterValue, 'Show the cuDNN in force in this folder, and why')
            [CompletionResult]::new('exec', 'exec', [CompletionResultType]::ParameterValue, 'Run a program with the selected cuDNN, for it and its children only')
            [CompletionResult]::new('import', 'import', [CompletionResultType]::ParameterValue, 'Adopt a cuDNN that is already on this machine; without a path, list those that are found')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List the installed cuDNN builds, newest first; an arrow marks the selected one')
            [CompletionResult]::new('list-remote', 'list-remote', [CompletionResultType]::ParameterValue, 'List the cuDNN versions that can be installed')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Remove installed builds')
            [CompletionResult]::new('which', 'which', [CompletionResultType]::ParameterValue, 'Show the path of a file of the selected cuDNN; of its main library when no file is named')
            [CompletionResult]::new('env', 'env', [CompletionResultType]::ParameterValue, 'Print the selected cuDNN''s environment as commands for your shell')
            [CompletionResult]::new('prelude', 'prelude', [CompletionResultType]::ParameterValue, 'Print Python code that makes the selected cuDNN win, to paste before the first import')
            [CompletionResult]::new('test', 'test', [CompletionResultType]::ParameterValue, 'Prove that the selected cuDNN is complete, is the one that loads, and computes right on the GPU')
            [CompletionResult]::new('bench', 'bench', [CompletionResultType]::ParameterValue, 'Run the same convolutions with several installed versions and compare their times')
            [CompletionResult]::new('bisect', 'bisect', [CompletionResultType]::ParameterValue, 'Find the first cuDNN version with which a command that succeeded begins to fail')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Give back space: partial downloads, kept archives, leftovers, companions that no build needs')
            [CompletionResult]::new('venv', 'venv', [CompletionResultType]::ParameterValue, 'Tie a virtual environment to a cuDNN, for IDE buttons and Jupyter kernels that `exec` can''t reach')
            [CompletionResult]::new('verify', 'verify', [CompletionResultType]::ParameterValue, 'Compare installed builds with their receipts: missing, changed and added files, broken links')
            [CompletionResult]::new('shim', 'shim', [CompletionResultType]::ParameterValue, 'Manage launchers that run a program with its folder''s cuDNN, without typing `cudnnm exec`')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Find out why cuDNN is not found, not the right one, or does not work')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Say what an error message of cuDNN, a loader or a framework means')
            [CompletionResult]::new('compat', 'compat', [CompletionResultType]::ParameterValue, 'Tell what fits what: any of driver, GPU, CUDA, cuDNN and framework gives the rest')
            [CompletionResult]::new('manifest', 'manifest', [CompletionResultType]::ParameterValue, 'Check, refresh or rebuild what cudnnm knows about published builds')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show all settings, show one, or set one')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completion script for a shell')
            [CompletionResult]::new('__probe', '__probe', [CompletionResultType]::ParameterValue, 'Load a cuDNN and compute with it (started by `test` and `bench`)')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudnnm;install' {
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'From this archive or folder instead of a server; what it is shows its content')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'What this release of a framework wants')
            [CompletionResult]::new('--cuda', '--cuda', [CompletionResultType]::ParameterName, 'Of several variants, the one for this CUDA')
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'For another platform than this one')
            [CompletionResult]::new('--source', '--source', [CompletionResultType]::ParameterName, 'Only from here: nvidia or pypi')
            [CompletionResult]::new('--refresh', '--refresh', [CompletionResultType]::ParameterName, 'Ask the sources for versions newer than the built-in list')
            [CompletionResult]::new('--with-companions', '--with-companions', [CompletionResultType]::ParameterName, 'Also install what the build needs beside itself (cuBLAS, NVRTC) and this machine lacks')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be done, and do nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Install again what is there')
            [CompletionResult]::new('--trust-on-first-use', '--trust-on-first-use', [CompletionResultType]::ParameterName, 'Take a file whose digest nobody has published, and remember its digest')
            [CompletionResult]::new('--accept-license', '--accept-license', [CompletionResultType]::ParameterName, 'Say nothing about NVIDIA''s licence')
            [CompletionResult]::new('--keep-archive', '--keep-archive', [CompletionResultType]::ParameterName, 'Keep the downloaded archive')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;use' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'What this release of a framework wants')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Choose it even though this machine can''t run it')
            [CompletionResult]::new('--global', '--global', [CompletionResultType]::ParameterName, 'Choose it for every project that names none')
            [CompletionResult]::new('--install', '--install', [CompletionResultType]::ParameterName, 'Install it first if it is not there')
            [CompletionResult]::new('--exact', '--exact', [CompletionResultType]::ParameterName, 'Write the exact build and its digest, not the words typed')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;current' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;exec' {
            [CompletionResult]::new('--cudnn', '--cudnn', [CompletionResultType]::ParameterName, 'Use this version instead of the project''s')
            [CompletionResult]::new('--install', '--install', [CompletionResultType]::ParameterName, 'Install the version first if it is not there')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;import' {
            [CompletionResult]::new('--python', '--python', [CompletionResultType]::ParameterName, 'Also look beside this Python')
            [CompletionResult]::new('--link', '--link', [CompletionResultType]::ParameterName, 'Refer to the files where they are instead of copying them')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'Only list what is found, in PATH or on this machine')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Adopt it again although it is there')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;list' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;list-remote' {
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'Builds for another platform, like windows-x86_64')
            [CompletionResult]::new('--cuda', '--cuda', [CompletionResultType]::ParameterName, 'Only builds that serve this CUDA toolkit, like 11.2')
            [CompletionResult]::new('--source', '--source', [CompletionResultType]::ParameterName, 'Only what this source has')
            [CompletionResult]::new('--all-platforms', '--all-platforms', [CompletionResultType]::ParameterName, 'Builds for every platform, not only this one')
            [CompletionResult]::new('--refresh', '--refresh', [CompletionResultType]::ParameterName, 'Ask the sources first for versions newer than the built-in list, and remember them')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;uninstall' {
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Remove every build that matches')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Remove a companion even though installed builds need it')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only say what would be removed')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;which' {
            [CompletionResult]::new('--cudnn', '--cudnn', [CompletionResultType]::ParameterName, 'Use this version instead of the project''s')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;env' {
            [CompletionResult]::new('--cudnn', '--cudnn', [CompletionResultType]::ParameterName, 'Use this version instead of the project''s')
            [CompletionResult]::new('--shell', '--shell', [CompletionResultType]::ParameterName, 'For which shell; found from SHELL otherwise')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'cudnnm;prelude' {
            [CompletionResult]::new('--cudnn', '--cudnn', [CompletionResultType]::ParameterName, 'Use this version instead of the project''s')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;test' {
            [CompletionResult]::new('--cudnn', '--cudnn', [CompletionResultType]::ParameterName, 'Use this version instead of the project''s')
            [CompletionResult]::new('--framework', '--framework', [CompletionResultType]::ParameterName, 'Also show what this framework loads for a convolution, by itself and under exec')
            [CompletionResult]::new('--python', '--python', [CompletionResultType]::ParameterName, 'The framework''s Python')
            [CompletionResult]::new('--time-limit', '--time-limit', [CompletionResultType]::ParameterName, 'End the GPU part after so many seconds (60; with --full 900)')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Try every algorithm and engine on every shape (minutes)')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Compute although this cuDNN is not made for this GPU')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('--small', '--small', [CompletionResultType]::ParameterName, 'A first layer that a processor computes in a blink, and no ceilings: for driving the command without a GPU')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'cudnnm;bench' {
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Also write a page with bars')
            [CompletionResult]::new('--framework', '--framework', [CompletionResultType]::ParameterName, 'Also show what this framework itself reaches with the cuDNN it uses by itself (torch only)')
            [CompletionResult]::new('--python', '--python', [CompletionResultType]::ParameterName, 'The framework''s Python')
            [CompletionResult]::new('--time-limit', '--time-limit', [CompletionResultType]::ParameterName, 'End a build''s part after so many seconds (300; with --full 1800)')
            [CompletionResult]::new('--quick', '--quick', [CompletionResultType]::ParameterName, 'Only the first layer, and few candidates of each (seconds)')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Try every algorithm and engine (minutes for each build)')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Compute although a cuDNN is not made for this GPU')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('--small', '--small', [CompletionResultType]::ParameterName, 'A first layer that a processor computes in a blink, and no ceilings: for driving the command without a GPU')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'cudnnm;bisect' {
            [CompletionResult]::new('--install', '--install', [CompletionResultType]::ParameterName, 'Also take published versions, and install each that is needed')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document; what the command says goes to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;prune' {
            [CompletionResult]::new('--older-than', '--older-than', [CompletionResultType]::ParameterName, 'Only downloads not touched, and with --unused only builds installed, longer ago than this: 12h, 30d, 8w')
            [CompletionResult]::new('--unused', '--unused', [CompletionResultType]::ParameterName, 'Also remove builds that neither a project known from `cudnnm use` nor the default selects')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only say what would be removed')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;venv' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('attach', 'attach', [CompletionResultType]::ParameterValue, 'Write a .pth file into the environment: its Python then opens the selected cuDNN by itself')
            [CompletionResult]::new('detach', 'detach', [CompletionResultType]::ParameterValue, 'Take that file away again')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudnnm;venv;attach' {
            [CompletionResult]::new('--cudnn', '--cudnn', [CompletionResultType]::ParameterName, 'Use this version instead of the project''s')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;venv;detach' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;venv;help' {
            [CompletionResult]::new('attach', 'attach', [CompletionResultType]::ParameterValue, 'Write a .pth file into the environment: its Python then opens the selected cuDNN by itself')
            [CompletionResult]::new('detach', 'detach', [CompletionResultType]::ParameterValue, 'Take that file away again')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudnnm;venv;help;attach' {
            break
        }
        'cudnnm;venv;help;detach' {
            break
        }
        'cudnnm;venv;help;help' {
            break
        }
        'cudnnm;verify' {
            [CompletionResult]::new('--project', '--project', [CompletionResultType]::ParameterName, 'Check what this project names: the build it pins is here, from the very archive it was pinned to, and whole')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;shim' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('add', 'add', [CompletionResultType]::ParameterValue, 'Make launchers, e.g. for python')
            [CompletionResult]::new('remove', 'remove', [CompletionResultType]::ParameterValue, 'Take launchers away')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Show the launchers')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudnnm;shim;add' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;shim;remove' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;shim;list' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;shim;help' {
            [CompletionResult]::new('add', 'add', [CompletionResultType]::ParameterValue, 'Make launchers, e.g. for python')
            [CompletionResult]::new('remove', 'remove', [CompletionResultType]::ParameterValue, 'Take launchers away')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Show the launchers')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudnnm;shim;help;add' {
            break
        }
        'cudnnm;shim;help;remove' {
            break
        }
        'cudnnm;shim;help;list' {
            break
        }
        'cudnnm;shim;help;help' {
            break
        }
        'cudnnm;doctor' {
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Diagnose the outputs saved in this folder instead of this machine')
            [CompletionResult]::new('--save', '--save', [CompletionResultType]::ParameterName, 'Write what was found as a folder of small files, to attach to a report; personal names are replaced')
            [CompletionResult]::new('--root', '--root', [CompletionResultType]::ParameterName, 'Look at the system in this folder instead of the running one: a container''s files, a mounted disk')
            [CompletionResult]::new('--frameworks', '--frameworks', [CompletionResultType]::ParameterName, 'Also look at the copies that Python frameworks bring')
            [CompletionResult]::new('--facts', '--facts', [CompletionResultType]::ParameterName, 'Also print driver, GPUs and every cuDNN in search order')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'cudnnm;explain' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'cudnnm;compat' {
            [CompletionResult]::new('--driver', '--driver', [CompletionResultType]::ParameterName, 'A driver''s version, like 531.14 or 535.104.05')
            [CompletionResult]::new('--gpu', '--gpu', [CompletionResultType]::ParameterName, 'A GPU''s name or compute capability, like "RTX 3060" or 8.6')
            [CompletionResult]::new('--cuda', '--cuda', [CompletionResultType]::ParameterName, 'A CUDA version, like 11.3 or 12')
            [CompletionResult]::new('--cudnn', '--cudnn', [CompletionResultType]::ParameterName, 'A cuDNN, like 8.2.1 or 9+cuda12')
            [CompletionResult]::new('--framework', '--framework', [CompletionResultType]::ParameterName, 'A framework''s release, like torch==2.4.1')
            [CompletionResult]::new('--requirements', '--requirements', [CompletionResultType]::ParameterName, 'Which cuDNN each package of a requirements file or `pip freeze` loads, and the conflicts; `-` is stdin')
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'For another platform than this one, like windows-x86_64')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'cudnnm;manifest' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'See whether the built-in manifests and the store''s make sense, and count what is in them')
            [CompletionResult]::new('update', 'update', [CompletionResultType]::ParameterValue, 'Look for versions newer than the built-in list at NVIDIA''s server and on the Python index')
            [CompletionResult]::new('generate', 'generate', [CompletionResultType]::ParameterValue, 'Write the manifests anew from raw facts (for cudnnm''s own developers)')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudnnm;manifest;check' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;manifest;update' {
            [CompletionResult]::new('--source', '--source', [CompletionResultType]::ParameterName, 'Only here: nvidia or pypi')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Look at every release again, to see whether a known file has changed')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;manifest;generate' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;manifest;help' {
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'See whether the built-in manifests and the store''s make sense, and count what is in them')
            [CompletionResult]::new('update', 'update', [CompletionResultType]::ParameterValue, 'Look for versions newer than the built-in list at NVIDIA''s server and on the Python index')
            [CompletionResult]::new('generate', 'generate', [CompletionResultType]::ParameterValue, 'Write the manifests anew from raw facts (for cudnnm''s own developers)')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudnnm;manifest;help;check' {
            break
        }
        'cudnnm;manifest;help;update' {
            break
        }
        'cudnnm;manifest;help;generate' {
            break
        }
        'cudnnm;manifest;help;help' {
            break
        }
        'cudnnm;config' {
            [CompletionResult]::new('--unset', '--unset', [CompletionResultType]::ParameterName, 'Back to the default')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;completions' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'cudnnm;__probe' {
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say only what was asked for, and errors')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'No progress bars')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'cudnnm;help' {
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Install cuDNN versions into the store, from NVIDIA''s server, the Python index or a file')
            [CompletionResult]::new('use', 'use', [CompletionResultType]::ParameterValue, 'Choose the cuDNN of this project: writes .cudnn-version into the current folder')
            [CompletionResult]::new('current', 'current', [CompletionResultType]::ParameterValue, 'Show the cuDNN in force in this folder, and why')
            [CompletionResult]::new('exec', 'exec', [CompletionResultType]::ParameterValue, 'Run a program with the selected cuDNN, for it and its children only')
            [CompletionResult]::new('import', 'import', [CompletionResultType]::ParameterValue, 'Adopt a cuDNN that is already on this machine; without a path, list those that are found')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List the installed cuDNN builds, newest first; an arrow marks the selected one')
            [CompletionResult]::new('list-remote', 'list-remote', [CompletionResultType]::ParameterValue, 'List the cuDNN versions that can be installed')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Remove installed builds')
            [CompletionResult]::new('which', 'which', [CompletionResultType]::ParameterValue, 'Show the path of a file of the selected cuDNN; of its main library when no file is named')
            [CompletionResult]::new('env', 'env', [CompletionResultType]::ParameterValue, 'Print the selected cuDNN''s environment as commands for your shell')
            [CompletionResult]::new('prelude', 'prelude', [CompletionResultType]::ParameterValue, 'Print Python code that makes the selected cuDNN win, to paste before the first import')
            [CompletionResult]::new('test', 'test', [CompletionResultType]::ParameterValue, 'Prove that the selected cuDNN is complete, is the one that loads, and computes right on the GPU')
            [CompletionResult]::new('bench', 'bench', [CompletionResultType]::ParameterValue, 'Run the same convolutions with several installed versions and compare their times')
            [CompletionResult]::new('bisect', 'bisect', [CompletionResultType]::ParameterValue, 'Find the first cuDNN version with which a command that succeeded begins to fail')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Give back space: partial downloads, kept archives, leftovers, companions that no build needs')
            [CompletionResult]::new('venv', 'venv', [CompletionResultType]::ParameterValue, 'Tie a virtual environment to a cuDNN, for IDE buttons and Jupyter kernels that `exec` can''t reach')
            [CompletionResult]::new('verify', 'verify', [CompletionResultType]::ParameterValue, 'Compare installed builds with their receipts: missing, changed and added files, broken links')
            [CompletionResult]::new('shim', 'shim', [CompletionResultType]::ParameterValue, 'Manage launchers that run a program with its folder''s cuDNN, without typing `cudnnm exec`')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Find out why cuDNN is not found, not the right one, or does not work')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Say what an error message of cuDNN, a loader or a framework means')
            [CompletionResult]::new('compat', 'compat', [CompletionResultType]::ParameterValue, 'Tell what fits what: any of driver, GPU, CUDA, cuDNN and framework gives the rest')
            [CompletionResult]::new('manifest', 'manifest', [CompletionResultType]::ParameterValue, 'Check, refresh or rebuild what cudnnm knows about published builds')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show all settings, show one, or set one')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completion script for a shell')
            [CompletionResult]::new('__probe', '__probe', [CompletionResultType]::ParameterValue, 'Load a cuDNN and compute with it (started by `test` and `bench`)')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudnnm;help;install' {
            break
        }
        'cudnnm;help;use' {
            break
        }
        'cudnnm;help;current' {
            break
        }
        'cudnnm;help;exec' {
            break
        }
        'cudnnm;help;import' {
            break
        }
        'cudnnm;help;list' {
            break
        }
        'cudnnm;help;list-remote' {
            break
        }
        'cudnnm;help;uninstall' {
            break
        }
        'cudnnm;help;which' {
            break
        }
        'cudnnm;help;env' {
            break
        }
        'cudnnm;help;prelude' {
            break
        }
        'cudnnm;help;test' {
            break
        }
        'cudnnm;help;bench' {
            break
        }
        'cudnnm;help;bisect' {
            break
        }
        'cudnnm;help;prune' {
            break
        }
        'cudnnm;help;venv' {
            [CompletionResult]::new('attach', 'attach', [CompletionResultType]::ParameterValue, 'Write a .pth file into the environment: its Python then opens the selected cuDNN by itself')
            [CompletionResult]::new('detach', 'detach', [CompletionResultType]::ParameterValue, 'Take that file away again')
            break
        }
        'cudnnm;help;venv;attach' {
            break
        }
        'cudnnm;help;venv;detach' {
            break
        }
        'cudnnm;help;verify' {
            break
        }
        'cudnnm;help;shim' {
            [CompletionResult]::new('add', 'add', [CompletionResultType]::ParameterValue, 'Make launchers, e.g. for python')
            [CompletionResult]::new('remove', 'remove', [CompletionResultType]::ParameterValue, 'Take launchers away')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Show the launchers')
            break
        }
        'cudnnm;help;shim;add' {
            break
        }
        'cudnnm;help;shim;remove' {
            break
        }
        'cudnnm;help;shim;list' {
            break
        }
        'cudnnm;help;doctor' {
            break
        }
        'cudnnm;help;explain' {
            break
        }
        'cudnnm;help;compat' {
            break
        }
        'cudnnm;help;manifest' {
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'See whether the built-in manifests and the store''s make sense, and count what is in them')
            [CompletionResult]::new('update', 'update', [CompletionResultType]::ParameterValue, 'Look for versions newer than the built-in list at NVIDIA''s server and on the Python index')
            [CompletionResult]::new('generate', 'generate', [CompletionResultType]::ParameterValue, 'Write the manifests anew from raw facts (for cudnnm''s own developers)')
            break
        }
        'cudnnm;help;manifest;check' {
            break
        }
        'cudnnm;help;manifest;update' {
            break
        }
        'cudnnm;help;manifest;generate' {
            break
        }
        'cudnnm;help;config' {
            break
        }
        'cudnnm;help;completions' {
            break
        }
        'cudnnm;help;__probe' {
            break
        }
        'cudnnm;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
