//! The hooks there are: the user's own, and those of a trusted folder. And how one is run.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use trimtab_engine::{Input, Ran};
use trimtab_vocab::{
    CallId, CommandPlan, Fact, HOOK_FILES, HookEvent, HookFact, ListedHook, Problem, ProblemKind, Rule, RuleVerdict,
    SessionId, SnapshotLimits,
};
use trimtab_world::store::{NewInput, StoreError, hash};
use trimtab_world::workspace::read_small;

use crate::StreamController;
use crate::actor::ActorError;
use crate::client::{ActorContext, Client};
use crate::config::Profile;
use crate::effects::{ActorHandle, written};
use crate::hub::POLL_INTERVAL;
use crate::mcp::{files_named_in, is_replaceable};
use crate::snapshot::{self, FolderBefore};
use crate::tools::report_and_keep;

/// The user's own file, beside their settings.
const OWN_FILE: &str = "hooks.json";
/// Hooks of one file.
const MOST_HOOKS: usize = 64;
/// Seconds that a hook may take, unless its entry says otherwise, and at most.
const USUAL_TIMEOUT: u64 = 60;
const LONGEST_TIMEOUT: u64 = 600;
/// How long a surface waits for `SessionEnd` hooks.
const LEAVING: Duration = Duration::from_secs(10);
/// Bytes of a command line.
const LONGEST_COMMAND: usize = 16 * 1024;
/// Bytes of a hook's output that are passed on. What is longer counts as too much anyway.
const LONGEST_OUTPUT: usize = 128 * 1024;

/// A hook that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHook {
    /// Its name for people: the event, and its number among those of the event.
    pub name: String,
    pub listed: ListedHook,
    pub file: PathBuf,
}

/// An entry that is not used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredHook {
    pub file: PathBuf,
    pub project: bool,
    pub problem: String,
}

/// Whether a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookStanding {
    On,
    /// The user has not approved it as it is now.
    Pending,
    /// The user does not want it.
    Off,
}

impl HookStanding {
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Pending => "pending",
            Self::Off => "off",
        }
    }
}

impl KnownHook {
    /// Whether it runs in a folder, by the user's rules.
    pub fn standing(&self, folder: &str, rules: &[Rule]) -> HookStanding {
        let has = |verdict| rules.contains(&Rule::hook(folder, &self.listed, verdict));
        match self.listed.needs_approval() {
            false => HookStanding::On,
            true if has(RuleVerdict::Deny) => HookStanding::Off,
            true if has(RuleVerdict::Allow) => HookStanding::On,
            true => HookStanding::Pending,
        }
    }

    pub fn source(&self) -> &'static str {
        if self.listed.project { "project" } else { "user" }
    }
}

/// The hooks there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hooks {
    pub known: Vec<KnownHook>,
    pub ignored: Vec<IgnoredHook>,
}

/// Where hooks run.
#[derive(Debug, Clone, Copy)]
struct HookPlace<'a> {
    folder: &'a str,
    /// Only then its files are read.
    is_trusted: bool,
}

/// The user's own file of hooks.
fn own_file(settings: &Path) -> PathBuf {
    settings.with_file_name(OWN_FILE)
}

impl Hooks {
    /// Whether there is a file to read. Most people have none, and need no thread to read them.
    fn exist(settings: Option<&Path>, folder: Option<&str>) -> bool {
        let own = settings.map(own_file);
        let theirs = folder.into_iter().flat_map(|folder| HOOK_FILES.map(|file| Path::new(folder).join(file)));
        own.into_iter().chain(theirs).any(|file| file.symlink_metadata().is_ok())
    }

    /// Reads them. `folder` must be one that the user trusts: nothing of another is read. `place` is where the work is
    /// done, for files that the user's own hooks name.
    pub(crate) fn load(settings: Option<&Path>, folder: Option<&str>, place: &str) -> Self {
        let mut hooks = Self::default();
        if let Some(file) = settings.map(own_file).filter(|file| file.symlink_metadata().is_ok()) {
            hooks.add_own(&file, HookPlace { folder: place, is_trusted: folder.is_some() });
        }
        for file in folder.into_iter().flat_map(|folder| HOOK_FILES.map(|file| Path::new(folder).join(file))) {
            if file.symlink_metadata().is_ok() {
                hooks.add_of_project(&file, folder.unwrap_or_default());
            }
        }
        hooks
    }

    /// A file of the user that cannot be read counts as a check that fails, because the user relies on the checks in it.
    fn add_own(&mut self, file: &Path, place: HookPlace<'_>) {
        // People keep their settings elsewhere and link to them.
        let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        match read_object(&real) {
            Ok(object) => self.add(file, &object, false, place),
            Err(problem) => self.push(failing_check(file, problem), file),
        }
    }

    fn add_of_project(&mut self, file: &Path, folder: &str) {
        let is_inside = || Some(file.canonicalize().ok()?.starts_with(Path::new(folder).canonicalize().ok()?));
        let object = match is_inside() {
            Some(true) => read_object(file),
            _ => Err("it is outside the folder".to_owned()),
        };
        match object {
            // The settings of another agent have much else.
            Ok(object) if !file.ends_with(OWN_FILE) && !object.contains_key("hooks") => {}
            Ok(object) => self.add(file, &object, true, HookPlace { folder, is_trusted: true }),
            Err(problem) => self.ignored.push(IgnoredHook { file: file.to_owned(), project: true, problem }),
        }
    }

    fn add(&mut self, file: &Path, object: &Map<String, Value>, project: bool, place: HookPlace<'_>) {
        let ignored = |problem: String| IgnoredHook { file: file.to_owned(), project, problem };
        if object.get("disableAllHooks") == Some(&Value::Bool(true)) {
            return self.ignored.push(ignored("disableAllHooks is set.".to_owned()));
        }
        let events = match object.get("hooks") {
            Some(Value::Object(events)) => events,
            Some(_) if !project => return self.push(failing_check(file, "`hooks` is not an object".to_owned()), file),
            Some(_) => return self.ignored.push(ignored("`hooks` is not an object.".to_owned())),
            None => object,
        };
        let mut count = 0;
        for (event, groups) in events {
            let Some(event) = HookEvent::named(event) else {
                let name: String = event.chars().filter(|c| !c.is_control()).take(40).collect();
                self.ignored.push(ignored(format!("There is no event named {name} here.")));
                continue;
            };
            for (matcher, entry) in entries(groups) {
                count += 1;
                if count > MOST_HOOKS && !project {
                    let problem = format!("it has more than {MOST_HOOKS} hooks");
                    return self.push(failing_check(file, problem), file);
                }
                if count > MOST_HOOKS {
                    return self.ignored.push(ignored(format!("Only the first {MOST_HOOKS} hooks are used.")));
                }
                match define(event, matcher, entry, project, place) {
                    Ok(listed) => self.push(listed, file),
                    // A check of the user that cannot be run counts as failed.
                    Err((problem, command)) if !project && event == HookEvent::PreToolUse => {
                        let hash = hash(entry.to_string().as_bytes());
                        let matcher = matcher.to_owned();
                        let problem = Some(problem);
                        self.push(ListedHook { event, matcher, command, problem, hash, ..ListedHook::default() }, file);
                    }
                    Err((problem, _)) => self.ignored.push(ignored(format!("{}: {problem}.", event.name()))),
                }
            }
        }
    }

    /// Adds a hook, unless it is there already.
    fn push(&mut self, listed: ListedHook, file: &Path) {
        if self.known.iter().any(|known| known.listed.hash == listed.hash) {
            return;
        }
        let is_alike =
            |known: &&KnownHook| known.listed.event == listed.event && known.listed.project == listed.project;
        let number = self.known.iter().filter(is_alike).count() + 1;
        let prefix = if listed.project { "project:" } else { "" };
        let name = format!("{prefix}{}-{number}", listed.event.name());
        self.known.push(KnownHook { name, listed, file: file.to_owned() });
    }

    pub fn named(&self, name: &str) -> Option<&KnownHook> {
        self.known.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }
}

/// What stands for checks of the user that cannot be read: one that fails at every call.
fn failing_check(file: &Path, problem: String) -> ListedHook {
    ListedHook {
        event: HookEvent::PreToolUse,
        command: file.display().to_string(),
        problem: Some(problem),
        hash: hash(file.as_os_str().as_encoded_bytes()),
        ..ListedHook::default()
    }
}

fn read_object(file: &Path) -> Result<Map<String, Value>, String> {
    let bytes = read_small(file).map_err(|error| format!("it cannot be read: {error}"))?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

/// The entries of an event, each with its matcher. Anything else counts as an invalid entry.
fn entries(groups: &Value) -> Vec<(&str, &Value)> {
    let Value::Array(groups) = groups else { return vec![("", groups)] };
    let mut all = Vec::new();
    for group in groups {
        let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or_default();
        match group.get("hooks") {
            Some(Value::Array(entries)) => all.extend(entries.iter().map(|entry| (matcher, entry))),
            // An entry without a group.
            _ => all.push((matcher, group)),
        }
    }
    all
}

/// A hook as its entry has it, or what is wrong with it, and the command as far as it is known.
fn define(
    event: HookEvent,
    matcher: &str,
    entry: &Value,
    project: bool,
    place: HookPlace<'_>,
) -> Result<ListedHook, (String, String)> {
    let command = entry.get("command").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let wrong = |problem: &str| (problem.to_owned(), if command.is_empty() { "?".to_owned() } else { command.clone() });
    match entry.get("type").and_then(Value::as_str) {
        Some("command") | None => {}
        Some(_) => return Err(wrong("only hooks of type `command` are run")),
    }
    if command.is_empty() || command.len() > LONGEST_COMMAND || command.contains('\0') {
        return Err(wrong("it has no command that can be run"));
    }
    let timeout_s = match entry.get("timeout") {
        None => USUAL_TIMEOUT,
        Some(seconds) => match seconds.as_f64().filter(|seconds| *seconds > 0.0) {
            Some(seconds) => (seconds.ceil() as u64).clamp(1, LONGEST_TIMEOUT),
            None => return Err(wrong("its timeout is not a number of seconds")),
        },
    };
    let allows_on_failure = match entry.get("on_failure").map(Value::as_str) {
        None | Some(Some("ask")) => false,
        Some(Some("allow")) => true,
        Some(_) => return Err(wrong("`on_failure` must be \"ask\" or \"allow\"")),
    };
    let listed = ListedHook {
        event,
        matcher: matcher.to_owned(),
        command: command.clone(),
        timeout_s,
        allows_on_failure,
        project,
        ..ListedHook::default()
    };
    let (files, hash) = bound(&listed, place).map_err(|problem| wrong(&problem))?;
    Ok(ListedHook { files, hash, ..listed })
}

/// The files of a folder that a hook names, and the hash of the whole entry with their contents. The user's own hooks are
/// bound to them as well: they run outside of the sandbox, and commands can write these files.
fn bound(hook: &ListedHook, place: HookPlace<'_>) -> Result<(Vec<String>, String), String> {
    let ListedHook { event, matcher, command, timeout_s, allows_on_failure, project, .. } = hook;
    let mut line = command.clone();
    for variable in ["CLAUDE_PROJECT_DIR", "TRIMTAB_PROJECT_DIR"] {
        for spelling in [
            format!("\"${variable}\""),
            format!("\"${{{variable}}}\""),
            format!("${{{variable}}}"),
            format!("${variable}"),
        ] {
            // The folder is where a hook runs, and its own name may have spaces.
            line = line.replace(&spelling, ".");
        }
    }
    let files = files_named_in(&[line], Path::new(place.folder), place.is_trusted)?;
    // What runs outside of the sandbox must be what was checked a moment before.
    let guarded = files.iter().filter(|_| !project && place.is_trusted);
    if let Some(why) = guarded.into_iter().find_map(|(file, _)| is_replaceable(Path::new(place.folder), file)) {
        return Err(why);
    }
    // As JSON, so that no line of one part can be read as another part.
    let whole = json!([event.name(), matcher, command, timeout_s, allows_on_failure, project, files]);
    Ok((files.into_iter().map(|(path, _)| path).collect(), hash(whole.to_string().as_bytes())))
}

/// The hooks of a request in a folder.
pub(crate) async fn for_request(settings: Option<PathBuf>, folder: String, trusted: bool) -> Vec<ListedHook> {
    if !Hooks::exist(settings.as_deref(), trusted.then_some(folder.as_str())) {
        return Vec::new();
    }
    let own = settings.as_deref().map(own_file).unwrap_or_default();
    let read = move || Hooks::load(settings.as_deref(), trusted.then_some(folder.as_str()), &folder);
    match tokio::task::spawn_blocking(read).await {
        Ok(hooks) => hooks.known.into_iter().map(|known| known.listed).collect(),
        // No call is made without its checks.
        Err(error) => {
            tracing::error!(%error, "hooks");
            vec![failing_check(&own, "the hooks could not be read".to_owned())]
        }
    }
}

/// A hook to run.
pub(crate) struct HookStart {
    pub(crate) plan: CommandPlan,
    pub(crate) watch: Option<SnapshotLimits>,
    pub(crate) hook: ListedHook,
}

/// Runs a hook, and reports what it said and changed.
pub(crate) async fn run_hook(
    deps: &ActorContext,
    reporter: &ActorHandle,
    run: CallId,
    folder: String,
    start: HookStart,
    controller: &StreamController,
) -> Result<(), ActorError> {
    let HookStart { plan, watch, hook } = start;
    let session = reporter.lease.session();
    let failed = |why: String| Ran { not_started: Some(why), ..Ran::default() };
    if let Some(why) = changed(hook, folder.clone()).await {
        let input = Input::HookRan { run, ran: failed(why), effects: None };
        return report_and_keep(deps, reporter, &input, Vec::new()).await;
    }
    let before = match watch {
        Some(watch) => Some(snapshot::before(deps, session, &run, &folder, watch, controller).await?),
        None => None,
    };
    let keeps = snapshot::ended(session, &run, before.as_ref());
    let must_be_covered = watch.is_some_and(|watch| watch.whole);
    let plan = match must_be_covered.then(|| snapshot::read_only(before.as_ref(), plan.run())) {
        None => plan,
        Some(Ok(paths)) => plan.guarded(paths),
        Some(Err(reason)) => {
            let input = Input::HookRan { run, ran: failed(reason), effects: None };
            return report_and_keep(deps, reporter, &input, keeps).await;
        }
    };
    let (_, overtime) = mpsc::channel(1);
    let workspace = deps.world.workspace(session);
    let ended = match before {
        Some(FolderBefore::Stopped) => crate::workspace::EndedCommand {
            ran: Ran { stopped: true, ..Ran::default() },
            ..crate::workspace::EndedCommand::default()
        },
        _ => workspace.run(&plan, &|_| {}, controller, overtime).await,
    };
    let is_too_much = ended.dropped > 0 || ended.output.len() > LONGEST_OUTPUT;
    let ran = Ran {
        output: match is_too_much {
            true => String::new(),
            false => String::from_utf8_lossy(&ended.output).into_owned(),
        },
        output_bytes: if is_too_much { ended.dropped + ended.output.len() as u64 } else { 0 },
        ..ended.ran
    };
    let effects = match watch.zip(before) {
        Some((watch, before)) => Some(Box::new(snapshot::after(deps, session, &run, &folder, watch, before).await?)),
        None => None,
    };
    report_and_keep(deps, reporter, &Input::HookRan { run, ran, effects }, keeps).await
}

/// Why a hook is not run: it is no longer what the user has approved. A file that a hook of the user names, and that was not
/// there before, counts as well.
async fn changed(hook: ListedHook, folder: String) -> Option<String> {
    let check = move || {
        // A hook without a file of the folder has nothing of it that must not be read yet.
        let place = HookPlace { folder: &folder, is_trusted: hook.needs_approval() };
        match bound(&hook, place) {
            Ok((_, now)) if now == hook.hash => None,
            Ok((files, _)) if hook.files.is_empty() => {
                let files = trimtab_vocab::format::first(&files, 3);
                Some(format!("it runs {files} of this folder, which you have not approved"))
            }
            Ok(_) => Some("a file that it runs changed since you approved it".to_owned()),
            Err(why) => Some(why),
        }
    };
    tokio::task::spawn_blocking(check)
        .await
        .unwrap_or_else(|error| Some(format!("its files could not be read: {error}")))
}

impl Client {
    /// The hooks of the user, and those of a folder if it is trusted.
    pub async fn hooks(&self, profile: &Profile, folder: &str) -> Result<Hooks, Problem> {
        let trusted = self.permissions().trusts(profile, folder).await?;
        let (file, folder) = (profile.file.clone(), folder.to_owned());
        let read = move || Hooks::load(Some(&file), trusted.then_some(folder.as_str()), &folder);
        let read = tokio::task::spawn_blocking(read).await;
        read.map_err(|error| Problem::new(ProblemKind::Internal, format!("The hooks cannot be read: {error}.")))
    }

    /// Runs the hooks for the end of a session, and waits for them, but not long.
    pub async fn leave(&self, session: &SessionId) {
        if let Err(problem) = timeout(LEAVING, self.run_last_hooks(session)).await.unwrap_or(Ok(())) {
            tracing::warn!(%session, %problem, "the hooks for its end did not run");
        }
    }

    async fn run_last_hooks(&self, session: &SessionId) -> Result<(), StoreError> {
        let store = self.store();
        let Some(row) = store.session(session).await? else { return Ok(()) };
        if !Hooks::exist(self.deps().settings.as_deref(), Some(&row.folder)) {
            return Ok(());
        }
        let last = store.last_seq(session).await?;
        let payload = written(&Input::Left { reason: "other".to_owned() });
        store.enqueue(session, NewInput { payload, housekeeping: true, ..NewInput::default() }).await?;
        self.resume(session);
        // Its hooks are recorded in the step that takes the input up.
        while !store.inbox(session).await?.is_empty() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        loop {
            let mut open = HashSet::new();
            for event in store.events(session, last, 1000).await? {
                match event.fact {
                    Fact::Hook(HookFact::Started { run, event: HookEvent::SessionEnd, .. }) => {
                        open.insert(run);
                    }
                    Fact::Hook(HookFact::Finished { run, .. }) => {
                        open.remove(&run);
                    }
                    _ => {}
                }
            }
            if open.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Approves a hook of a folder as it is now, or refuses it.
    pub async fn decide_hook(&self, hook: &KnownHook, folder: &str, approve: bool) -> Result<(), Problem> {
        let (allow, deny) = (RuleVerdict::Allow, RuleVerdict::Deny);
        let (verdict, other) = if approve { (allow, deny) } else { (deny, allow) };
        let permissions = self.permissions();
        let old = Rule::hook(folder, &hook.listed, other);
        if permissions.rules().await?.contains(&old) {
            permissions.change_rule(&old, false).await?;
        }
        permissions.change_rule(&Rule::hook(folder, &hook.listed, verdict), true).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("writes");
    }

    #[test]
    fn hooks_in_the_public_format_load_and_what_is_ignored_says_why() {
        let home = tempfile::tempdir().expect("folder");
        let (settings, project) = (home.path().join("config/config.toml"), home.path().join("project"));
        put(
            &home.path().join("config/hooks.json"),
            r#"{"hooks": {
                "PreToolUse": [
                    {"matcher": "Bash", "hooks": [{"type": "command", "command": "check", "timeout": 5, "on_failure": "allow"}]},
                    {"matcher": "Edit|Write", "hooks": [{"type": "prompt", "prompt": "Is it fine?"}]}
                ],
                "Stop": [{"hooks": [{"type": "command", "command": "done"}, {"type": "agent"}]}],
                "WorktreeCreate": [{"hooks": []}]
            }}"#,
        );
        put(
            &project.join(".claude/settings.json"),
            r#"{"permissions": {}, "hooks": {"PostToolUse": [{"matcher": "Write", "hooks": [
                {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/format.sh"}]}]}}"#,
        );
        put(&project.join(".claude/format.sh"), "echo one");
        put(&project.join(".trimtab/hooks.json"), "[1]");
        let folder = project.display().to_string();
        let load = || Hooks::load(Some(&settings), Some(&folder), &folder);
        let hooks = load();
        let names: Vec<&str> = hooks.known.iter().map(|known| known.name.as_str()).collect();
        assert_eq!(names, ["PreToolUse-1", "PreToolUse-2", "Stop-1", "project:PostToolUse-1"]);
        let of = |name: &str| &hooks.named(name).expect(name).listed;
        assert_eq!((of("PreToolUse-1").timeout_s, of("PreToolUse-1").allows_on_failure), (5, true));
        assert!(of("PreToolUse-2").problem.as_deref().is_some_and(|why| why.contains("type `command`")));
        assert_eq!(of("project:PostToolUse-1").files, [".claude/format.sh"]);
        let why: Vec<&str> = hooks.ignored.iter().map(|ignored| ignored.problem.as_str()).collect();
        for reason in ["Stop: only hooks of type", "no event named WorktreeCreate", "not a JSON object"] {
            assert!(why.iter().any(|why| why.contains(reason)), "{reason}: {why:?}");
        }
        // The content of what a project's hook runs is part of what is approved.
        let before = of("project:PostToolUse-1").hash.clone();
        put(&project.join(".claude/format.sh"), "echo two");
        assert_ne!(load().named("project:PostToolUse-1").expect("a hook").listed.hash, before);
        // What a line of one part says does not count as another part.
        let hash_of = |matcher: &str, command: &str| {
            let entry = json!({"command": command});
            define(HookEvent::Stop, matcher, &entry, true, HookPlace { folder: &folder, is_trusted: true })
                .expect("a hook")
                .hash
        };
        assert_ne!(hash_of("a", "b\nrm -r ."), hash_of("a\nb", "rm -r ."));
        // Nothing of a folder that is not trusted.
        assert!(Hooks::load(Some(&settings), None, &folder).known.iter().all(|known| !known.listed.project));
        // A check of the user is never left out because its file is broken.
        put(&home.path().join("config/hooks.json"), "{");
        let broken = load();
        let listed = &broken.known[0].listed;
        assert!(listed.event == HookEvent::PreToolUse && listed.matcher.is_empty() && listed.problem.is_some());
        let many: Vec<String> = (0..65).map(|n| format!(r#"{{"type": "command", "command": "check {n}"}}"#)).collect();
        let many = format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{}]}}]}}}}"#, many.join(","));
        for text in [r#"{"hooks": []}"#, &many] {
            put(&home.path().join("config/hooks.json"), text);
            let fails = |known: &KnownHook| known.listed.matcher.is_empty() && known.listed.problem.is_some();
            assert!(load().known.iter().any(fails), "{text}");
        }
    }
}
