//! What can be wrong with an archive.

use std::path::PathBuf;

use crate::error::{Exit, Failure, IoError};
use crate::layout::Unsafe;
use crate::output::size;

/// An archive or folder that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Not an archive of a kind we know.
    #[error("`{}` is not an archive: it is {seems}", path.display())]
    NotAnArchive {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        seems: String,
    },
    /// An archive of a known kind that can't be read to its end.
    #[error("`{}` is damaged or incomplete{}", path.display(), in_member(member.as_deref()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        member: Option<String>,
        /// What was found.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A member whose name or link could mean a file elsewhere.
    #[error("`{}` is not safe to unpack: it has {why}, `{}`", path.display(), member.escape_debug())]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// The member's name.
        member: String,
        /// What is wrong with it.
        why: Unsafe,
    },
    /// More comes out than any cuDNN has.
    #[error("`{}` unpacks to more than {}, which no cuDNN of that size does", path.display(), size(*limit))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is believed.
        limit: u64,
    },
    /// More members than any cuDNN has.
    #[error("`{}` claims to have more than {limit} members", path.display())]
    TooManyMembers {
        /// The file.
        path: PathBuf,
        /// The most that is believed.
        limit: usize,
    },
    /// A password is needed.
    #[error("`{}` is encrypted", path.display())]
    Encrypted {
        /// The file.
        path: PathBuf,
    },
    /// Two different files that would get one name.
    #[error("`{}` has two different files `{name}`: `{first}` and `{second}`", path.display())]
    Conflict {
        /// The archive or folder.
        path: PathBuf,
        /// The name they would both get.
        name: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A kind or feature of archive that we can't read.
    #[error("`{}` can't be unpacked: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it has.
        what: String,
    },
    /// No cuDNN in it.
    #[error("`{}` holds no cuDNN{}", path.display(), seems.as_ref().map(|seems| format!("; it seems to be {seems}")).unwrap_or_default())]
    NoCudnn {
        /// The archive or folder.
        path: PathBuf,
        /// What it holds instead.
        seems: Option<String>,
    },
    /// Not the companion that was expected.
    #[error("`{}` holds no {wanted}{}", path.display(), seems.as_ref().map(|seems| format!("; it seems to be {seems}")).unwrap_or_default())]
    NoCompanion {
        /// The archive.
        path: PathBuf,
        /// Which library was wanted.
        wanted: String,
        /// What it holds instead.
        seems: Option<String>,
    },
    /// Files of several versions or platforms in one package.
    #[error("`{}` mixes files that don't belong together: {what}", path.display())]
    Mixed {
        /// The archive or folder.
        path: PathBuf,
        /// Which differ and how.
        what: String,
    },
    /// Nothing inside tells the version.
    #[error("nothing in `{}` tells which version of cuDNN it is", path.display())]
    UnknownVersion {
        /// The archive or folder.
        path: PathBuf,
    },
    /// A member that is not what the package's own list says.
    #[error("`{member}` in `{}` is not the file that the wheel's own list names", path.display())]
    WrongDigest {
        /// The archive.
        path: PathBuf,
        /// The member.
        member: String,
    },
    /// A folder with several cuDNNs.
    #[error("`{}` holds {} cuDNNs", path.display(), found.len())]
    Several {
        /// The folder.
        path: PathBuf,
        /// Version and folder of each.
        found: Vec<(String, PathBuf)>,
    },
}

fn in_member(member: Option<&str>) -> String {
    member
        .map(|name| format!(", in `{}`", name.escape_debug()))
        .unwrap_or_default()
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Io(error) => error.exit(),
            Self::Several { .. } => Exit::Usage,
            Self::NotAnArchive { .. }
            | Self::Damaged { .. }
            | Self::Unsafe { .. }
            | Self::TooLarge { .. }
            | Self::TooManyMembers { .. }
            | Self::Encrypted { .. }
            | Self::Conflict { .. }
            | Self::Unsupported { .. }
            | Self::NoCudnn { .. }
            | Self::NoCompanion { .. }
            | Self::Mixed { .. }
            | Self::UnknownVersion { .. }
            | Self::WrongDigest { .. } => Exit::BadArchive,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Io(error) => error.hints(),
            Self::NotAnArchive { seems, .. } if seems.starts_with("a web page") => vec![
                "the site sent a page (often a login) instead of the file: download it in a browser, or let cudnnm fetch it"
                    .to_owned(),
            ],
            Self::Damaged { .. } | Self::WrongDigest { .. } => {
                vec!["download it again".to_owned()]
            }
            Self::Encrypted { .. } => vec![
                "unpack it with its password first, then give the folder: cudnnm install --from FOLDER"
                    .to_owned(),
            ],
            Self::Several { found, .. } => found
                .iter()
                .map(|(version, path)| format!("{version} is in `{}`", path.display()))
                .collect(),
            _ => Vec::new(),
        }
    }
}
