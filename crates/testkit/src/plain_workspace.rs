//! Hands for scenarios: files are real, commands run in a plain shell without fences, because the
//! supervisor belongs to the product's own program.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::sync::{Notify, mpsc};
use trimtab_engine::Ran;
use trimtab_host::{
    CommandUpdate, Contents, CopiedFile, EndedCommand, FileNow, LocalWorkspace, SnapshotRequest, StreamController,
    Workspace,
};
use trimtab_vocab::{
    BuildFolders, CommandPlan, CopyStats, FilePlan, FileState, LeftBehind, Overtime, ReadOp, ReadResult,
};
use trimtab_world::workspace::snapshot::Snapshot;

/// Real files, plain commands.
pub struct PlainWorkspace {
    local: LocalWorkspace,
    /// Copies of the folder wait for it before they are made.
    copy_gate: Option<Arc<Notify>>,
}

impl Default for PlainWorkspace {
    fn default() -> Self {
        Self { local: LocalWorkspace::new([], &[]), copy_gate: None }
    }
}

impl PlainWorkspace {
    /// The same, with copies that wait for a gate.
    #[must_use]
    pub fn with_copy_gate(self, gate: Arc<Notify>) -> Self {
        Self { copy_gate: Some(gate), ..self }
    }
}

#[async_trait]
impl Workspace for PlainWorkspace {
    async fn perform_read(&self, folder: &str, op: &ReadOp) -> ReadResult {
        self.local.perform_read(folder, op).await
    }

    async fn absent(&self, folder: &str, path: &str) -> Option<Vec<String>> {
        self.local.absent(folder, path).await
    }

    async fn read(&self, folder: &str, path: &str) -> Result<FileNow, String> {
        self.local.read(folder, path).await
    }

    async fn write(&self, plan: &FilePlan, contents: Arc<dyn Contents>) -> Result<(), String> {
        self.local.write(plan, contents).await
    }

    async fn state(&self, folder: &str, path: &str) -> Option<FileState> {
        self.local.state(folder, path).await
    }

    async fn itself(&self, folder: &str, path: &str) -> Option<Option<FileState>> {
        self.local.itself(folder, path).await
    }

    async fn whole_copy(&self, copy: &str) -> Option<CopyStats> {
        self.local.whole_copy(copy).await
    }

    async fn make_copy(
        &self,
        original: &str,
        copy: &str,
        changes: Vec<CopiedFile>,
        dependencies: BuildFolders,
    ) -> Result<CopyStats, String> {
        if let Some(gate) = &self.copy_gate {
            gate.notified().await;
        }
        self.local.make_copy(original, copy, changes, dependencies).await
    }

    async fn copies(&self, place: &str) -> Vec<String> {
        self.local.copies(place).await
    }

    async fn left_behind(&self, copy: &str, original: &str, known: BTreeSet<String>) -> LeftBehind {
        self.local.left_behind(copy, original, known).await
    }

    async fn drop_copy(&self, copy: &str) {
        self.local.drop_copy(copy).await;
    }

    async fn take_snapshot(&self, request: SnapshotRequest, kept: mpsc::Sender<(String, Vec<u8>)>) -> Option<Snapshot> {
        // A script that does not say `watch` wants none; without a list, no command would run unasked.
        if request.watch.files == 0 {
            return Some(Snapshot::default());
        }
        self.local.take_snapshot(request, kept).await
    }

    async fn run(
        &self,
        plan: &CommandPlan,
        tell: &(dyn for<'t> Fn(CommandUpdate<'t>) + Send + Sync),
        stop: &StreamController,
        mut overtime: mpsc::Receiver<Overtime>,
    ) -> EndedCommand {
        let run = plan.run();
        let mut command = tokio::process::Command::new("sh");
        // A hook has a script of its own, and arguments for it.
        match run.argv.get(3..).filter(|rest| !rest.is_empty() && run.argv[..2] == ["/bin/sh", "-c"]) {
            Some(_) => command.args(&run.argv[1..]),
            None => command.args(["-c", &format!("exec 2>&1; {}", run.command)]),
        };
        command.current_dir(&run.cwd).stdin(Stdio::null()).stdout(Stdio::piped());
        // There is none here, but a script can tell whether it would have one.
        command.env("TERMINAL", if run.terminal { "yes" } else { "no" });
        let sandbox = serde_json::to_value(run.sandbox).expect("a name");
        command.env("SANDBOX", sandbox.as_str().expect("a name"));
        let mut child = command.process_group(0).spawn().expect("a shell");
        let _group = Group(child.id());
        let mut stdout = child.stdout.take().expect("is piped");
        let mut output = Vec::new();
        let ends = async {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut chunk).await {
                tell(CommandUpdate::Output(&String::from_utf8_lossy(&chunk[..count])));
                output.extend_from_slice(&chunk[..count]);
            }
            child.wait().await
        };
        // One who is there is asked; without anybody, its time is up for good.
        let over = async {
            let mut seconds = run.timeout_s;
            let mut is_limited = true;
            loop {
                let said = tokio::select! {
                    biased;
                    Some(said) = overtime.recv() => said,
                    () = tokio::time::sleep(Duration::from_secs(seconds)), if is_limited => {
                        if !run.attended {
                            return;
                        }
                        tell(CommandUpdate::Overdue);
                        is_limited = false;
                        continue;
                    }
                    else => std::future::pending().await,
                };
                match said {
                    Overtime::Seconds(more) => (seconds, is_limited) = (more, true),
                    Overtime::None => return,
                    Overtime::Unlimited => is_limited = false,
                }
            }
        };
        let ran = tokio::select! {
            biased;
            () = stop.aborted() => Ran { stopped: true, ..Ran::default() },
            ended = ends => Ran { exit_code: ended.ok().and_then(|status| status.code()), ..Ran::default() },
            () = over => Ran { timed_out: true, signal: Some(15), ..Ran::default() },
        };
        EndedCommand { ran, output, dropped: 0 }
    }
}

/// A shell and all that it has started. They end with whoever waits for them, so that no test leaves any behind.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0.and_then(|id| Pid::from_raw(id as i32)) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
