# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_cudnnm_global_optspecs
    string join \n q/quiet offline no-progress h/help V/version
end

function __fish_cudnnm_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_cudnnm_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_cudnnm_using_subcommand
    set -l cmd (__fish_cudnnm_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c cudnnm -n "__fish_cudnnm_needs_command" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -s V -l version -d 'Print version'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "use" -d 'Choose the cuDNN of this project: writes .cudnn-version into the current folder'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "current" -d 'Show the cuDNN in force in this folder, and why'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "exec" -d 'Run a program with the selected cuDNN, for it and its children only'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "list" -d 'List the installed cuDNN builds, newest first; an arrow marks the selected one'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "uninstall" -d 'Remove installed builds'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "which" -d 'Show the path of a file of the selected cuDNN; of its main library when no file is named'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "env" -d 'Print the selected cuDNN\'s environment as commands for your shell'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "prelude" -d 'Print Python code that makes the selected cuDNN win, to paste before the first import'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "prune" -d 'Give back space: partial downloads, kept archives, leftovers, companions that no build needs'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "shim" -d 'Manage launchers that run a program with its folder\'s cuDNN, without typing `cudnnm exec`'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "config" -d 'Show all settings, show one, or set one'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "completions" -d 'Print the completion script for a shell'
complete -c cudnnm -n "__fish_cudnnm_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand use" -l global -d 'Choose it for every project that names none'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand use" -l install -d 'Install it first if it is not there'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand use" -l exact -d 'Write the exact build and its digest, not the words typed'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand use" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand use" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand use" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand use" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand current" -l json -d 'One JSON document'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand current" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand current" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand current" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand current" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand exec" -l cudnn -d 'Use this version instead of the project\'s' -r
complete -c cudnnm -n "__fish_cudnnm_using_subcommand exec" -l install -d 'Install the version first if it is not there'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand exec" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand exec" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand exec" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand exec" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand list" -l json -d 'One JSON document'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand list" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand list" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand list" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand list" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand uninstall" -l all -d 'Remove every build that matches'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand uninstall" -l force -d 'Remove a companion even though installed builds need it'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand uninstall" -l dry-run -d 'Only say what would be removed'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand uninstall" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand uninstall" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand uninstall" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand uninstall" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand which" -l cudnn -d 'Use this version instead of the project\'s' -r
complete -c cudnnm -n "__fish_cudnnm_using_subcommand which" -l json -d 'One JSON document'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand which" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand which" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand which" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand which" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand env" -l cudnn -d 'Use this version instead of the project\'s' -r
complete -c cudnnm -n "__fish_cudnnm_using_subcommand env" -l shell -d 'For which shell; found from SHELL otherwise' -r -f -a "bash\t'Bash, and any other POSIX shell'
zsh\t'Zsh'
fish\t'Fish'
powershell\t'PowerShell'
cmd\t'The Windows command prompt'
json\t'No shell: one JSON document'"
complete -c cudnnm -n "__fish_cudnnm_using_subcommand env" -l json -d 'One JSON document'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand env" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand env" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand env" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand env" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prelude" -l cudnn -d 'Use this version instead of the project\'s' -r
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prelude" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prelude" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prelude" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prelude" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prune" -l unused -d 'Also remove builds that neither a project known from `cudnnm use` nor the default selects'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prune" -l dry-run -d 'Only say what would be removed'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prune" -l json -d 'One JSON document'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prune" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prune" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prune" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand prune" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and not __fish_seen_subcommand_from add remove list help" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and not __fish_seen_subcommand_from add remove list help" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and not __fish_seen_subcommand_from add remove list help" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and not __fish_seen_subcommand_from add remove list help" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and not __fish_seen_subcommand_from add remove list help" -f -a "add" -d 'Make launchers, e.g. for python'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and not __fish_seen_subcommand_from add remove list help" -f -a "remove" -d 'Take launchers away'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and not __fish_seen_subcommand_from add remove list help" -f -a "list" -d 'Show the launchers'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and not __fish_seen_subcommand_from add remove list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from add" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from add" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from remove" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from remove" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from list" -l json -d 'One JSON document'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from list" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from list" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from help" -f -a "add" -d 'Make launchers, e.g. for python'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Take launchers away'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from help" -f -a "list" -d 'Show the launchers'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand shim; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand config" -l unset -d 'Back to the default'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand config" -l json -d 'One JSON document'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand config" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand config" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand config" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand config" -s h -l help -d 'Print help'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand completions" -s q -l quiet -d 'Say only what was asked for, and errors'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand completions" -l offline -d 'Never use the network'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand completions" -l no-progress -d 'No progress bars'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "use" -d 'Choose the cuDNN of this project: writes .cudnn-version into the current folder'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "current" -d 'Show the cuDNN in force in this folder, and why'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "exec" -d 'Run a program with the selected cuDNN, for it and its children only'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "list" -d 'List the installed cuDNN builds, newest first; an arrow marks the selected one'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "uninstall" -d 'Remove installed builds'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "which" -d 'Show the path of a file of the selected cuDNN; of its main library when no file is named'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "env" -d 'Print the selected cuDNN\'s environment as commands for your shell'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "prelude" -d 'Print Python code that makes the selected cuDNN win, to paste before the first import'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "prune" -d 'Give back space: partial downloads, kept archives, leftovers, companions that no build needs'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "shim" -d 'Manage launchers that run a program with its folder\'s cuDNN, without typing `cudnnm exec`'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "config" -d 'Show all settings, show one, or set one'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "completions" -d 'Print the completion script for a shell'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and not __fish_seen_subcommand_from use current exec list uninstall which env prelude prune shim config completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and __fish_seen_subcommand_from shim" -f -a "add" -d 'Make launchers, e.g. for python'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and __fish_seen_subcommand_from shim" -f -a "remove" -d 'Take launchers away'
complete -c cudnnm -n "__fish_cudnnm_using_subcommand help; and __fish_seen_subcommand_from shim" -f -a "list" -d 'Show the launchers'
