//! Which build is in force, and what is said when none is.

use crate::sandbox::Sandbox;

#[test]
fn nothing_selected_names_the_commands_that_help() {
    let sandbox = Sandbox::new();
    sandbox.cudnnm(["current"]).exits(4).says(&[
        "no cuDNN is selected here",
        "hint: for this project: cudnnm use",
    ]);
    assert_eq!(
        sandbox.store_listing(),
        Vec::<String>::new(),
        "asking creates nothing"
    );
}

#[test]
fn a_malformed_version_file_is_named_with_its_line() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.project().join(".cudnn-version"),
        "# team\nnewest please\n",
    )
    .unwrap();
    sandbox.cudnnm(["current"]).exits(1).says(&[
        ".cudnn-version`, line 2",
        "`newest please` is not valid",
        "hint: ",
    ]);
}
