//! The anchors of a page, as index pages and folder listings have them. Not an HTML parser: tags, attributes, entities.

/// One `<a href=…>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Anchor {
    /// Where it leads, entities decoded.
    pub href: String,
    /// What it shows, tags removed and entities decoded.
    pub text: String,
    /// It carries `data-yanked` (PEP 592).
    pub yanked: bool,
}

/// What a page links to.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// `<base href=…>`.
    pub base: Option<String>,
    /// In the page's order.
    pub anchors: Vec<Anchor>,
}

/// Finds the anchors.
pub(super) fn anchors(page: &str) -> Links {
    let mut links = Links::default();
    let mut open: Option<Anchor> = None;
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        if let Some(anchor) = &mut open {
            anchor.text.push_str(&rest[..start]);
        }
        rest = &rest[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let (tag, after) = tag(rest);
        rest = after;
        let Some((name, attributes)) = tag else {
            continue;
        };
        let value = |wanted: &str| {
            attributes
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| decode(value))
        };
        match name.as_str() {
            "a" => {
                links.anchors.extend(open.take().map(finished));
                open = value("href").map(|href| Anchor {
                    href,
                    text: String::new(),
                    yanked: value("data-yanked").is_some(),
                });
            }
            "/a" => links.anchors.extend(open.take().map(finished)),
            "base" if links.base.is_none() => links.base = value("href"),
            _ => {}
        }
    }
    links.anchors.extend(open.take().map(finished));
    links
}

fn finished(anchor: Anchor) -> Anchor {
    Anchor {
        text: decode(anchor.text.trim()),
        ..anchor
    }
}

type Tag = (String, Vec<(String, String)>);

/// Reads the tag at the start of `text`, and what follows it.
fn tag(text: &str) -> (Option<Tag>, &str) {
    let body = &text[1..];
    let name_end = body
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '/')
        .unwrap_or(body.len());
    if name_end == 0 {
        return (None, body);
    }
    let name = body[..name_end].to_ascii_lowercase();
    let mut rest = &body[name_end..];
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return (Some((name, attributes)), after);
        }
        if rest.is_empty() || rest.starts_with('<') {
            return (Some((name, attributes)), rest);
        }
        let key_end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/'))
            .unwrap_or(rest.len())
            .max(rest.chars().next().map_or(0, char::len_utf8));
        let key = rest[..key_end].to_ascii_lowercase();
        rest = rest[key_end..].trim_start();
        let mut value = "";
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
            (value, rest) = match quote {
                Some(quote) => {
                    let inner = &after[1..];
                    inner.split_once(quote).unwrap_or((inner, ""))
                }
                None => {
                    let end = after
                        .find(|c: char| c.is_whitespace() || c == '>')
                        .unwrap_or(after.len());
                    after.split_at(end)
                }
            };
        }
        attributes.push((key, value.to_owned()));
    }
}

/// Decodes the entities that stand in addresses and file names.
fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        decoded.push_str(&rest[..start]);
        rest = &rest[start..];
        let entity = rest
            .get(1..)
            .and_then(|body| body.split_once(';'))
            .map(|(entity, _)| entity);
        let character = entity
            .filter(|entity| entity.len() <= 8)
            .and_then(character);
        match (entity, character) {
            (Some(entity), Some(character)) => {
                decoded.push(character);
                rest = &rest[entity.len() + 2..];
            }
            _ => {
                decoded.push('&');
                rest = &rest[1..];
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hrefs(page: &str) -> Vec<String> {
        anchors(page)
            .anchors
            .into_iter()
            .map(|anchor| anchor.href)
            .collect()
    }

    #[test]
    fn anchors_are_found_however_they_are_written() {
        let cases: [(&str, &[&str]); 8] = [
            ("<a href=\"x\">y</a>", &["x"]),
            ("<A\nclass=b  HREF = 'x'>y</A>", &["x"]),
            ("<a href=x>y<a href=z>", &["x", "z"]),
            ("<!-- <a href=x> --><a href=z>", &["z"]),
            ("<a name=x>y</a><abbr href=q>", &[]),
            (
                "<a href=\"a&amp;b&#38;c&#x26;d&unknown;e\">",
                &["a&b&c&d&unknown;e"],
            ),
            ("a < b <a href=", &[""]),
            ("<a href=\"unterminated", &["unterminated"]),
        ];
        for (page, expected) in cases {
            assert_eq!(hrefs(page), expected, "{page}");
        }
    }

    #[test]
    fn text_base_and_yanked_are_read() {
        let links = anchors("<base href='/p/'><a href=x data-yanked='why'> a<b>_b</b>&gt; </a>");
        assert_eq!(links.base.as_deref(), Some("/p/"));
        assert_eq!(links.anchors[0].text, "a_b>");
        assert!(links.anchors[0].yanked);
    }

    #[test]
    fn any_text_is_survived() {
        for page in [
            "<",
            "<a",
            "<a =",
            "<a ==>",
            "<a \u{e9}=\u{e9}>",
            "&",
            "&;",
            "<!--",
            "<a href=&#xffffffff;>",
            "<a/href=x>",
        ] {
            anchors(page);
        }
    }
}
