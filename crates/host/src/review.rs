//! Reviews: the diff that is reviewed, and the read-only request about it.
//!
//! The diff comes from git, which runs as commands of a session run: the policy must let it run automatically, and it runs
//! in the fence of a command that only reads, where it starts nothing that the repository names. Otherwise there is no diff.

use tokio::sync::mpsc;
use trimtab_engine::intake::{input_budget, pill};
use trimtab_engine::proposal::review::{
    REVIEW_TOOLS, ReviewDiff, ReviewFile, ReviewForm, ReviewPrompt, ShownDiff, answer_schema, check_findings,
    read_answer,
};
use trimtab_vocab::sensitive_paths::is_secret;
use trimtab_vocab::{
    CheckedFindings, CommandPlan, Mode, Pill, Problem, ProblemKind, Request, ReviewFinding, SubtaskStart,
    UnreviewedFile, UnreviewedReason,
};

use crate::client::Client;
use crate::compose::{ComposedRequest, Manner, NO_FOLDER, RequestDraft};
use crate::config::Profile;
use crate::workspace::{EndedCommand, LocalWorkspace, Workspace};
use crate::{StreamController, new_request};

/// Which changes are reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewSource {
    /// What differs from the last commit, with files that git does not track yet.
    Uncommitted,
    /// The commits since this revision and the current one went apart.
    Base(String),
    /// What this commit changed.
    Commit(String),
}

/// Changes to review.
#[derive(Debug, Clone, Default)]
pub struct ReviewSubject {
    pub diff: ReviewDiff,
    /// Files that are part of the change and not of the diff.
    pub left_out: Vec<UnreviewedFile>,
    /// The folder below the top of the repository, with a slash at its end; empty at the top.
    pub prefix: String,
    /// The files in the folder may be newer.
    pub is_past: bool,
}

impl ReviewSubject {
    /// The changes of a diff that somebody else made; none if the text is no diff.
    pub fn from_text(text: &str) -> Option<Self> {
        let diff = ReviewDiff::parse(text);
        (!diff.files.is_empty()).then_some(Self { diff, is_past: true, ..Self::default() })
    }

    pub fn is_empty(&self) -> bool {
        self.diff.files.is_empty() && self.left_out.is_empty()
    }

    /// Sorts the findings in an answer by whether they are about these changes; none if it is no answer to a review.
    pub fn check(&self, answer: &str) -> Option<(String, CheckedFindings)> {
        let answer = read_answer(answer)?;
        Some((answer.summary, check_findings(&self.diff, answer.findings)))
    }

    /// Whether a finding is about a file that is deleted.
    pub fn is_about_deleted(&self, finding: &ReviewFinding) -> bool {
        use trimtab_engine::proposal::review::ReviewedChange::Deleted;
        self.diff.files.iter().any(|file| file.path == finding.file && file.change == Deleted)
    }
}

/// Why there is no diff.
#[derive(Debug)]
pub enum NoDiff {
    /// The folder is not trusted, so nothing in it is read or run.
    Untrusted,
    /// Git cannot run without a question, for this reason.
    Asks(String),
    Problem(Problem),
}

impl From<Problem> for NoDiff {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl NoDiff {
    /// What to tell whoever cannot be asked.
    pub fn into_problem(self, folder: &str) -> Problem {
        const PIPE: &str = "Or send the diff yourself: git diff | trimtab review";
        match self {
            Self::Untrusted => {
                let what = format!("The folder {folder} is not trusted, so its changes are not read.");
                Problem::new(ProblemKind::Usage, what)
                    .hint(format!("Trust it with `trimtab trust`, or for this run with --trust. {PIPE}"))
            }
            Self::Asks(why) => {
                let what = format!("Git cannot read the changes without asking you: {why}");
                Problem::new(ProblemKind::Refused, what).hint(PIPE.replacen("Or send", "Send", 1))
            }
            Self::Problem(problem) => problem,
        }
    }
}

/// A review to compose.
#[derive(Debug, Clone)]
pub struct ReviewDraft {
    /// What the user typed, and how the request is made.
    pub request: RequestDraft,
    /// What the user wants looked at.
    pub focus: String,
    pub form: ReviewForm,
    /// The model may read files of the folder.
    pub reads: bool,
}

/// A typed `/review`, if a request is one: the request, and what follows the name.
pub(crate) fn review_call(draft: &RequestDraft, folder: &str) -> Option<ReviewDraft> {
    let call = pill::call(&draft.text).filter(|call| call.name == "review" && !draft.literal && folder != NO_FOLDER)?;
    let request = RequestDraft { literal: true, mode: Mode::Auto, ..draft.clone() };
    Some(ReviewDraft { focus: call.arguments.to_owned(), request, form: ReviewForm::Words, reads: true })
}

/// Bytes of a diff that git may write.
const LARGEST_DIFF: usize = 16 << 20;
/// Bytes of a file that git does not track, of all of them, and how many are read.
const LARGEST_NEW_FILE: usize = 1 << 20;
const MOST_NEW_BYTES: usize = 4 << 20;
const MOST_NEW_FILES: usize = 1000;
/// The tree without files, which everything differs from before the first commit.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// How git writes a diff, whatever its settings say.
const FORM: &str = "--no-color --unified=3 --find-renames --src-prefix=a/ --dst-prefix=b/ --relative";

impl Client {
    /// The changes in a folder, as git has them.
    pub async fn changes_to_review(
        &self,
        profile: &Profile,
        folder: &str,
        trust: bool,
        source: &ReviewSource,
    ) -> Result<ReviewSubject, NoDiff> {
        if !trust && !self.permissions().trusts(profile, folder).await? {
            return Err(NoDiff::Untrusted);
        }
        let profile = profile.clone().in_project(folder)?;
        let rules = self.permissions().rules().await?;
        let limits = trimtab_world::sandbox::CommandLimits { output: LARGEST_DIFF, ..profile.hands.limits };
        let workspace = crate::client::local_workspace(&profile).limited(limits);
        let git = Git { settings: profile.command_settings(), rules, workspace, folder };
        let prefix = git.prefix().await?;
        let subject = match source {
            ReviewSource::Uncommitted => git.uncommitted().await?,
            ReviewSource::Base(base) => {
                let base_commit = git.commit(base).await?;
                let head = git.commit("HEAD").await?;
                if git.run(&format!("git merge-base {base_commit} {head}")).await?.is_none() {
                    let what = format!("{base} and the current branch have no commit in common.");
                    return Err(usage(what, "Name the branch that this one will be merged into.").into());
                }
                git.diff(&format!("git diff {FORM} {base_commit}...{head}")).await?
            }
            ReviewSource::Commit(commit) => {
                let commit = git.commit(commit).await?;
                let show = format!("git show --format= -m --first-parent {FORM} {commit}");
                ReviewSubject { is_past: true, ..git.diff(&show).await? }
            }
        };
        Ok(ReviewSubject { prefix, ..subject })
    }

    /// Composes a request that reviews changes and can only read. Says what the model is not shown.
    pub async fn compose_review(
        &self,
        profile: &Profile,
        folder: &str,
        subject: &ReviewSubject,
        draft: ReviewDraft,
    ) -> Result<(ComposedRequest, Vec<UnreviewedFile>), Problem> {
        let ReviewDraft { mut request, focus, form, reads } = draft;
        let schema = (form == ReviewForm::Findings).then(answer_schema);
        // Nothing in a diff is said by the user, and nobody else is to work on it.
        request.manner = Manner { schema, subtasks: Some(SubtaskStart::Off), piped: true, ..request.manner };
        request.literal = true;
        let composed = Box::pin(self.compose(profile, folder, request)).await?;
        // A model without tools answers best if it is not told of any.
        let reads = reads && composed.settings().models.facts.tools;
        let budget = input_budget(&Request::new(new_request(), "", composed.settings().clone()));
        let prompt = ReviewPrompt { form, focus: &focus, reads, is_past: subject.is_past };
        let (text, shown) = prompt.with(|budget| ShownDiff::within(&subject.diff, budget), budget);
        let left_out = shown.left_out.into_iter().chain(subject.left_out.iter().cloned()).collect();
        let mode = if reads { Mode::Auto } else { Mode::Chat };
        Ok((composed.into_workflow(review_pill(text, mode, &[])), left_out))
    }

    /// The request that a typed `/review` makes: the words of the user after it, perhaps with `--base` or `--commit`.
    pub(crate) async fn called_review(
        &self,
        profile: &Profile,
        folder: &str,
        mut draft: ReviewDraft,
    ) -> Result<ComposedRequest, Problem> {
        let (source, focus) = source_in(&draft.focus)?;
        draft.focus = focus;
        let names_changes = source != ReviewSource::Uncommitted;
        let what = match self.changes_to_review(profile, folder, draft.request.manner.trust, &source).await {
            Ok(subject) if !subject.diff.files.is_empty() => {
                return Ok(self.compose_review(profile, folder, &subject, draft).await?.0);
            }
            Ok(_) if names_changes || draft.focus.is_empty() => {
                let hint =
                    "Name something to review: /review src/main.rs, /review --base main, or /review --commit HEAD.";
                return Err(usage("There are no changes to review.".to_owned(), hint));
            }
            Ok(_) => draft.focus,
            Err(NoDiff::Untrusted | NoDiff::Asks(_)) => source.in_words(&draft.focus),
            Err(NoDiff::Problem(problem)) => return Err(problem),
        };
        // There is no diff, or the user has to be asked for it: the model looks itself, and still edits nothing.
        let mut request = draft.request;
        request.manner.subtasks = Some(SubtaskStart::Off);
        let composed = Box::pin(self.compose(profile, folder, request)).await?;
        Ok(composed.into_workflow(review_pill(ReviewPrompt::of_what(&what), Mode::Auto, &["run_command"])))
    }
}

impl ReviewSource {
    /// The changes as a model finds them.
    fn in_words(&self, focus: &str) -> String {
        let changes = match self {
            Self::Uncommitted => {
                "the uncommitted changes in this folder (`git diff HEAD`, and new files that git does not track)"
                    .to_owned()
            }
            Self::Base(base) => format!("the changes of this branch (`git diff {base}...HEAD`)"),
            Self::Commit(commit) => format!("the commit {commit} (`git show {commit}`)"),
        };
        if focus.is_empty() { changes } else { format!("{changes}, and this above all: {focus}") }
    }
}

fn review_pill(text: String, mode: Mode, more: &[&str]) -> Pill {
    Pill {
        name: "review".to_owned(),
        from: "the built-in review".to_owned(),
        text,
        mode,
        categories: Vec::new(),
        tools: REVIEW_TOOLS.iter().chain(more).map(|name| (*name).to_owned()).collect(),
        skill: None,
    }
}

fn usage(what: String, hint: &str) -> Problem {
    Problem::new(ProblemKind::Usage, what).hint(hint)
}

/// The options of a typed `/review`, and the words after them.
fn source_in(arguments: &str) -> Result<(ReviewSource, String), Problem> {
    let arguments = arguments.trim();
    let (first, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    let named = |make: fn(String) -> ReviewSource| {
        let (name, focus) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        match name {
            "" => Err(usage(format!("{first} needs a revision."), "For example: /review --base main")),
            name => Ok((make(name.to_owned()), focus.trim().to_owned())),
        }
    };
    match first {
        "--base" => named(ReviewSource::Base),
        "--commit" => named(ReviewSource::Commit),
        "--uncommitted" => Ok((ReviewSource::Uncommitted, rest.trim().to_owned())),
        option if option.starts_with("--") => {
            let what = format!("Unknown option {} of /review.", option.chars().take(40).collect::<String>());
            Err(usage(what, "Use --base REVISION, --commit REVISION, or --uncommitted."))
        }
        _ => Ok((ReviewSource::Uncommitted, arguments.to_owned())),
    }
}

/// Git in a folder, behind the fence of commands that only read.
struct Git<'a> {
    settings: trimtab_vocab::RunSettings,
    rules: Vec<trimtab_vocab::Rule>,
    workspace: LocalWorkspace,
    folder: &'a str,
}

impl Git<'_> {
    /// What a command of git prints; none if it says no with its exit code.
    async fn run(&self, line: &str) -> Result<Option<Vec<u8>>, NoDiff> {
        let call = "review".parse().map_err(|_| Problem::new(ProblemKind::Internal, "The command has no name."))?;
        let plan = trimtab_engine::read_command(&self.settings, &self.rules, self.folder, line, call);
        let plan: CommandPlan = plan.map_err(|reason| NoDiff::Asks(reason.to_string()))?;
        let (_, overtime) = mpsc::channel(1);
        let ended = self.workspace.run(&plan, &|_| {}, &StreamController::default(), overtime).await;
        let EndedCommand { ran, output, dropped } = ended;
        if let Some(why) = ran.blocked {
            return Err(NoDiff::Asks(why));
        }
        if let Some(why) = ran.not_started {
            return Err(Problem::new(ProblemKind::Refused, format!("Git cannot be run: {why}"))
                .hint("Send the diff yourself: git diff | trimtab review")
                .into());
        }
        if ran.timed_out || ran.lost || ran.stopped || ran.signal.is_some() {
            let what = format!("`{line}` did not finish within {} s.", plan.run().timeout_s);
            return Err(Problem::new(ProblemKind::Limit, what)
                .hint("Raise commands.timeout_s, or send the diff yourself: git diff | trimtab review")
                .into());
        }
        if dropped > 0 {
            let what = format!("The diff is larger than {} MB.", LARGEST_DIFF >> 20);
            let hint = "Review a part of it: git diff -- FOLDER | trimtab review";
            return Err(Problem::new(ProblemKind::Limit, what).hint(hint).into());
        }
        match ran.exit_code {
            Some(0) => Ok(Some(output)),
            Some(1) => Ok(None),
            _ => {
                let text = String::from_utf8_lossy(&output).into_owned();
                let said = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("git failed");
                let said: String = said.trim_start_matches("fatal: ").chars().take(300).collect();
                Err(usage(format!("Git cannot read the changes: {said}."), "Check the revision and the repository.")
                    .into())
            }
        }
    }

    /// Where the folder is in its repository.
    async fn prefix(&self) -> Result<String, NoDiff> {
        let told = match self.run("git rev-parse --is-inside-work-tree --show-prefix").await {
            Err(NoDiff::Problem(problem)) if problem.message.contains("not a git repository") => None,
            told => told?,
        };
        let told = told.map(|told| String::from_utf8_lossy(&told).into_owned()).unwrap_or_default();
        // Warnings of git come with its output.
        let mut lines = told.lines().skip_while(|line| *line != "true");
        if lines.next() != Some("true") {
            let what = format!("{} is not in the working tree of a git repository.", self.folder);
            let hint = "In a subfolder of a repository, name its top folder with --dir. Or send a diff: git diff | trimtab review";
            return Err(usage(what, hint).into());
        }
        Ok(lines.next().unwrap_or_default().to_owned())
    }

    /// The ID of the commit that a revision names.
    async fn commit(&self, revision: &str) -> Result<String, NoDiff> {
        let unknown = || {
            let shown: String = revision.chars().filter(|c| !c.is_control()).take(80).collect();
            NoDiff::from(usage(
                format!("\"{shown}\" is not a commit of this repository."),
                "Name one branch, tag, or commit. `git branch --all` and `git log --oneline` list them.",
            ))
        };
        if !is_revision(revision) {
            return Err(unknown());
        }
        let found = match self.run(&format!("git rev-parse --verify --quiet '{revision}^{{commit}}'")).await {
            Err(NoDiff::Problem(problem)) if problem.kind == ProblemKind::Usage => None,
            found => found?,
        };
        let found = String::from_utf8_lossy(&found.unwrap_or_default()).into_owned();
        let is_id = |line: &&str| line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
        found.lines().find(is_id).map(str::to_owned).ok_or_else(unknown)
    }

    async fn diff(&self, line: &str) -> Result<ReviewSubject, NoDiff> {
        let text = self.run(line).await?.unwrap_or_default();
        Ok(ReviewSubject { diff: ReviewDiff::parse(&String::from_utf8_lossy(&text)), ..ReviewSubject::default() })
    }

    /// Staged and unstaged changes, and files that git does not track and is not told to ignore.
    async fn uncommitted(&self) -> Result<ReviewSubject, NoDiff> {
        let head = match self.commit("HEAD").await {
            Ok(head) => head,
            // There is no commit yet.
            Err(NoDiff::Problem(problem)) if problem.kind == ProblemKind::Usage => EMPTY_TREE.to_owned(),
            Err(other) => return Err(other),
        };
        let mut subject = self.diff(&format!("git diff {FORM} {head}")).await?;
        let listed = self.run("git ls-files --others --exclude-standard -z").await?.unwrap_or_default();
        let names: Vec<String> = listed
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        let mut left = MOST_NEW_BYTES;
        for (number, path) in names.into_iter().enumerate() {
            let read = match number < MOST_NEW_FILES {
                true => self.new_file(&path, left).await,
                false => Err(UnreviewedReason::TooLarge),
            };
            match read {
                Ok(text) => {
                    left = left.saturating_sub(text.len());
                    subject.diff.files.push(ReviewFile::added(path, &text));
                }
                Err(reason) => subject.left_out.push(UnreviewedFile { file: path, reason }),
            }
        }
        Ok(subject)
    }

    /// The text of a file that git does not track. It is read as a tool would read it: no link out of the folder is
    /// followed, and no secret is shown.
    async fn new_file(&self, path: &str, left: usize) -> Result<String, UnreviewedReason> {
        if path.split('/').any(is_secret) {
            return Err(UnreviewedReason::Secret);
        }
        // A link is no text of its own, and a folder at this place is another repository.
        let itself = self.workspace.itself(self.folder, path).await;
        if path.ends_with('/') || itself.is_some() {
            return Err(UnreviewedReason::NoText);
        }
        let found = self.workspace.read(self.folder, path).await.map_err(|_| UnreviewedReason::Unreadable)?;
        let (bytes, _) = found.content.ok_or(UnreviewedReason::Unreadable)?;
        if found.real.split('/').any(is_secret) {
            return Err(UnreviewedReason::Secret);
        }
        if bytes.len() > LARGEST_NEW_FILE.min(left) {
            return Err(UnreviewedReason::TooLarge);
        }
        let text = String::from_utf8(bytes).map_err(|_| UnreviewedReason::NoText)?;
        if text.contains('\0') { Err(UnreviewedReason::NoText) } else { Ok(text) }
    }
}

/// Whether a text can name a revision, and is neither an option nor a range nor a file of one.
fn is_revision(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "._/@{}~^+-=#%,!".contains(c);
    !text.is_empty()
        && text.len() <= 250
        && !text.starts_with(['-', '^'])
        && !text.contains("..")
        && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_review_is_an_option_or_what_to_look_at() {
        let read = |text: &str| source_in(text).map_err(|problem| problem.message);
        assert_eq!(read(""), Ok((ReviewSource::Uncommitted, "".to_owned())));
        assert_eq!(read(" the error handling "), Ok((ReviewSource::Uncommitted, "the error handling".to_owned())));
        assert_eq!(read("--base main the tests"), Ok((ReviewSource::Base("main".into()), "the tests".to_owned())));
        assert_eq!(read("--commit  HEAD~1"), Ok((ReviewSource::Commit("HEAD~1".into()), "".to_owned())));
        assert_eq!(read("--uncommitted x"), Ok((ReviewSource::Uncommitted, "x".to_owned())));
        assert_eq!(read("--base"), Err("--base needs a revision.".into()));
        assert_eq!(read("--bsae main"), Err("Unknown option --bsae of /review.".into()));
    }

    #[test]
    fn options_ranges_and_shell_words_are_no_revisions() {
        for revision in ["main", "origin/feature/#12", "HEAD~2", "v1.0^2", "HEAD@{1}", "a1b2c3d"] {
            assert!(is_revision(revision), "{revision}");
        }
        for text in
            ["", "-x", "--output=x", "a..b", "a...b", "a b", "a;b", "$(x)", "a'b", "HEAD:x", ":/fix", "a\nb", "^a"]
        {
            assert!(!is_revision(text), "{text}");
        }
    }

    #[test]
    fn a_text_without_a_change_is_nothing_to_review() {
        assert!(ReviewSubject::from_text("hello").is_none());
        let subject = ReviewSubject::from_text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").expect("a diff");
        let answer = r#"{"summary": "s", "findings": [{"file": "x", "line": 1, "severity": "low", "title": "t", "body": "b"},
            {"file": "y", "line": 1, "severity": "low", "title": "t", "body": "b"}]}"#;
        let (summary, checked) = subject.check(answer).expect("an answer");
        assert_eq!((summary.as_str(), checked.findings.len(), checked.not_in_diff.len()), ("s", 1, 1));
        assert!(subject.check("{}").is_none());
    }
}
