//! The version macros of cudnn.h and cudnn_version.h.

use crate::version::CudnnVersion;

/// `CUDNN_MAJOR`, `CUDNN_MINOR`, `CUDNN_PATCHLEVEL`. Macros that merely contain these names are others
/// (`CUDNN_MAX_SM_MAJOR_NUMBER`), and the order does not matter.
pub fn version(text: &str) -> Option<CudnnVersion> {
    let number = |name: &str| -> Option<u32> {
        text.lines().find_map(|line| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start();
            let mut words = rest.strip_prefix("define")?.split_whitespace();
            (words.next()? == name)
                .then(|| words.next())
                .flatten()?
                .parse()
                .ok()
        })
    };
    Some(CudnnVersion::new(
        number("CUDNN_MAJOR")?,
        number("CUDNN_MINOR")?,
        number("CUDNN_PATCHLEVEL")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_order_and_lookalikes_do_not_matter() {
        let cases = [
            (
                "#define CUDNN_MAJOR      8\n#define CUDNN_MINOR 2\n#define CUDNN_PATCHLEVEL 1 \n",
                Some("8.2.1"),
            ),
            (
                "#define CUDNN_MAX_SM_MAJOR_NUMBER 9\r\n# define CUDNN_PATCHLEVEL 0\r\n#define CUDNN_MINOR 10\r\n#define\tCUDNN_MAJOR\t9\r\n",
                Some("9.10.0"),
            ),
            (
                "#define CUDNN_MAJOR 8 /* major */\n#define CUDNN_MINOR 9\n#define CUDNN_PATCHLEVEL 7\n",
                Some("8.9.7"),
            ),
            ("#include \"cudnn_version.h\"\n", None),
            ("#define CUDNN_MAJOR eight\n", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(
                version(text).map(|v| v.to_string()).as_deref(),
                wanted,
                "{text}"
            );
        }
    }
}
