//! What a fresh look at the sources adds to what is known.
//!
//! Nothing that was known is ever dropped. A file whose digest has changed keeps the old one and gets the new one in
//! front, with the day it was seen: NVIDIA has re-released archives under the same name. It is worth a warning, because a
//! swapped file looks the same.

use std::collections::HashMap;

use super::{Release, Releases, pypi, redistrib};

/// What an update found.
#[derive(Debug, Default)]
pub struct Update {
    /// Entries to write into the store's `releases.toml`: new files, and known ones that have changed.
    pub news: Vec<Release>,
    /// How many of them are new files.
    pub added: usize,
    /// What a person should know: files whose digest has changed.
    pub warnings: Vec<String>,
}

/// Compares what was fetched on the day `today` (like `2026-12-01`) with what is known.
pub fn compare(known: &Releases, fetched: Vec<Release>, today: &str) -> Update {
    let by_address: HashMap<(&str, &str), &Release> = known
        .all()
        .iter()
        .map(|release| (release.address(), release))
        .collect();
    let mut update = Update::default();
    for mut release in fetched {
        let Some(old) = by_address.get(&release.address()).copied() else {
            for digest in &mut release.digests {
                digest.date.get_or_insert_with(|| today.to_owned());
            }
            update.added += 1;
            update.news.push(release);
            continue;
        };
        let fresh = release.digests.iter().any(|digest| {
            old.digests
                .iter()
                .all(|known| known.sha256 != digest.sha256)
        });
        if fresh {
            for digest in &mut release.digests {
                digest.date = Some(today.to_owned());
            }
            if !old.digests.is_empty() {
                update.warnings.push(format!(
                    "`{}` has a new digest since {today}; the old one stays known",
                    release.file
                ));
            }
        }
        if fresh || (old.size.is_none() && release.size.is_some()) {
            update.news.push(release);
        }
    }
    update
}

/// The store's `releases.toml` with the news in it; `stored` is what it holds so far.
pub fn merge(stored: Releases, news: Vec<Release>) -> Releases {
    let mut merged = stored;
    for release in news {
        merged.lay_over(release);
    }
    let meanings = [
        (redistrib::FACT, "NVIDIA's redistrib_VERSION.json"),
        (pypi::FACT, "the Python index: file list of the project"),
    ];
    merged.explain(&meanings);
    merged.sort();
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Digest, Origin};

    fn release(file: &str, digest: Option<char>) -> Release {
        Release {
            version: "9.28.1.4".parse().unwrap(),
            variant: "12".parse().unwrap(),
            flavour: crate::version::Flavour::Full,
            platform: crate::version::Platform::LinuxX64,
            origin: Origin::Nvidia {
                path: format!("compute/cudnn/redist/{file}"),
            },
            file: file.to_owned(),
            digests: digest
                .map(|fill| Digest {
                    sha256: fill.to_string().repeat(64),
                    date: None,
                })
                .into_iter()
                .collect(),
            size: Some(10),
            cuda_range: None,
            fact: Some(redistrib::FACT.to_owned()),
        }
    }

    #[test]
    fn a_changed_digest_is_added_in_front_with_a_warning_and_never_replaces() {
        let known = Releases::new(
            vec![release("a", Some('a')), release("b", None)],
            Default::default(),
        );
        let fetched = vec![
            release("a", Some('b')),
            release("b", Some('c')),
            release("c", Some('d')),
        ];
        let update = compare(&known, fetched.clone(), "2026-12-01");
        assert_eq!(update.added, 1);
        assert_eq!(update.news.len(), 3);
        assert_eq!(update.warnings.len(), 1, "a first digest is no change");
        assert!(update.warnings[0].contains("`a` has a new digest"));

        let merged = merge(known, update.news);
        let a = &merged.all()[0];
        let digests: Vec<(&str, Option<&str>)> = a
            .digests
            .iter()
            .map(|digest| (&digest.sha256[..1], digest.date.as_deref()))
            .collect();
        assert_eq!(digests, [("b", Some("2026-12-01")), ("a", None)]);

        let again = compare(&merged, fetched, "2026-12-02");
        assert!(again.news.is_empty() && again.warnings.is_empty());
        let text = merged.render();
        let read = Releases::parse("releases.toml", &text).unwrap();
        assert_eq!(read.all(), merged.all());
    }
}
