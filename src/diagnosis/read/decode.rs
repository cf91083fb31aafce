//! Console bytes to text.
//!
//! Windows programs print in the console's code page, PowerShell redirects as UTF-16, and Linux tools print UTF-8. A
//! pasted file does not say which. UTF-16 and UTF-8 prove themselves; for the rest the text that looks most like words of
//! one script wins. ASCII, and with it nearly all of a path, is the same in all of them.

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GB18030, GBK, IBM866, SHIFT_JIS, UTF_16BE, UTF_16LE, WINDOWS_1251,
    WINDOWS_1252,
};

/// Text and the name of the encoding it was in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without a byte order mark.
    pub text: String,
    /// `UTF-8`, `UTF-16LE`, `GBK`, `IBM866`, …
    pub encoding: &'static str,
}

/// Decodes bytes of any console.
pub fn text(bytes: &[u8]) -> Decoded {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return with(encoding, &bytes[mark..]);
    }
    if let Some(encoding) = unmarked_utf16(bytes) {
        return with(encoding, bytes);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Decoded {
            text: text.to_owned(),
            encoding: "UTF-8",
        };
    }
    let candidates = [
        GBK,
        IBM866,
        WINDOWS_1251,
        SHIFT_JIS,
        BIG5,
        EUC_KR,
        WINDOWS_1252,
    ];
    let best = candidates
        .into_iter()
        .filter_map(|encoding| {
            let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
            Some((likelihood(&text, encoding), encoding))
        })
        // The first of equals: the order above is that of how often we meet them.
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    with(best.map_or(WINDOWS_1252, |(_, encoding)| encoding), bytes)
}

fn with(encoding: &'static Encoding, bytes: &[u8]) -> Decoded {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    Decoded {
        text: text.into_owned(),
        encoding: if encoding == GB18030 {
            "GBK"
        } else {
            encoding.name()
        },
    }
}

/// UTF-16 without a mark: in mostly Latin text every other byte is zero.
fn unmarked_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.len() < 4 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let sample = &bytes[..bytes.len().min(4096) & !1];
    let zeros = |offset: usize| {
        sample
            .iter()
            .skip(offset)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let half = sample.len() / 2;
    let (even, odd) = (zeros(0), zeros(1));
    if odd * 4 >= half * 3 && even == 0 {
        Some(UTF_16LE)
    } else if even * 4 >= half * 3 && odd == 0 {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// How much a decoding looks like words, per character beyond ASCII.
fn likelihood(text: &str, encoding: &'static Encoding) -> i64 {
    let mut score = 0;
    let mut count = 0;
    let mut before = ' ';
    for character in text.chars() {
        if !character.is_ascii() {
            count += 1;
            score += weight(character, before, encoding);
        } else if character.is_ascii_lowercase() && is_cyrillic(before) {
            // A Cyrillic and a small Latin letter side by side belong to no word.
            score -= 200;
        }
        before = character;
    }
    // Short Korean and Chinese names share their bytes, and Chinese is met more often; a longer text of nothing but
    // Hangul is no accident.
    if encoding == EUC_KR && count >= 6 && score == count * 200 {
        return 220;
    }
    if count == 0 { 0 } else { score / count }
}

fn weight(character: char, before: char, encoding: &'static Encoding) -> i64 {
    match character {
        'А'..='я' | 'Ё' | 'ё' => {
            if before.is_ascii_lowercase() {
                -200
            } else if is_cyrillic(before) && before.is_lowercase() && character.is_uppercase() {
                // A capital inside a word: the wrong one of two Cyrillic code pages.
                -150
            } else {
                150
            }
        }
        'ぁ'..='ヿ' | '가'..='힣' => 200,
        // A Chinese text is also valid in other double-byte pages, but there its characters are rare ones.
        '\u{4e00}'..='\u{9fff}' if !is_common_hanzi(character) => -50,
        '\u{4e00}'..='\u{9fff}' if encoding == GBK => 210,
        '\u{4e00}'..='\u{9fff}' => 180,
        'À'..='ž' => 100,
        '«' | '»' | '„' | '“' | '”' | '’' | '…' | '–' | '—' => 80,
        '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff60}' => 100,
        '\u{80}'..='\u{9f}' => -500,
        '─'..='▟' => -200,
        _ => -50,
    }
}

fn is_cyrillic(character: char) -> bool {
    matches!(character, 'А'..='я' | 'Ё' | 'ё')
}

/// Whether it is in level 1 of GB 2312, the 3755 characters that make up nearly all Chinese text.
fn is_common_hanzi(character: char) -> bool {
    let mut buffer = [0; 4];
    let (bytes, _, unmappable) = GBK.encode(character.encode_utf8(&mut buffer));
    !unmappable
        && matches!(bytes.as_ref(), [lead, trail] if (0xb0..=0xd7).contains(lead) && *trail >= 0xa1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
        let (bytes, _, unmappable) = encoding.encode(text);
        assert!(!unmappable, "{text} is not in {}", encoding.name());
        bytes.into_owned()
    }

    #[test]
    fn every_console_encoding_gives_the_same_text() {
        let cases = [
            (r"C:\Users\张伟\AppData\cudnn64_8.dll", GBK),
            (r"D:\深度学习\工具\cudnn\bin", GBK),
            (r"C:\Users\Михаил\Документы\cudnn64_8.dll", IBM866),
            (r"C:\Users\Ольга Петрова\cudnn", IBM866),
            (r"C:\Users\Ольга Петрова\cudnn", WINDOWS_1251),
            (r"C:\Users\さくら\cudnn", SHIFT_JIS),
            (r"C:\Users\김민수\문서\쿠다", EUC_KR),
            (
                "1234 Bibliotheken gefunden im Cache »/etc/ld.so.cache«",
                WINDOWS_1252,
            ),
            (r"C:\Users\José Müller\cudnn", WINDOWS_1252),
        ];
        for (wanted, encoding) in cases {
            let got = text(&encoded(wanted, encoding));
            assert_eq!(
                got.text,
                wanted,
                "{} read as {}",
                encoding.name(),
                got.encoding
            );
        }
    }

    #[test]
    fn unicode_is_recognised_with_and_without_a_mark() {
        let wanted = "PATH=C:\\Tools\r\n";
        let le: Vec<u8> = wanted.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = wanted.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (bytes, encoding) in [
            (wanted.as_bytes().to_vec(), "UTF-8"),
            ([b"\xef\xbb\xbf", wanted.as_bytes()].concat(), "UTF-8"),
            ([&[0xff, 0xfe][..], &le].concat(), "UTF-16LE"),
            ([&[0xfe, 0xff][..], &be].concat(), "UTF-16BE"),
            (le, "UTF-16LE"),
            (be, "UTF-16BE"),
        ] {
            let got = text(&bytes);
            assert_eq!((got.text.as_str(), got.encoding), (wanted, encoding));
        }
        assert_eq!(text(b"").text, "");
    }
}
