//! The default list of commands that run automatically: the documented list, read-only programs, and checks and
//! builds that are equivalent to `cargo test` and `npm run`.
//!
//! The second list counts only as far as the programs' tables know the arguments to be safe; no setting loosens it. A
//! list in the settings replaces all of it.

use super::word::among;
use super::{programs, rules};

/// The prefixes that the documents allow from the start.
pub fn default_allow() -> &'static [&'static str] {
    &[
        "npm install",
        "npm run",
        "npm test",
        "yarn install",
        "yarn add",
        "yarn test",
        "yarn build",
        "pnpm install",
        "pnpm run",
        "git status",
        "git diff",
        "git log",
        "git branch",
        "ls",
        "pwd",
        "cat",
        "head",
        "tail",
        "grep",
        "find",
        "mkdir",
        "touch",
        "echo",
        "curl",
        "wget",
        "cp",
        "mv",
        "tsc",
        "tsc --noEmit",
        "python",
        "python3",
        "pip install",
        "pip3 install",
        "cargo build",
        "cargo run",
        "cargo test",
        "cargo check",
        "go build",
        "go run",
        "go test",
    ]
}

/// Programs that only look, or only change the place that the next part of the line looks at. Words with blanks
/// between them; a rule of several words has its own line below.
const READERS: &str = "wc sort uniq cut tr nl tac rev fold expand unexpand fmt column paste comm join basename dirname \
    realpath readlink stat file du df diff cmp md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum od \
    hexdump xxd tree rg fd fdfind egrep fgrep jq sed awk gawk mawk date which type true false : test [ printf cd seq \
    uname nproc arch free uptime whoami id hostname groups logname tty xargs strings base64 base32 zcat bzcat xzcat tar \
    unzip";

/// The same with a subcommand, and the checks and builds of a folder's own code, which run as `cargo test` does: in
/// the sandbox. Each has a table; what that does not know asks.
const MORE: &[&str] = &[
    "command -v",
    "git show",
    "git blame",
    "git rev-parse",
    "git rev-list",
    "git ls-files",
    "git ls-tree",
    "git tag",
    "git describe",
    "git shortlog",
    "git merge-base",
    "git name-rev",
    "git cat-file",
    "git count-objects",
    "git grep",
    "git reflog",
    "git remote",
    "git stash list",
    "git stash show",
    "git show-ref",
    "git for-each-ref",
    "git check-ignore",
    "git diff-tree",
    "git whatchanged",
    "git worktree list",
    "git config",
    "node",
    "nodejs",
    "cargo clippy",
    "cargo fmt",
    "cargo doc",
    "cargo bench",
    "cargo nextest",
    "cargo tree",
    "cargo metadata",
    "go vet",
    "go fmt",
    "go mod tidy",
    "go mod verify",
    "go mod graph",
    "go list",
    "go version",
    "go env",
    "gofmt",
    "golangci-lint run",
    "npm start",
    "pnpm start",
    "yarn start",
    "npm ls",
    "npm list",
    "npm run-script",
    "pnpm test",
    "pnpm build",
    "pnpm lint",
    "pnpm typecheck",
    "pnpm ls",
    "pnpm list",
    "yarn run",
    "yarn lint",
    "yarn typecheck",
    "yarn list",
    "yarn why",
    "eslint",
    "prettier",
    "jest",
    "vitest run",
    "mocha",
    "pytest",
    "ruff check",
    "ruff format",
    "mypy",
    "black",
    "flake8",
    "isort",
    "pylint",
    "pip list",
    "pip freeze",
    "pip show",
    "pip3 list",
    "pip3 freeze",
    "pip3 show",
    // They open a socket to inspect the machine, so they are not reads.
    "pip --version",
    "pip -V",
    "pip3 --version",
    "pip3 -V",
    "make",
    "ctest",
    "cmake --build",
    "rspec",
    "mix test",
    "mix compile",
    "swift build",
    "swift test",
    "php -l",
    "npx",
    "pnpm exec",
    "pnpm -r",
    "pnpm tsc",
    "pnpm eslint",
    "pnpm prettier",
    "pnpm jest",
    "pnpm vitest",
    "pnpm --filter",
    "pnpm -F",
    "yarn workspace",
    "yarn tsc",
    "yarn eslint",
    "yarn prettier",
    "yarn jest",
    "yarn vitest",
    "bundle exec",
    "poetry run",
    "pipenv run",
    "uv run",
    "mvn",
    "gradle",
    "dotnet build",
    "dotnet test",
    "chmod",
    "yarn",
];

/// Programs that say which version they are, and do nothing else when that is all they are asked.
pub(super) const VERSIONED: &str = "git cargo rustc rustup rustfmt go node nodejs npm pnpm yarn npx deno bun tsc eslint \
    prettier jest vitest python python3 pytest ruff mypy black uv poetry make cmake gcc g++ clang ninja java \
    javac mvn gradle dotnet ruby gem perl php composer docker kubectl terraform jq rg fd tree curl wget grep sed gawk \
    bash zsh";

/// What runs as well unless a list is set, as beginnings.
pub fn usual_allow() -> impl Iterator<Item = &'static str> {
    READERS.split_ascii_whitespace().chain(MORE.iter().copied())
}

/// The rule of ours that these words begin with.
pub(super) fn usual(words: &[&str]) -> Option<&'static str> {
    let begun = usual_allow().find(|rule| rules::begins(rule, words).is_some());
    let more = begun.or_else(|| asks_version(words).then_some("--version"));
    more.or_else(|| programs::builds_by_script(words).then_some("a build script of the folder"))
}

/// Whether all that a program is asked is its version.
pub(super) fn asks_version(words: &[&str]) -> bool {
    match words {
        ["java" | "javac", "-version"] | ["go", "version"] => true,
        [name, "--version"] => among(VERSIONED, name),
        // Of others it is something else: to `zsh` an option of the shell, which then runs its input.
        [name, "-V"] => among("cargo rustc rustup python python3 pytest mypy ruff uv curl wget grep gawk rg fd", name),
        // Of these `-v` is the same; of others it is *verbose*.
        [name, "-v"] => matches!(*name, "node" | "npm" | "pnpm" | "yarn" | "tsc" | "php" | "ruby"),
        _ => false,
    }
}
