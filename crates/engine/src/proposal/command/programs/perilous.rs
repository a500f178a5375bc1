//! Programs that ask each time, regardless of the rules: those that delete, those that change privileges, and those
//! whose words do not show what will run.

use trimtab_vocab::wording::CommandReason;

use super::super::word::{Word, among};
use super::super::wrap::{WrappedCommand, code_flags, inner, is_shell};
use super::TableFinding;

/// They delete or overwrite, and a delete can be allowed once only.
const DELETES: &str = "rm rmdir unlink shred srm truncate dd rimraf trash wipe mkfs fdisk parted wipefs del-cli sponge";
/// They take rights that the sandbox and the user have not given.
const RIGHTS: &str = "sudo doas su pkexec runuser chroot unshare nsenter setcap visudo passwd";
/// What they run is not in their words, or is parsed again by another program.
const RUNS: &str = "env xargs parallel eval exec source . trap alias unalias command builtin busybox toybox watch ssh at batch \
    crontab tmux screen expect entr systemd-run osascript gdb lldb set export unset declare typeset local \
    readonly shopt enable bind hash printf read mapfile readarray let complete compgen fc history getopts coproc \
    return exit logout kill killall pkill disown bg fg jobs wait suspend umask ulimit cd pushd popd dirs";
/// Their script could run or write anything: they ask unless a rule names exactly that script.
const TEXTS: &str = "sed gsed awk gawk mawk nawk less more man vi vim nvim ex ed emacs nano tee tar gtar bsdtar zip unzip rsync \
    scp sftp ftp nc ncat netcat socat telnet openssl ln chmod chown chgrp install patch docker podman kubectl \
    terraform helm aws gcloud az gh systemctl service apt apt-get brew npx bunx pnpx nohup timeout nice setsid \
    stdbuf time strace script flock rustc gcc cc clang ld javac java mvn gradle dotnet msbuild rustup gem bundle \
    composer deno bun uv poetry pipenv hatch tox nox mise direnv nix mount umount reboot shutdown halt poweroff \
    sqlite3 psql mysql mongo redis-cli code open xdg-open";

/// What is known of a perilous program; `None` for any other.
pub(super) fn judge(name: &str, argv: &[String], folder: &str, layer: usize) -> Option<TableFinding> {
    let stem = name.split('.').next().unwrap_or(name);
    if among(DELETES, name) || stem == "mkfs" {
        return Some(TableFinding::Never(CommandReason::DeletesFiles(name.into())));
    }
    if among(RIGHTS, name) {
        return Some(TableFinding::Never(CommandReason::ChangesPrivileges(name.into())));
    }
    if among(RUNS, name) {
        return Some(TableFinding::Never(CommandReason::RunsOtherCommands(name.into())));
    }
    if is_shell(name) {
        return Some(TableFinding::Never(CommandReason::IsShell(name.into())));
    }
    if name == "trimtab" {
        return Some(TableFinding::Never(CommandReason::RunsItself));
    }
    let words: Vec<Word> = argv.iter().map(Word::plain).collect();
    for found in inner(&words, folder) {
        match found {
            WrappedCommand::Code(_) => return Some(TableFinding::Never(CommandReason::InlineCode(name.into()))),
            WrappedCommand::Script(_) => return Some(TableFinding::Never(CommandReason::PassesToShell(name.into()))),
            // What a wrapper runs decides whether a rule may vouch for the whole.
            WrappedCommand::Argv(words) => {
                let argv: Vec<String> = words.into_iter().map(|word| word.text).collect();
                if let TableFinding::Never(reason) = super::judge(&argv, folder, 1, layer + 1) {
                    return Some(TableFinding::Never(reason));
                }
            }
        }
    }
    let fed = argv.len() == 1 || argv.iter().skip(1).any(|arg| arg == "-" || arg == "/dev/stdin");
    if code_flags(name).is_some() && fed {
        return Some(TableFinding::Never(CommandReason::CodeFromInput(name.into())));
    }
    git_perils(name, argv)
        .or_else(|| among(TEXTS, name).then(|| TableFinding::Unsafe(CommandReason::ArbitraryPrograms(name.into()))))
}

/// Subcommands of `git` that lose something, and options that make it run something.
fn git_perils(name: &str, argv: &[String]) -> Option<TableFinding> {
    if name != "git" {
        return None;
    }
    let has = |flags: &[&str]| argv.iter().any(|arg| flags.contains(&arg.as_str()));
    let sub = argv.get(1).map(String::as_str)?;
    if matches!(sub, "-c" | "-C" | "--exec-path" | "--git-dir" | "--work-tree" | "--config-env")
        || sub.starts_with("--exec-path=")
    {
        return Some(TableFinding::Never(CommandReason::GitOverrides(sub.into())));
    }
    let loses = match sub {
        "rm" | "clean" => true,
        "branch" | "tag" => has(&["-d", "-D", "--delete"]),
        "reset" => has(&["--hard"]),
        "push" => has(&["-d", "--delete", "-f", "--force", "--mirror", "--prune"]),
        "stash" => has(&["drop", "clear"]),
        "worktree" | "remote" => has(&["remove", "rm", "prune"]),
        "filter-branch" | "update-ref" => argv.len() > 2,
        "reflog" => has(&["expire", "delete", "drop"]),
        _ => false,
    };
    loses.then(|| TableFinding::Never(CommandReason::GitDeletes(sub.into())))
}
