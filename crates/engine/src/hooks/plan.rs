//! How a hook runs: its command line, its fence, and its input.

use trimtab_vocab::{CallId, CommandClass, CommandPlan, CommandRun, HookEvent, ListedHook, Sandbox};

use crate::permit;
use crate::record::Session;

/// Bytes of one argument. The system takes 128 KB.
const CHUNK: usize = 96 * 1024;
/// What stands between what a hook writes to standard output and the rest: its exit code, and what it writes to standard
/// error. It is not a secret: the last one counts, standard output ends before it, and standard error, which may repeat what a
/// model wrote, cannot have its first character.
pub(super) const MARK: &str = "\u{1e}trimtab-hook ";

/// Gives a hook its text on standard input, and tells standard output, exit code, and standard error apart: a command has
/// one output. The first argument is the folder, and the text is in the others, because one argument is too short for it.
const SCRIPT: &str = r#"folder=$1; shift
CLAUDE_PROJECT_DIR=$folder; TRIMTAB_PROJECT_DIR=$folder; export CLAUDE_PROJECT_DIR TRIMTAB_PROJECT_DIR
exec 3>&1
errors=$({ printf %s "$@" | /bin/sh -c "$0" 2>&1 >&3 3>&-; printf '\n\036trimtab-hook %s\n' "$?" >&3; } | { head -c 16384; cat >/dev/null; } | tr -d '\036')
printf %s "$errors""#;

/// The plan for a hook. The user's own hooks run like their own programs, as other agents run them. A hook of a project
/// stays in the fence of a command that nobody was asked about: it can write in the folder only where undo covers that,
/// which is after a tool.
pub(super) fn of(
    session: &Session,
    run: &CallId,
    hook: &ListedHook,
    event: HookEvent,
    text: &str,
) -> Option<CommandPlan> {
    let folder = session.folder().unwrap_or_default().to_owned();
    let mut argv = ["/bin/sh", "-c", SCRIPT, &hook.command, &folder].map(str::to_owned).to_vec();
    argv.extend(chunks(text).map(str::to_owned));
    let class = if event == HookEvent::PostToolUse { CommandClass::Check } else { CommandClass::Read };
    let run = CommandRun {
        call: run.clone(),
        command: hook.command.clone(),
        argv,
        cwd: folder.clone(),
        timeout_s: hook.timeout_s,
        attended: false,
        archive: false,
        plain_git: false,
        git_folders: Vec::new(),
        terminal: false,
        background: false,
        sandbox: if hook.project { Sandbox::Workspace } else { Sandbox::Off },
        automatic: hook.project.then_some(class),
        writes_repository: false,
        hosts: Vec::new(),
        folder,
    };
    permit::hook(run)
}

fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (chunk, more) = rest.split_at(rest.floor_char_boundary(CHUNK.min(rest.len())));
        rest = more;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_passed_in_pieces_and_nothing_is_lost() {
        let text = "é".repeat(CHUNK);
        let pieces: Vec<&str> = chunks(&text).collect();
        assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.len() <= CHUNK));
        assert_eq!(pieces.concat(), text);
        assert_eq!(chunks("").count(), 0);
    }

    #[test]
    fn the_script_and_the_reader_mean_the_same_mark() {
        assert!(SCRIPT.contains(&MARK.replace('\u{1e}', "\\036")));
    }
}
