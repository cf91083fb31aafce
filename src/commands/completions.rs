//! `cudnnm completions`: the scripts that let a shell complete our commands.

use clap::CommandFactory;
use clap_complete::aot;

use crate::cli::Cli;
use crate::context::Context;
use crate::error::{Error, Exit};

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Where it goes:\n  \
    bash         ~/.local/share/bash-completion/completions/cudnnm\n  \
    zsh          a file _cudnnm in a folder of $fpath\n  \
    fish         ~/.config/fish/completions/cudnnm.fish\n  \
    powershell   a line in $PROFILE that runs it: cudnnm completions powershell | Out-String | Invoke-Expression\n  \
    nushell      a file that config.nu sources")]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Target,
}

/// The shells there is a script for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
    /// PowerShell
    Powershell,
    /// Nushell
    Nushell,
}

impl Target {
    /// The script's name under `completions/`, as each shell expects it.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Bash => "cudnnm.bash",
            Self::Zsh => "_cudnnm",
            Self::Fish => "cudnnm.fish",
            Self::Powershell => "cudnnm.ps1",
            Self::Nushell => "cudnnm.nu",
        }
    }

    /// The script.
    pub fn script(self) -> Vec<u8> {
        let mut command = Cli::command();
        let mut script = Vec::new();
        let name = "cudnnm";
        match self {
            Self::Bash => aot::generate(aot::Shell::Bash, &mut command, name, &mut script),
            Self::Zsh => aot::generate(aot::Shell::Zsh, &mut command, name, &mut script),
            Self::Fish => aot::generate(aot::Shell::Fish, &mut command, name, &mut script),
            Self::Powershell => {
                aot::generate(aot::Shell::PowerShell, &mut command, name, &mut script)
            }
            Self::Nushell => aot::generate(
                clap_complete_nushell::Nushell,
                &mut command,
                name,
                &mut script,
            ),
        }
        script
    }
}

/// Runs the command.
///
/// # Errors
///
/// None; it has the shape of all commands.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    ctx.output.raw(&args.shell.script());
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    /// `CUDNNM_BLESS=1 cargo test completions` writes them anew.
    #[test]
    fn committed_completions_are_current() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
        for target in Target::value_variants() {
            let path = folder.join(target.file_name());
            let script = String::from_utf8(target.script()).unwrap();
            if std::env::var_os("CUDNNM_BLESS").is_some() {
                std::fs::write(&path, &script).unwrap();
            }
            let committed = std::fs::read_to_string(&path)
                .unwrap_or_default()
                .replace("\r\n", "\n");
            assert!(
                committed == script,
                "{} is not what this program prints",
                path.display()
            );
        }
    }
}
