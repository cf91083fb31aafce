#![no_main]

#[path = "../parsers.rs"]
#[expect(dead_code, reason = "each target runs one of them")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::version_file(bytes));
