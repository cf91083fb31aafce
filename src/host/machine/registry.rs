//! The `PATH` that Windows gives to programs that start anew: the machine's, then the user's.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt;

use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Registry::{
    HKEY, HKEY_CURRENT_USER, HKEY_LOCAL_MACHINE, RRF_NOEXPAND, RRF_RT_REG_EXPAND_SZ, RRF_RT_REG_SZ,
    RegGetValueW,
};

use crate::process::Env;

/// Both halves joined, with the names of variables replaced as Windows would.
pub fn stored_path(env: &Env) -> Option<String> {
    let machine = value(
        HKEY_LOCAL_MACHINE,
        r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment",
    );
    let user = value(HKEY_CURRENT_USER, "Environment");
    let halves: Vec<String> = machine.into_iter().chain(user).collect();
    if halves.is_empty() {
        return None;
    }
    Some(expanded(&halves.join(";"), env))
}

fn value(root: HKEY, key: &str) -> Option<String> {
    let wide = |text: &str| -> Vec<u16> { text.encode_utf16().chain([0]).collect() };
    let (key, name) = (wide(key), wide("Path"));
    let flags = RRF_RT_REG_SZ | RRF_RT_REG_EXPAND_SZ | RRF_NOEXPAND;
    let mut size = 0_u32;
    // SAFETY: both names end in NUL; without a buffer only the size is written.
    let asked = unsafe {
        RegGetValueW(
            root,
            key.as_ptr(),
            name.as_ptr(),
            flags,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &raw mut size,
        )
    };
    if asked != ERROR_SUCCESS || size < 2 {
        return None;
    }
    let mut buffer = vec![0_u16; (size as usize).div_ceil(2)];
    // SAFETY: the buffer has the size that was asked for.
    let got = unsafe {
        RegGetValueW(
            root,
            key.as_ptr(),
            name.as_ptr(),
            flags,
            std::ptr::null_mut(),
            buffer.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    if got != ERROR_SUCCESS {
        return None;
    }
    let length = buffer
        .iter()
        .position(|unit| *unit == 0)
        .unwrap_or(buffer.len());
    let text = OsString::from_wide(&buffer[..length]);
    Some(text.to_string_lossy().into_owned())
}

/// `%SystemRoot%\system32` with the variable's value; a name that is not set stays.
fn expanded(text: &str, env: &Env) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        match after.split_once('%') {
            Some((name, tail)) => {
                match env.text(name) {
                    Some(value) => out.push_str(value),
                    None => {
                        out.push('%');
                        out.push_str(name);
                        out.push('%');
                    }
                }
                rest = tail;
            }
            None => {
                out.push('%');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}
