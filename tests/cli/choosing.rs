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

mod installed {
    use crate::fake;
    use crate::sandbox::Sandbox;

    #[test]
    fn use_writes_the_wish_and_current_says_why() {
        let sandbox = Sandbox::new();
        fake::build(&sandbox, "cudnn-8.2.1.32-cuda11.3");
        fake::build(&sandbox, "cudnn-9.19.0.56-cuda13-jit");
        sandbox
            .cudnnm(["use", "8.2"])
            .success()
            .says(&["(8.2, now 8.2.1.32+cuda11.3)"]);
        let file = sandbox.project().join(".cudnn-version");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "8.2\n");
        let deep = sandbox.project().join("a").join("b");
        std::fs::create_dir_all(&deep).unwrap();
        let run = sandbox.cudnnm_in(&deep, ["current"]).success();
        assert_eq!(run.stdout, "8.2.1.32+cuda11.3\n");
        run.says(&[".cudnn-version, line 1"]);
        let json = sandbox
            .cudnnm_in(&deep, ["current", "--json"])
            .success()
            .stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["version"], "8.2.1.32");
        assert_eq!(json["reason"]["line"], 1);
    }

    #[test]
    fn use_of_something_not_installed_writes_nothing() {
        let sandbox = Sandbox::new();
        fake::build(&sandbox, "cudnn-8.2.1.32-cuda11.3");
        sandbox.cudnnm(["use", "9"]).exits(4).says(&[
            "cuDNN 9 is not installed",
            "hint: cudnnm install 9",
            "8.2.1.32+cuda11.3",
        ]);
        assert!(!sandbox.project().join(".cudnn-version").exists());
    }

    #[test]
    fn flag_variable_project_and_default_decide_in_this_order() {
        let mut sandbox = Sandbox::new();
        for folder in [
            "cudnn-8.1.0.77-cuda11",
            "cudnn-8.2.1.32-cuda11",
            "cudnn-8.9.7.29-cuda12",
            "cudnn-9.1.0.70-cuda12",
        ] {
            fake::build(&sandbox, folder);
        }
        let which = |sandbox: &Sandbox| sandbox.cudnnm(["current"]).success().stdout;
        sandbox.cudnnm(["use", "--global", "8.1"]).success();
        assert_eq!(which(&sandbox), "8.1.0.77+cuda11\n");
        sandbox.cudnnm(["use", "8.2"]).success();
        assert_eq!(which(&sandbox), "8.2.1.32+cuda11\n");
        sandbox.set("CUDNNM_VERSION", "8.9");
        assert_eq!(which(&sandbox), "8.9.7.29+cuda12\n");
        let path = sandbox.cudnnm(["which", "--cudnn", "9"]).success().stdout;
        let library = if cfg!(windows) {
            r"cudnn-9.1.0.70-cuda12\bin\cudnn64_9.dll"
        } else {
            "cudnn-9.1.0.70-cuda12/lib/libcudnn.so.9"
        };
        assert!(path.trim_end().ends_with(library), "{path}");
        sandbox
            .cudnnm(["use", "8.2"])
            .success()
            .says(&["the variable CUDNNM_VERSION still decides"]);
    }

    #[test]
    fn uninstall_asks_for_one_build_and_removes_it() {
        let sandbox = Sandbox::new();
        for folder in ["cudnn-9.1.0.70-cuda11", "cudnn-9.1.0.70-cuda12"] {
            fake::build(&sandbox, folder);
        }
        sandbox
            .cudnnm(["uninstall", "9.1"])
            .exits(2)
            .says(&["means several installed builds", "--all 9.1"]);
        sandbox.cudnnm(["uninstall", "9.1+cuda11"]).success();
        assert!(
            sandbox
                .cudnnm(["list"])
                .success()
                .stdout
                .contains("9.1.0.70+cuda12")
        );
        sandbox.cudnnm(["uninstall", "9.1+cuda11"]).exits(4);
        sandbox
            .cudnnm(["uninstall", "cudnn-9.1.0.70-cuda12"])
            .success();
        sandbox
            .cudnnm(["list"])
            .success()
            .says(&["no cuDNN is installed"]);
    }

    #[test]
    fn prune_keeps_what_projects_want_and_removes_the_rest() {
        let sandbox = Sandbox::new();
        for folder in ["cudnn-8.2.1.32-cuda11.3", "cudnn-9.1.0.70-cuda12"] {
            fake::build(&sandbox, folder);
        }
        let downloads = sandbox.store().join(".cudnnm").join("downloads");
        std::fs::create_dir_all(&downloads).unwrap();
        std::fs::write(downloads.join("x.whl.part"), "half").unwrap();
        sandbox.cudnnm(["use", "8.2"]).success();
        let before = sandbox.store_listing();
        let dry = sandbox
            .cudnnm(["prune", "--unused", "--dry-run"])
            .success()
            .stdout;
        assert!(
            dry.contains("would remove partial download x.whl.part"),
            "{dry}"
        );
        assert!(
            dry.contains("would remove unused build 9.1.0.70+cuda12"),
            "{dry}"
        );
        assert_eq!(sandbox.store_listing(), before);
        sandbox.cudnnm(["prune", "--unused"]).success();
        let left = sandbox.cudnnm(["list"]).success().stdout;
        assert!(
            left.contains("8.2.1.32") && !left.contains("9.1.0"),
            "{left}"
        );
        sandbox
            .cudnnm(["prune"])
            .success()
            .says(&["nothing to remove"]);
    }

    #[test]
    fn exact_pins_the_build_and_its_digest() {
        let sandbox = Sandbox::new();
        fake::build(&sandbox, "cudnn-9.19.0.56-cuda13-jit");
        sandbox.cudnnm(["use", "--exact", "9"]).success();
        let text = std::fs::read_to_string(sandbox.project().join(".cudnn-version")).unwrap();
        assert_eq!(
            text,
            format!("9.19.0.56+cuda13+jit # sha256:{}\n", "ab".repeat(32))
        );
        assert_eq!(
            sandbox.cudnnm(["current"]).success().stdout,
            "9.19.0.56+cuda13+jit\n"
        );
    }

    #[test]
    fn a_build_that_the_driver_cannot_run_is_refused_without_force() {
        let mut sandbox = Sandbox::new();
        fake::build(&sandbox, "cudnn-9.19.0.56-cuda13-jit");
        sandbox.set("CUDNNM_CUDA_DRIVER", "11.4");
        sandbox
            .cudnnm(["use", "9.19"])
            .exits(5)
            .says(&["9.19.0.56+cuda13+jit can't run here", "--force"]);
        assert!(!sandbox.project().join(".cudnn-version").exists());
        sandbox
            .cudnnm(["use", "9.19", "--force"])
            .success()
            .says(&["warning", "can't run here"]);
        sandbox
            .cudnnm(["install", "--dry-run", "9.14.0+cuda13"])
            .exits(5)
            .says(&["can't run here"]);
        let plan = sandbox
            .cudnnm(["install", "--dry-run", "--force", "9.14.0+cuda13"])
            .success();
        assert!(plan.stdout.contains("9.14.0.64+cuda13"), "{}", plan.stdout);
    }

    #[test]
    fn a_framework_chooses_its_cudnn() {
        let sandbox = Sandbox::new();
        let plan = sandbox
            .cudnnm(["install", "--dry-run", "--for", "torch==1.12.1"])
            .success();
        assert!(plan.stdout.contains("8.3.2.44+cuda11.5"), "{}", plan.stdout);
        plan.says(&["torch==1.12.1 asks for"]);
        sandbox
            .cudnnm(["use", "--for", "torch==1.12.1"])
            .exits(4)
            .says(&["is not installed"]);
        sandbox
            .cudnnm(["install", "--for", "tortch==1"])
            .says(&["tortch"]);
    }

    #[test]
    fn a_pinned_project_is_checked_against_this_machine() {
        let sandbox = Sandbox::new();
        fake::build(&sandbox, "cudnn-9.19.0.56-cuda13-jit");
        sandbox.cudnnm(["use", "9"]).success();
        sandbox
            .cudnnm(["verify", "--project"])
            .exits(2)
            .says(&["pins no exact build", "use --exact"]);
        sandbox.cudnnm(["use", "--exact", "9"]).success();
        sandbox.cudnnm(["verify", "--project"]).success();
        let file = sandbox.project().join(".cudnn-version");
        let other = std::fs::read_to_string(&file)
            .unwrap()
            .replace("abab", "cdcd");
        std::fs::write(&file, other).unwrap();
        sandbox
            .cudnnm(["verify", "--project"])
            .exits(7)
            .says(&["from another archive", "cdcd"]);
    }
}
