//! Hands for scenarios: files are real, commands run in a plain shell without fences, because the
//! supervisor belongs to the product's own program.

use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use trimtab_engine::Ran;
use trimtab_host::{Contents, FileNow, Hands, RealHands, Snapshot, StreamController, Survey};
use trimtab_vocab::{CommandPlan, FilePlan, Look, Seen};

/// Real files, plain commands.
pub struct PlainHands(RealHands);

impl Default for PlainHands {
    fn default() -> Self {
        Self(RealHands::new([], &[]))
    }
}

#[async_trait]
impl Hands for PlainHands {
    async fn look(&self, folder: &str, look: &Look) -> Seen {
        self.0.look(folder, look).await
    }

    async fn read(&self, folder: &str, path: &str) -> Result<FileNow, String> {
        self.0.read(folder, path).await
    }

    async fn write(&self, plan: &FilePlan, contents: Arc<dyn Contents>) -> Result<(), String> {
        self.0.write(plan, contents).await
    }

    async fn survey(&self, survey: Survey, kept: mpsc::Sender<(String, Vec<u8>)>) -> Option<Snapshot> {
        self.0.survey(survey, kept).await
    }

    async fn run(
        &self,
        plan: &CommandPlan,
        output: &(dyn for<'t> Fn(&'t str) + Send + Sync),
        stop: &StreamController,
    ) -> Ran {
        let run = plan.run();
        let mut command = tokio::process::Command::new("sh");
        let line = format!("exec 2>&1; {}", run.command);
        command.args(["-c", &line]).current_dir(&run.cwd).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().expect("a shell");
        let mut stdout = child.stdout.take().expect("is piped");
        let mut text = String::new();
        let ends = async {
            let mut bytes = Vec::new();
            let _ = stdout.read_to_end(&mut bytes).await;
            text = String::from_utf8_lossy(&bytes).into_owned();
            output(&text);
            child.wait().await
        };
        tokio::select! {
            biased;
            () = stop.aborted() => Ran { stopped: true, ..Ran::default() },
            ended = ends => Ran { exit_code: ended.ok().and_then(|status| status.code()), output: text, ..Ran::default() },
        }
    }
}
