//! A sample project and data of its own, both gone with the demonstration.

use std::path::{Path, PathBuf};

use trimtab_vocab::{Problem, ProblemKind};

/// The sample project: enough to change two files and to test them, with nothing but a shell.
const FILES: [(&str, &str); 3] = [
    ("README.md", include_str!("project/README.md")),
    ("greet.sh", include_str!("project/greet.sh")),
    ("test.sh", include_str!("project/test.sh")),
];

/// Makes the folder with the sample in it. One that is there already is left alone.
pub(super) fn put_sample(folder: &Path) -> Result<(), Problem> {
    let refused = |error: std::io::Error| {
        Problem::new(ProblemKind::Usage, format!("Cannot create the sample in {}: {error}.", folder.display()))
            .hint("Name a new folder in a writable place.")
    };
    std::fs::create_dir(folder).map_err(refused)?;
    for (name, text) in FILES {
        #[expect(clippy::disallowed_methods, reason = "the sample is made here, in a folder that was just made")]
        std::fs::write(folder.join(name), text).map_err(refused)?;
    }
    Ok(())
}

/// A folder that goes away with the demonstration.
pub(super) struct DemoFolder(PathBuf);

impl DemoFolder {
    pub(super) fn build() -> Result<Self, Problem> {
        let refused = |error: std::io::Error| {
            Problem::new(ProblemKind::Store, format!("The demo needs a folder: {error}."))
                .hint("Set TMPDIR to a writable folder.")
        };
        let mut number = 0;
        let stage = loop {
            let path = std::env::temp_dir().join(format!("trimtab-demo-{}-{number}", std::process::id()));
            // Made anew, never found: a folder that is there already is somebody else's.
            match std::fs::create_dir(&path) {
                Ok(()) => break Self(path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(error) => return Err(refused(error)),
            }
        };
        put_sample(&stage.project())?;
        Ok(stage)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.0.join("project")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
