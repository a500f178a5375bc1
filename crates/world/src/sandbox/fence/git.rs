//! Keeps git from running other programs. A repository's own settings name programs for many things: to watch files,
//! to filter and convert them, to show differences, to check signatures. A user who has only unpacked a folder has
//! not agreed to any of them, and an automatic command was not approved by anyone.
//!
//! So before such a command starts, git is asked for its settings, which runs nothing. Settings that are known to be
//! harmless stay, and some of the others can be overridden so that no program runs. For any other setting, the user
//! is asked, with its name.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use trimtab_vocab::sensitive_paths;

use super::super::wire::RunOrder;

/// Settings that override those of the repository.
const SET: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
    ("log.diffMerges", "separate"),
    ("safe.bareRepository", "explicit"),
    // A submodule has its own settings, which git would obey when it reads the submodule's files.
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
];

/// Variables that keep it from fetching what is missing, and from writing while it only looks.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ACROSS_MOUNTS,
];

/// In the fence, the folder is a mount, and its repository may begin further up.
pub(super) const ACROSS_MOUNTS: (&str, &str) = ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1");

/// Variables that would start something, or put other settings into force.
pub(super) const REMOVED: &[&str] =
    &["GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_DIR", "GIT_WORK_TREE", "GIT_SSH_COMMAND"];

/// Bytes of settings that are read, and programs that are overridden, at most.
const MOST_BYTES: usize = 1 << 20;
const MOST_OVERRIDES: usize = 200;

/// The effect of a setting on a read-only command.
#[derive(Debug, PartialEq, Eq)]
enum GitSettingEffect {
    Harmless,
    /// It starts nothing if it has this value instead.
    Override(&'static str),
    /// The user has to be asked.
    Unknown,
}

/// The environment with which git, started in the folders of this order, runs nothing that a repository names; or why
/// that is not possible.
pub(super) fn variables(order: &RunOrder) -> Result<Vec<(String, String)>, String> {
    if !order.git.plain {
        return Ok(Vec::new());
    }
    let attributes = order.automatic.map(|_| attributes(order)).transpose()?;
    let mut all: Vec<(String, &str)> = set();
    all.extend(attributes.as_deref().map(|file| ("core.attributesFile".to_owned(), file)));
    let folders = if order.git.folders.is_empty() { std::slice::from_ref(&order.cwd) } else { &order.git.folders };
    // Where the user or the engine has said so on the command line, no setting counts.
    let says = |flag: &str| order.argv.iter().any(|word| word == flag);
    // A folder that is not there is not entered either, and git then runs further up.
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for (name, value) in settings(folder, &["config", "--list", "-z"], true)? {
            match meaning(&name, &value) {
                GitSettingEffect::Harmless => {}
                GitSettingEffect::Override(_) if is_external_diff(&name) => {
                    if !says("--no-ext-diff") && order.argv.iter().any(|word| word.contains("diff")) {
                        return Err(blocked(&name));
                    }
                }
                GitSettingEffect::Override(value) => all.push((name, value)),
                GitSettingEffect::Unknown => return Err(blocked(&name)),
            }
        }
        if order.automatic.is_some() {
            shows_only_named_files(folder, &order.argv.join(" "))?;
        }
        if !says("--ignore-submodules=dirty") {
            all.extend(submodules(folder)?);
        }
        if all.len() > MOST_OVERRIDES {
            return Err("The repository's git settings name too many programs.".into());
        }
    }
    let fixed = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Ok(fixed.chain(overriding(&all)).collect())
}

fn set() -> Vec<(String, &'static str)> {
    SET.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// The variables that put settings into force.
fn overriding(settings: &[(String, &str)]) -> Vec<(String, String)> {
    let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string())];
    for (number, (name, value)) in settings.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}"), name.clone()));
        variables.push((format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned()));
    }
    variables
}

fn blocked(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    format!("The repository's git setting {name} is not known to be harmless.")
}

/// Keeps git from looking into submodules, even if `.gitmodules` says otherwise. Git takes that file from the index
/// or from the last commit if the folder does not have it.
fn submodules(folder: &Path) -> Result<Vec<(String, &'static str)>, String> {
    let sources: &[&[&str]] = &[
        &["config", "-f", ".gitmodules", "--list", "-z"],
        &["config", "--blob", ":.gitmodules", "--list", "-z"],
        &["config", "--blob", "HEAD:.gitmodules", "--list", "-z"],
    ];
    let Some(top) = top(folder) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for source in sources {
        // What the folder has must be readable; whether the index or the last commit has it is what git is asked here.
        let is_there = source.contains(&"-f") && top.join(".gitmodules").symlink_metadata().is_ok();
        for (name, _) in settings(&top, source, is_there)? {
            let submodule = name.strip_prefix("submodule.").and_then(|rest| rest.rsplit_once('.'));
            if let Some((submodule, _)) = submodule {
                found.push((format!("submodule.{submodule}.ignore"), "dirty"));
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The folder that holds the repository's files.
fn top(folder: &Path) -> Option<std::path::PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}

/// The settings that git lists, as names and values. Output that cannot be parsed is an error. A missing git is not,
/// because then nothing obeys its settings. Outside of a repository, and in one whose owner git does not trust, git
/// lists and obeys only the user's settings.
fn settings(folder: &Path, arguments: &[&str], must_succeed: bool) -> Result<Vec<(String, String)>, String> {
    let Some(done) = ask(folder, arguments)? else { return Ok(Vec::new()) };
    if must_succeed && !done.status.success() {
        return Err("The repository's git settings cannot be read: git itself fails at them.".into());
    }
    if done.stdout.len() > MOST_BYTES {
        return Err("The repository's git settings are too long to be checked.".into());
    }
    let listed = String::from_utf8(done.stdout);
    let listed = listed.map_err(|_| "The repository's git settings are not valid UTF-8.".to_owned())?;
    let entries = listed.split_terminator('\0').map(|entry| entry.split_once('\n').unwrap_or((entry, "")));
    Ok(entries.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Git's output; none if there is no git.
fn ask(folder: &Path, arguments: &[&str]) -> Result<Option<Output>, String> {
    #[expect(clippy::disallowed_methods, reason = "it is asked from behind the fences, and runs nothing else")]
    let mut git = Command::new("git");
    for name in REMOVED {
        git.env_remove(name);
    }
    // To read a file of the index, git would start what watches files.
    git.envs(VARIABLES.iter().copied()).envs(overriding(&set()));
    git.args(arguments).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null());
    match git.output() {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("The repository's git settings cannot be asked for: {error}.")),
    }
}

/// A file of attributes with which git shows of files that usually hold secrets only that they differ, also where they
/// were deleted long ago.
fn attributes(order: &RunOrder) -> Result<String, String> {
    let file = order.fence.temp.as_ref().map(|temp| temp.join(".gitattributes"));
    let file = file.ok_or("There is no place to tell git which files hold secrets.")?;
    #[expect(clippy::disallowed_methods, reason = "it is in the command's own temporary folder")]
    std::fs::write(&file, attribute_lines())
        .map_err(|error| format!("Git cannot be told which files hold secrets: {error}."))?;
    let file = file.into_os_string().into_string();
    file.map_err(|_| "The temporary folder's name is not valid UTF-8.".to_owned())
}

fn attribute_lines() -> String {
    // Git compares attributes by case.
    let in_any_case = |c: char| match c.is_ascii_alphabetic() {
        true => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
        false => c.to_string(),
    };
    let spelled = |name: &&str| name.chars().map(in_any_case).collect::<String>();
    // The folder's own settings hold no keys.
    let names = sensitive_paths::SECRET_NAMES
        .iter()
        .chain(sensitive_paths::SECRET_PATTERNS)
        .filter(|name| **name != ".trimtab");
    let names = names.map(&spelled);
    let hidden = names.map(|name| format!("{name} -diff\n**/{name}/** -diff\n"));
    let shown = sensitive_paths::EXAMPLE_PATTERNS.iter().map(|name| format!("{} !diff\n", spelled(name)));
    let inside = sensitive_paths::SECRETS_IN.iter().map(|(folder, name)| {
        let (folder, name) = (spelled(folder), spelled(name));
        format!("**/{folder}/{name} -diff\n")
    });
    hidden.chain(shown).chain(inside).collect()
}

/// Commands of git that take a file by its hash.
const PRINTING: &[&str] = &["cat-file", "diff", "show"];

/// Git knows what a file is called only where it is not named by its hash.
fn shows_only_named_files(folder: &Path, line: &str) -> Result<(), String> {
    let is_made_up = ["xargs", "$(", "`", "-exec"].iter().any(|word| line.contains(word));
    let words = line.split(|c: char| c.is_whitespace() || "$()`|;&\"'".contains(c)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    // Options may stand between the two.
    let prints = |at: usize| words[at] == "git" && words[at..].iter().take(4).any(|word| PRINTING.contains(word));
    if is_made_up && (0..words.len()).any(prints) {
        return Err("Git could show a file that holds secrets by its hash.".into());
    }
    let is_hash = |word: &&str| word.len() >= 4 && word.chars().all(|c| c.is_ascii_hexdigit());
    let hashes: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_hash).collect();
    for hash in hashes {
        // A hash that is not an object of the repository is never shown.
        let kind = ask(folder, &["cat-file", "-t", hash])?.map(|done| done.stdout);
        if kind.is_some_and(|kind| kind.starts_with(b"blob")) {
            return Err(format!("Git shows the file {hash} without its name, and it could hold secrets."));
        }
    }
    Ok(())
}

fn is_external_diff(name: &str) -> bool {
    name.starts_with("diff.") && (name.ends_with(".command") || name == "diff.external")
}

/// Sections of which every name is harmless to commands that only look: they are about other commands (commit, push,
/// fetch), about colors and advice, or belong to other programs.
const SECTIONS: &str = "advice am apply author branch browser bundle checkout clean clone color column commit commitgraph \
    committer completion credential delta difftool dircolors fastimport feature fetch fsck gc gh gitbutler gitflow github gui \
    guitool help http hub i18n imap include includeif init instaweb interactive lfs magit maintenance man mergetool notes \
    ofs pack pager promisor protocol pull push rebase receive remote repack rerere revert safe sendemail sequence stash \
    svn svn-remote tar trailer transfer uploadarchive url user versionsort vscode web worktree alias ghq gitlab guess core-js \
    codespaces lfstransfer";

/// Names of other sections. A `*` matches a name that the repository has chosen.
const NAMES: &str = "blame.blankboundary blame.coloring blame.date blame.showemail blame.showroot blame.markignoredlines \
    blame.markunblamablelines core.abbrev core.attributesfile core.autocrlf core.bare core.bigfilethreshold core.checkstat \
    core.commentchar core.commentstring core.commitgraph core.compression core.createobject core.deltabasecachelimit \
    core.editor core.eol core.excludesfile core.filemode core.fscache core.fsync core.fsyncmethod core.fsyncobjectfiles \
    core.fsmonitor core.gitproxy core.hidedotfiles core.hookspath core.ignorecase core.ignorestat core.logallrefupdates \
    core.longpaths core.loosecompression core.multipackindex core.notesref core.packedgitlimit core.packedgitwindowsize \
    core.pager core.precomposeunicode core.preloadindex core.protecthfs core.protectntfs core.quotepath core.repositoryformatversion \
    core.safecrlf core.sharedrepository core.sparsecheckout core.sparsecheckoutcone core.splitindex core.sshcommand \
    core.symlinks core.trustctime core.untrackedcache core.usereplacerefs core.warnambiguousrefs core.whitespace \
    core.askpass diff.algorithm diff.autorefreshindex diff.colormoved diff.colormovedws diff.context diff.dirstat \
    diff.guitool diff.ignoresubmodules diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix diff.noprefix \
    diff.orderfile diff.relative diff.renamelimit diff.renames diff.srcprefix diff.dstprefix diff.statgraphwidth \
    diff.statnamewidth diff.submodule diff.suppressblankempty diff.tool diff.wordregex diff.wserrorhighlight diff.trustexitcode \
    diff.*.binary diff.*.cachetextconv diff.*.xfuncname diff.*.funcname diff.*.wordregex diff.*.algorithm \
    diff.*.trustexitcode extensions.compatobjectformat extensions.noop extensions.objectformat extensions.partialclone \
    extensions.preciousobjects extensions.refstorage extensions.worktreeconfig format.attach format.coverletter \
    format.headers format.notes format.numbered format.signoff format.suffix format.subjectprefix format.thread format.to \
    grep.column grep.extendedregexp grep.fallbacktonoindex grep.fullname grep.linenumber grep.patterntype grep.threads \
    gpg.format gpg.mintrustlevel gpg.ssh.allowedsignersfile gpg.ssh.revocationfile index.recordendofindexentries \
    index.recordoffsettable index.skiphash index.sparse index.threads index.version log.abbrevcommit log.date log.decorate \
    log.diffmerges log.excludedecoration log.follow log.graphcolors log.initialdecorationset log.mailmap log.showroot \
    log.showsignature log.diffmerges mailmap.blob mailmap.file merge.autostash merge.branchdesc merge.conflictstyle \
    merge.defaulttoupstream merge.directoryrenames merge.ff merge.guitool merge.log merge.renamelimit merge.renames \
    merge.renormalize merge.stat merge.suppressdest merge.tool merge.verbosity merge.verifysignatures merge.*.name \
    merge.*.driver merge.*.recursive showbranch.default status.aheadbehind status.branch status.displaycommentprefix \
    status.relativepaths status.renamelimit status.renames status.short status.showstash status.showuntrackedfiles \
    status.submodulesummary submodule.active submodule.alternateerrorstrategy submodule.alternatelocation submodule.fetchjobs \
    submodule.propagatebranches submodule.recurse submodule.*.active submodule.*.branch submodule.*.fetchrecursesubmodules \
    submodule.*.ignore submodule.*.update submodule.*.url submodule.*.path tag.forcesignannotated tag.gpgsign";

/// What one setting means. Names come from git in small letters, but for what a repository has chosen.
fn meaning(name: &str, value: &str) -> GitSettingEffect {
    let Some((section, rest)) = name.split_once('.') else { return GitSettingEffect::Unknown };
    let last = rest.rsplit('.').next().unwrap_or(rest);
    let is_chosen = rest.contains('.');
    match (section, last) {
        ("diff", "textconv") if is_chosen => return GitSettingEffect::Override("cat"),
        ("diff", "external") if !is_chosen => return GitSettingEffect::Override(""),
        ("diff", "command") if is_chosen => return GitSettingEffect::Override(""),
        ("filter", "clean" | "smudge" | "process") => return GitSettingEffect::Override(""),
        ("filter", "required") => return GitSettingEffect::Override("false"),
        ("gpg", "program" | "defaultkeycommand") => return GitSettingEffect::Override("false"),
        ("blame", "ignorerevsfile") => return GitSettingEffect::Override(""),
        // A format may ask for signatures. Formats by name are not used by what runs automatically.
        ("format", "pretty") => return GitSettingEffect::Override("medium"),
        ("pretty", _) => return GitSettingEffect::Harmless,
        // Further keys are only added to these, so that a signature among them cannot be overridden.
        ("branch" | "tag", "sort") if !is_chosen && value.contains("signature") => return GitSettingEffect::Unknown,
        ("branch" | "tag", "sort") if !is_chosen => return GitSettingEffect::Harmless,
        _ => {}
    }
    let general = if is_chosen { format!("{section}.*.{last}") } else { name.to_owned() };
    let among = |table: &str, word: &str| table.split_ascii_whitespace().any(|entry| entry == word);
    if among(SECTIONS, section) || among(NAMES, name) || among(NAMES, &general) {
        GitSettingEffect::Harmless
    } else {
        GitSettingEffect::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyday_settings_are_harmless_and_programs_are_overridden_or_asked_about() {
        for name in [
            "user.name",
            "user.signingkey",
            "core.bare",
            "core.repositoryformatversion",
            "remote.origin.url",
            "remote.origin.fetch",
            "branch.main.merge",
            "branch.feature/x.y.remote",
            "init.defaultbranch",
            "pull.rebase",
            "lfs.repositoryformatversion",
            "credential.helper",
            "alias.st",
            "submodule.lib.url",
            "merge.conflictstyle",
            "diff.colormoved",
            "safe.directory",
            "core.pager",
            "pretty.mine",
        ] {
            assert_eq!(meaning(name, "x"), GitSettingEffect::Harmless, "{name}");
        }
        for name in ["filter.lfs.clean", "filter.lfs.process", "diff.x.textconv", "diff.external", "diff.a.b.command"] {
            assert!(matches!(meaning(name, "x"), GitSettingEffect::Override(_)), "{name}");
        }
        for name in ["gpg.program", "gpg.ssh.program", "format.pretty", "filter.x.required"] {
            assert!(matches!(meaning(name, "x"), GitSettingEffect::Override(_)), "{name}");
        }
        for name in ["core.worktree", "uploadpack.packobjectshook", "made.up", "nodot", "diff.x.new", "core.new"] {
            assert_eq!(meaning(name, "x"), GitSettingEffect::Unknown, "{name}");
        }
        assert_eq!(meaning("branch.sort", "-signature"), GitSettingEffect::Unknown);
        assert_eq!(meaning("tag.sort", "-version:refname"), GitSettingEffect::Harmless);
    }
}
