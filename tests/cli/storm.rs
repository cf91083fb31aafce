//! Processes that are killed at any moment while others are at work on the same store.
//!
//! Each round starts four commands at once and kills some of them. Then everything that is installed must be whole, and
//! what was killed must work when it is done again. `CUDNNM_TEST_KILLS=300` makes it a long run.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::downloads::noise;
use crate::packages::{self, linux_wheel};
use crate::sandbox::Sandbox;

const KILLS: usize = 20;
const AT_ONCE: usize = 4;
const VERSIONS: [&str; 3] = ["9.1.0.70", "9.1.1.17", "9.2.0.82"];

/// A command and the exit codes with which it may end when nobody kills it.
struct Deed {
    args: Vec<String>,
    folder: PathBuf,
    may: &'static [i32],
}

struct Storm {
    sandbox: Sandbox,
    wheels: Vec<PathBuf>,
    trees: Vec<PathBuf>,
    dice: u64,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let sandbox = Sandbox::new();
        let (mut wheels, mut trees) = (Vec::new(), Vec::new());
        for version in VERSIONS {
            let mut files = linux_wheel(version, 12);
            // Enough to be caught in the middle of; equal in all builds, so that it becomes one file.
            files.push((
                "nvidia/cudnn/include/cudnn_ballast.h".into(),
                noise(1_500_000),
            ));
            let wheel = sandbox.path(&format!("nvidia_cudnn_cu12-{version}-py3-none-any.whl"));
            fs::write(&wheel, packages::zip(&files)).unwrap();
            wheels.push(wheel);
            let tree = sandbox.path(&format!("tree {version}"));
            for (name, content) in &files {
                let path = tree.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            trees.push(tree);
        }
        Self {
            sandbox,
            wheels,
            trees,
            dice: seed | 1,
        }
    }

    fn throw(&mut self, sides: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice % sides
    }

    fn deed(&mut self) -> Deed {
        let which = self.throw(VERSIONS.len() as u64) as usize;
        let (wheel, tree) = (
            self.wheels[which].display().to_string(),
            self.trees[which].display().to_string(),
        );
        let version = VERSIONS[which];
        let (args, may): (Vec<&str>, &[i32]) = match self.throw(9) {
            0 | 1 => (vec!["install", "--from", &wheel], &[0]),
            2 => (vec!["install", "--force", "--from", &wheel], &[0]),
            // Another process may have taken it away already, or not put it there yet.
            3 => (vec!["uninstall", "--all", version], &[0, 4]),
            4 => (vec!["use", version], &[0, 4]),
            5 => (vec!["prune"], &[0]),
            6 => (vec!["import", &tree], &[0]),
            7 => (vec!["import", "--force", &tree], &[0]),
            _ => (vec!["prune", "--unused"], &[0]),
        };
        let number = self.throw(3);
        let folder = self.sandbox.path(&format!("project {number}"));
        fs::create_dir_all(&folder).unwrap();
        Deed {
            args: args.into_iter().map(str::to_owned).collect(),
            folder,
            may,
        }
    }

    fn start(&self, deed: &Deed) -> Child {
        let mut command = self.sandbox.command();
        command
            .args(&deed.args)
            .current_dir(&deed.folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    fn ends_well(deed: &Deed, child: Child) {
        let output = child.wait_with_output().unwrap();
        let code = output.status.code();
        assert!(
            code.is_some_and(|code| deed.may.contains(&code)),
            "{:?} ended with {code:?}:\n{}",
            deed.args,
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// One round; how many were killed while they ran.
    fn round(&mut self, span: Duration) -> usize {
        let deeds: Vec<Deed> = (0..AT_ONCE).map(|_| self.deed()).collect();
        let children: Vec<Child> = deeds.iter().map(|deed| self.start(deed)).collect();
        let victims = self.throw(3) as usize + 1;
        let mut killed = Vec::new();
        for (index, (deed, mut child)) in deeds.into_iter().zip(children).enumerate() {
            if index < victims {
                let pause = self.throw(span.as_micros() as u64 / victims as u64);
                std::thread::sleep(Duration::from_micros(pause));
                if child.try_wait().unwrap().is_none() {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    killed.push(deed);
                    continue;
                }
            }
            Self::ends_well(&deed, child);
        }
        let verified = self.sandbox.cudnnm(["verify"]);
        assert_eq!(
            verified.code,
            0,
            "after the kill of {:?}:\n{}{}",
            killed.iter().map(|deed| &deed.args).collect::<Vec<_>>(),
            verified.stdout,
            verified.stderr
        );
        for deed in &killed {
            Self::ends_well(deed, self.start(deed));
        }
        killed.len()
    }
}

#[test]
fn kills_at_any_moment_damage_nothing() {
    let wanted = std::env::var("CUDNNM_TEST_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(KILLS);
    let mut storm = Storm::new(0x5eed_0000 + wanted as u64);
    // How long four installs at once take here and now: kills are spread over that.
    let started = Instant::now();
    let first: Vec<Deed> = (0..AT_ONCE)
        .map(|index| Deed {
            args: [
                "install",
                "--from",
                &storm.wheels[index % 3].display().to_string(),
            ]
            .map(str::to_owned)
            .to_vec(),
            folder: storm.sandbox.project(),
            may: &[0],
        })
        .collect();
    let children: Vec<Child> = first.iter().map(|deed| storm.start(deed)).collect();
    for (deed, child) in first.iter().zip(children) {
        Storm::ends_well(deed, child);
    }
    let span = started.elapsed();
    let (mut kills, mut rounds) = (0, 0);
    while kills < wanted {
        kills += storm.round(span);
        rounds += 1;
        assert!(
            rounds < wanted * 20,
            "the kills come too late: {kills} in {rounds} rounds"
        );
    }
    println!("{kills} kills in {rounds} rounds of {AT_ONCE} processes, span {span:?}");

    storm.sandbox.cudnnm(["prune"]).success();
    let orphans: Vec<String> = storm
        .sandbox
        .store_listing()
        .into_iter()
        .filter(|path| {
            [".cudnnm/staging/", ".cudnnm/trash/", ".cudnnm/downloads/"]
                .iter()
                .any(|folder| path.starts_with(folder))
                || path
                    .rsplit('/')
                    .next()
                    .is_some_and(|name| name.starts_with('.') && name != ".cudnnm")
        })
        .collect();
    assert_eq!(orphans, Vec::<String>::new());
    let dry = storm.sandbox.cudnnm(["prune", "--dry-run"]).success();
    assert_eq!(dry.stdout, "");

    // What a killed `use` left beside a version file is cleared by the next one.
    for wheel in &storm.wheels {
        storm
            .sandbox
            .cudnnm(["install", "--from", &wheel.display().to_string()])
            .success();
    }
    for number in 0..3 {
        let folder = storm.sandbox.path(&format!("project {number}"));
        fs::create_dir_all(&folder).unwrap();
        storm
            .sandbox
            .cudnnm_in(&folder, ["use", VERSIONS[0]])
            .success();
        let names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, [".cudnn-version"]);
    }
    storm.sandbox.cudnnm(["verify"]).success();
}
