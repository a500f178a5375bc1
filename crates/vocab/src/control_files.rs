//! Control files: files and folders that other programs run or obey, also outside of the sandbox. This is the one
//! table of them. Commands cannot write them, edits of them ask, and changes to them are reported.
//!
//! A row is a name, or several joined by `/`, and matches these consecutive parts of a path at any depth and in any
//! case. `*` stands for any run of characters inside one name. Everything beneath a match is a control file as well.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Who runs or obeys a control file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlFile {
    /// This program: its settings in the folder.
    Own,
    /// Version control, which runs programs from there.
    Versions,
    /// Models: instructions that become part of a prompt.
    Instructions,
    /// Other agents: their settings, commands, hooks, and servers.
    Agent,
    /// Editors: tasks, launch files, and settings that name programs.
    Editor,
    /// Continuous integration.
    Pipeline,
    /// Managers of git hooks.
    Hooks,
    /// Package managers, build tools, and version managers: their settings name programs and registries.
    Packages,
    /// Shells and the desktop, at their start.
    Shell,
    /// Programs that people and tools start by this path.
    Program,
}

const TABLE: &[(ControlFile, &[&str])] = &[
    (ControlFile::Own, &[".trimtab"]),
    (
        ControlFile::Versions,
        &[
            ".git",
            "git~1",
            ".gitattributes",
            ".gitmodules",
            ".gitconfig",
            ".config/git",
            ".hg",
            ".hgrc",
            ".svn",
            ".jj",
            ".bzr",
            ".sl",
            ".repo",
        ],
    ),
    (
        ControlFile::Instructions,
        &[
            "AGENTS.md",
            "AGENTS.override.md",
            "AGENT.md",
            "CLAUDE.md",
            "CLAUDE.local.md",
            "GEMINI.md",
            "QWEN.md",
            "CONVENTIONS.md",
            "WARP.md",
            "CRUSH.md",
            "copilot-instructions.md",
            ".cursorrules",
            ".windsurfrules",
            ".clinerules",
            ".roorules",
            ".goosehints",
            ".rules",
        ],
    ),
    (
        ControlFile::Agent,
        &[
            ".agents",
            ".aider.conf.yml",
            ".amazonq",
            ".amp",
            ".augment",
            ".claude",
            ".claude.json",
            ".cline",
            ".codex",
            ".continue",
            ".crush",
            ".crush.json",
            "crush.json",
            ".cursor",
            ".gemini",
            ".goose",
            ".junie",
            ".kilocode",
            ".kiro",
            ".mcp.json",
            "mcp.json",
            ".opencode",
            "opencode.json",
            "opencode.jsonc",
            ".openhands",
            ".qwen",
            ".roo",
            ".roomodes",
            ".trae",
            ".windsurf",
        ],
    ),
    (
        ControlFile::Editor,
        &[
            ".vscode",
            ".vscode-server",
            "*.code-workspace",
            ".vs",
            ".fleet",
            ".idea",
            ".run",
            ".zed",
            ".helix",
            ".nova",
            ".devcontainer",
            ".devcontainer.json",
            ".vim",
            ".vimrc",
            ".gvimrc",
            ".lvimrc",
            ".exrc",
            "_vimrc",
            ".nvimrc",
            ".nvim.lua",
            ".nvim",
            ".config/nvim",
            ".emacs",
            ".emacs.d",
            ".dir-locals.el",
            ".dir-locals-2.el",
            ".gdbinit",
            ".lldbinit",
            "*.sublime-project",
            "*.sublime-workspace",
            ".gitpod.yml",
            ".gitpod",
            ".idx",
        ],
    ),
    (
        ControlFile::Pipeline,
        &[
            ".github",
            ".gitlab",
            ".gitlab-ci.yml",
            ".gitlab-ci.yaml",
            ".gitea",
            ".forgejo",
            ".circleci",
            ".buildkite",
            ".drone.yml",
            ".drone.star",
            ".woodpecker",
            ".woodpecker.yml",
            ".woodpecker.yaml",
            ".travis.yml",
            ".cirrus.yml",
            ".cirrus.star",
            ".appveyor.yml",
            "appveyor.yml",
            "azure-pipelines*.yml",
            "azure-pipelines*.yaml",
            ".azure-pipelines",
            "bitbucket-pipelines.yml",
            "Jenkinsfile*",
            ".semaphore",
            ".teamcity",
            ".builds",
            ".build.yml",
            "cloudbuild.yaml",
            "cloudbuild.yml",
            "buildspec.yml",
            "buildspec.yaml",
            "codemagic.yaml",
            "wercker.yml",
            ".readthedocs.yaml",
            ".readthedocs.yml",
            "netlify.toml",
            "vercel.json",
            "renovate.json",
            ".renovaterc*",
        ],
    ),
    (
        ControlFile::Hooks,
        &[
            ".husky",
            ".githooks",
            "githooks",
            ".git-hooks",
            ".huskyrc*",
            ".lefthook",
            "lefthook*.yml",
            "lefthook*.yaml",
            "lefthook*.toml",
            ".lefthook*.yml",
            ".lefthook*.yaml",
            ".lefthook*.toml",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            ".pre-commit-hooks.yaml",
            ".overcommit.yml",
            ".captainhook.json",
            "captainhook.json",
            ".simple-git-hooks*",
            "simple-git-hooks*",
            ".lintstagedrc*",
            "lint-staged.config.*",
        ],
    ),
    (
        ControlFile::Packages,
        &[
            ".npmrc",
            ".pnpmfile.cjs",
            ".pnpmfile.mjs",
            "pnpmfile.js",
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn/releases",
            ".yarn/plugins",
            ".pnp.cjs",
            ".pnp.loader.mjs",
            "bunfig.toml",
            ".cargo",
            ".bundle",
            ".gemrc",
            ".mvn",
            ".m2/settings.xml",
            ".gradle/init.d",
            ".gradle/gradle.properties",
            "init.gradle",
            "pip.conf",
            ".pip",
            ".condarc",
            "sitecustomize.py",
            "usercustomize.py",
            ".envrc",
            ".direnv",
            ".mise.toml",
            ".mise.*.toml",
            "mise.toml",
            "mise.*.toml",
            ".mise",
            ".config/mise",
            ".config/mise.toml",
            ".rtx.toml",
            ".tool-versions",
            ".nvmrc",
            ".node-version",
            ".python-version",
            ".ruby-version",
            ".sdkmanrc",
            ".bazelrc",
            ".bazeliskrc",
            ".buckconfig",
            "rust-toolchain",
            "rust-toolchain.toml",
            ".clangd",
            "devenv.nix",
            ".envrc.*",
            ".hermit",
            ".proto",
            ".prototools",
            ".volta",
        ],
    ),
    (
        ControlFile::Shell,
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".zsh",
            ".oh-my-zsh",
            ".kshrc",
            ".mkshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
            ".xprofile",
            ".xinitrc",
            ".xsession",
            ".xsessionrc",
            ".inputrc",
            ".pam_environment",
            ".tmux.conf",
            ".screenrc",
            ".wezterm.lua",
            ".config/fish",
            "config.fish",
            ".config/environment.d",
            ".config/systemd",
            ".config/autostart",
            "autostart",
            ".config/plasma-workspace",
            ".config/tmux",
            ".config/kitty",
            ".config/wezterm",
            ".config/alacritty",
            ".local/share/systemd",
            ".local/share/applications",
            "Library/LaunchAgents",
            "Microsoft.PowerShell_profile.ps1",
            "profile.ps1",
        ],
    ),
    (
        ControlFile::Program,
        &[
            ".venv/bin",
            ".venv/Scripts",
            "venv/bin",
            "venv/Scripts",
            ".virtualenv/bin",
            "node_modules/.bin",
            "vendor/bin",
            ".local/bin",
            "gradlew",
            "gradlew.bat",
            "gradle/wrapper",
            "mvnw",
            "mvnw.cmd",
            ".hooks",
        ],
    ),
];

/// What a row asks of the parts of a path.
struct ControlFileRow {
    kind: ControlFile,
    /// The names before the last one, in lower case.
    above: Vec<String>,
    /// The last name, in lower case, for rows with a `*`.
    pattern: String,
}

struct ControlFileTable {
    named: HashMap<String, Vec<ControlFileRow>>,
    patterns: Vec<ControlFileRow>,
}

static ROWS: LazyLock<ControlFileTable> = LazyLock::new(|| {
    let mut rows = ControlFileTable { named: HashMap::new(), patterns: Vec::new() };
    for (kind, names) in TABLE {
        for name in *names {
            let mut parts: Vec<String> = name.split('/').map(str::to_lowercase).collect();
            let Some(last) = parts.pop() else { continue };
            let row = ControlFileRow { kind: *kind, above: parts, pattern: last.clone() };
            match last.contains('*') {
                true => rows.patterns.push(row),
                false => rows.named.entry(last).or_default().push(row),
            }
        }
    }
    rows
});

/// Whether `path`, relative and with `/` between its parts, is a control file or lies in a control folder.
pub fn control_file(path: &str) -> Option<ControlFile> {
    let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty() && *part != ".").map(folded).collect();
    (0..parts.len()).find_map(|last| ends_in_control(&parts[..last], &parts[last]))
}

/// Whether the entry `name` of a folder is itself a control file; `above` are the names of the folders it lies in,
/// outermost first. For walks, which meet the outermost control folder first.
pub fn control_entry(above: &[String], name: &str) -> Option<ControlFile> {
    ends_in_control(above, &folded(name))
}

/// A name as the table compares it: in lower case, without what some file systems ignore.
fn folded(name: &str) -> String {
    // Windows drops trailing dots and spaces; HFS+ ignores zero-width characters, by which `.g\u{200c}it` is `.git`.
    let plain: String = name.chars().filter(|c| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}')).collect();
    plain.trim_end_matches(['.', ' ']).to_lowercase()
}

fn ends_in_control(above: &[String], name: &str) -> Option<ControlFile> {
    let fits = |row: &&ControlFileRow| {
        above.len() >= row.above.len() && above[above.len() - row.above.len()..] == row.above[..]
    };
    let named = ROWS.named.get(name).into_iter().flatten().find(fits);
    let row = named.or_else(|| ROWS.patterns.iter().filter(|row| is_like(name, &row.pattern)).find(fits));
    row.map(|row| row.kind)
}

/// Whether `name` fits a pattern with one `*`.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else { return name == pattern };
    name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_files_are_known_at_any_depth_and_in_any_case() {
        for (path, kind) in [
            (".git/config", ControlFile::Versions),
            ("lib/sub/.GIT/hooks/pre-commit", ControlFile::Versions),
            (".g\u{200c}it/config", ControlFile::Versions),
            (".git./config", ControlFile::Versions),
            ("docs/Agents.MD", ControlFile::Instructions),
            (".github/workflows/ci.yml", ControlFile::Pipeline),
            ("azure-pipelines.release.yml", ControlFile::Pipeline),
            ("Jenkinsfile", ControlFile::Pipeline),
            ("my.code-workspace", ControlFile::Editor),
            ("a/.vscode/tasks.json", ControlFile::Editor),
            ("web/node_modules/.bin/tsc", ControlFile::Program),
            (".venv/bin/activate", ControlFile::Program),
            ("lefthook-local.yml", ControlFile::Hooks),
            (".husky/_/pre-commit", ControlFile::Hooks),
            (".cargo/config.toml", ControlFile::Packages),
            ("./.envrc", ControlFile::Packages),
            (".config/fish/conf.d/x.fish", ControlFile::Shell),
            (".mcp.json", ControlFile::Agent),
            (".trimtab/config.toml", ControlFile::Own),
        ] {
            assert_eq!(control_file(path), Some(kind), "{path}");
        }
    }

    #[test]
    fn ordinary_files_and_build_outputs_are_none() {
        for path in [
            "src/main.rs",
            "target/debug/app",
            "node_modules/.cache/x",
            "node_modules/left-pad/index.js",
            ".venv/lib/python3/site.py",
            "dist/app.js",
            ".pytest_cache/v",
            "coverage/lcov.info",
            "README.md",
            "git/config.rs",
            ".gitignore",
            "bin/tool",
            "",
        ] {
            assert_eq!(control_file(path), None, "{path}");
        }
    }

    #[test]
    fn a_walk_meets_the_outermost_control_folder() {
        assert_eq!(control_entry(&[], ".github"), Some(ControlFile::Pipeline));
        assert_eq!(control_entry(&["web".into(), "node_modules".into()], ".bin"), Some(ControlFile::Program));
        assert_eq!(control_entry(&["bin".into()], "x"), None);
    }

    #[test]
    fn every_row_is_found_by_its_own_name() {
        for (kind, names) in TABLE {
            for name in *names {
                let path = name.replace('*', "x");
                assert!(control_file(&path).is_some(), "{kind:?} {path}");
                assert!(control_file(&format!("a/b/{path}/c")).is_some(), "{kind:?} {path}");
            }
        }
    }
}
