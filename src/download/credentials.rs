//! Who we are to which server: user and password in an address, else `.netrc`. Nothing here is ever printed.

use std::path::Path;

use url::Url;

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// User name.
    pub user: String,
    /// Password; may be empty (tokens often are the user).
    pub password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login(…)")
    }
}

/// The address as it may be shown and stored: without user, password, query and fragment.
///
/// Artifact servers redirect to addresses whose query is the permission.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that can't hold a user, like `file:`.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// The login that an address carries, decoded.
pub fn in_address(url: &Url) -> Option<Login> {
    let decode = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    let user = decode(url.username());
    let password = url.password().map(decode);
    (!user.is_empty() || password.is_some()).then(|| Login {
        user,
        password: password.unwrap_or_default(),
    })
}

/// The machines of a `.netrc`.
#[derive(Debug, Default)]
pub struct Netrc {
    machines: Vec<(String, Login)>,
    default: Option<Login>,
}

impl Netrc {
    /// Reads the file; none, or one that can't be read, holds nobody.
    pub fn load(path: &Path) -> Self {
        std::fs::read_to_string(path)
            .map(|text| Self::parse(&text))
            .unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let mut netrc = Self::default();
        let mut machine: Option<Option<String>> = None;
        let mut login = Login {
            user: String::new(),
            password: String::new(),
        };
        let mut tokens = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .flat_map(str::split_whitespace);
        loop {
            let token = tokens.next();
            if matches!(token, None | Some("machine" | "default" | "macdef")) {
                let finished = std::mem::replace(
                    &mut login,
                    Login {
                        user: String::new(),
                        password: String::new(),
                    },
                );
                match machine.take() {
                    Some(Some(name)) => netrc.machines.push((name, finished)),
                    Some(None) => netrc.default = Some(finished),
                    None => {}
                }
            }
            match token {
                None => return netrc,
                Some("machine") => machine = tokens.next().map(|name| Some(name.to_owned())),
                Some("default") => machine = Some(None),
                Some("login") => login.user = tokens.next().unwrap_or_default().to_owned(),
                Some("password") => login.password = tokens.next().unwrap_or_default().to_owned(),
                // `account NAME`, and words of macros, mean nothing here.
                Some(_) => {}
            }
        }
    }

    /// The login for a host.
    pub fn login(&self, host: &str) -> Option<&Login> {
        let named = self
            .machines
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(host));
        named.map(|(_, login)| login).or(self.default.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_holds_no_secret() {
        let url = "https://user:s3cret@index.example:8443/a/b.whl?token=abc#sha256=00"
            .parse()
            .unwrap();
        assert_eq!(shown(&url), "https://index.example:8443/a/b.whl");
    }

    #[test]
    fn logins_are_read_from_addresses_and_netrc() {
        let login = |user: &str, password: &str| Login {
            user: user.to_owned(),
            password: password.to_owned(),
        };
        let url: Url = "https://me%40corp:p%2Fw@h.example/".parse().unwrap();
        assert_eq!(in_address(&url), Some(login("me@corp", "p/w")));
        assert_eq!(in_address(&"https://h.example/".parse().unwrap()), None);
        let netrc = Netrc::parse(
            "# comment\nmachine h.example login a password b\nmachine\n  other.example\n  login c\n  account x\n  password d\ndefault login e password f\n",
        );
        assert_eq!(netrc.login("H.example"), Some(&login("a", "b")));
        assert_eq!(netrc.login("other.example"), Some(&login("c", "d")));
        assert_eq!(netrc.login("third.example"), Some(&login("e", "f")));
        assert_eq!(Netrc::parse("machine x login").login("y"), None);
    }
}
