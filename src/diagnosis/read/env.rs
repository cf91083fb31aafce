//! Environment listings: `env`, `set`, `printenv`, PowerShell's `gci env:`, lines out of a script or Dockerfile.

/// Names and values, in order.
pub fn variables(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim_end_matches('\r');
            let line = line.trim_start();
            let line = ["export ", "set ", "SET ", "ENV ", "declare -x ", "-e "]
                .iter()
                .find_map(|word| line.strip_prefix(word))
                .unwrap_or(line);
            let (name, value) = match line.split_once('=') {
                Some(pair) => pair,
                // `gci env:` prints two columns.
                None => line.split_once("  ")?,
            };
            let name = name.trim();
            if !is_name(name) {
                return None;
            }
            Some((name.to_owned(), unquoted(value).to_owned()))
        })
        .collect()
}

/// A name, tolerating the stray quotes of a pasted Docker option.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_()'\"".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || "_'\"".contains(c))
        && name.chars().all(plain)
}

/// Without the quotes that `declare -x` and scripts put around a whole value.
fn unquoted(value: &str) -> &str {
    value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'))
        .filter(|inner| !inner.contains('"'))
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_form_is_read_and_odd_quotes_survive() {
        let text = "A=1\r\nexport B=\"x y\"\nset C=C:\\a\\b \ndeclare -x D=\"2\"\nE'=gpu\nNot a variable = x\nF  some value\nG=\n";
        let got = variables(text);
        let want = [
            ("A", "1"),
            ("B", "x y"),
            ("C", "C:\\a\\b "),
            ("D", "2"),
            ("E'", "gpu"),
            ("F", "some value"),
            ("G", ""),
        ];
        let got: Vec<(&str, &str)> = got.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(got, want);
    }
}
