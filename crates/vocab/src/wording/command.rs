//! Why a command line asks, is refused, or runs. The sentences follow "Reason:", so they begin small and have no full stop.

use super::sentences;

sentences! {
    /// Why a command line asks, is refused, or runs.
    #[derive(Eq)]
    pub enum CommandReason {
        // What a line is made of.
        TooLong(bytes: usize) => "the command is longer than {bytes} bytes",
        NoCommand => "there is no command",
        UnknownArgument => "an argument is unknown until the shell expands it",
        ControlCharacter(code: u32) => "the command contains the control character U+{code:04X}",
        DeceptiveCharacter(code: u32) =>
            "the command contains U+{code:04X}, which is invisible or looks like another character",
        MixedAlphabets(text: String) => "`{text}` mixes letters of several alphabets",
        // How a shell reads it.
        Substitution => "a command is substituted into another",
        ExtendedPattern => "`(…)` is a pattern",
        TrailingBackslash => "the line ends with a backslash",
        TildeExpansion => "`~` is expanded by the shell",
        BraceExpansion => "`{{…}}` is expanded by the shell",
        GlobExpansion(pattern: String) => "the pattern `{pattern}` is expanded by the shell",
        UnclosedQuote => "a quote is not closed",
        UnclosedBrace => "a brace is not closed",
        UnclosedBracket => "a bracket is not closed",
        ArithmeticExpansion => "`$((…))` is arithmetic of the shell",
        VariableBesideOutput => "a variable is next to the output of a command",
        AnsiQuote => "`$'…'` differs between shells",
        TranslatedQuote => "`$\"…\"` is translated by the shell",
        DollarExpansion => "`$` begins an expansion of the shell",
        ParameterExpansion => "`${{…}}` is expanded by the shell",
        VariableExpansion(name: String) => "`${name}` is expanded by the shell",
        UnquotedVariable(name: String) => "`${name}` without quotes is split by the shell",
        ForWithoutValues => "`for` has no values",
        ForUnknownValues => "the values of `for` are not known",
        LoopTooLarge => "the loop is too large",
        GlobBehindText => "a glob follows other text",
        OperatorBeforeCommand(sign: String) => "`{sign}` is where a command is expected",
        Arithmetic => "`((…))` is shell arithmetic",
        Subshell => "`(…)` is a subshell or a function",
        SubshellEnd => "`)` ends a subshell or a pattern",
        RedirectsAll => "`&>` writes to a file",
        PipesAll => "`|&` differs between shells",
        CaseEnd => "`;;` belongs to a `case`",
        Background => "`&` runs a command in the background",
        EndsEarly => "the line ends where a command is expected",
        EmptyPart => "there is no command in this part",
        UnreadCharacter => "a character is not understood",
        OperatorExpected(word: String) => "`{word}` is where an operator is expected",
        VariableRedirection => "`{{…}}` before a redirection names a variable in some shells",
        SetsVariable(name: String) => "`{name}=…` sets a variable",
        Keyword(word: String) => "`{word}` is a shell keyword",
        ProgramFromVariable(word: String) => "`{word}` determines which program runs",
        RedirectionTarget(operator: String) => "`{operator}` has no single target",
        RedirectionInLoop => "a redirection depends on a loop",
        JoinedRedirections => "two redirections without a space differ between shells",
        RedirectsTo(operator: String, target: String) => "`{operator}` writes to `{target}`",
        RedirectsFrom(operator: String, target: String) => "`{operator}` reads from `{target}`",
        HereDocument => "the command reads a here-document",
        HereString => "the command reads a here-string",
        NestedTooDeeply => "the line is nested too deeply",
        // What rules and settings say.
        SandboxOff => "the sandbox is off",
        AllowedBy(rules: String) => "allowed by `{rules}`",
        RuleAsks(rule: String) => "your rule `{rule}` asks",
        RuleDenies(rule: String) => "your rule `{rule}` denies it",
        NotOnAllowlist(command: String) => "`{command}` is not on the allowlist",
        // What is refused.
        ForkBomb => "it is a fork bomb",
        OwnFiles(path: String) => "`{path}` belongs to Trimtab's own settings, rules, log, or secrets",
        OverwritesDisk(disk: String) => "it would overwrite the disk `{disk}`",
        OwnPort(address: String) => "`{address}` is Trimtab's own port",
        OwnSettings => "commands cannot change Trimtab's rules and settings",
        OwnAnswers => "commands cannot answer Trimtab's questions",
        DeletesEverything(path: String) =>
            "it would delete `{path}`, which contains the root, your home folder, or the project",
        NoPreserveRoot => "`--no-preserve-root` is only used to delete the root folder",
        ChangesAllPermissions => "it would change permissions on the whole disk",
        FormatsDisk(program: String) => "`{program}` formats a disk",
        // Paths.
        GitConfigRead => "`.git/config` may contain a token in a URL",
        HoldsSecrets(path: String) => "`{path}` usually holds secrets",
        WritesToNull => "writing to `/dev/null` discards the file",
        DashAsFile => "`-` is a risky file name",
        ChangesFolder => "it would change the folder itself",
        ControlsPrograms(path: String) => "`{path}` controls what other programs run",
        LooksLikeOption(path: String) => "`{path}` could be mistaken for an option",
        MayLeadOutside(path: String) => "`{path}` may lead outside the folder",
        OutsideFolder(path: String) => "`{path}` is outside the folder",
        IsUrl(argument: String) => "`{argument}` is a URL",
        // Flags, operands and programs that no table knows to be safe.
        UnsafeFor(argument: String, program: String) => "`{argument}` is not known to be safe for `{program}`",
        MaybeAnotherOption(value: String, flag: String) => "`{value}` after `{flag}` could be another option",
        MissingValue(flag: String) => "`{flag}` is missing its value",
        UnsafeValue(value: String, flag: String) => "`{value}` is not known to be safe as the value of `{flag}`",
        NotANumber(value: String, flag: String) => "`{value}` is not a number for `{flag}`",
        ArgumentFile(argument: String) => "`{argument}` may be a file with more arguments",
        UnsafeFlagValue(flag: String) => "the value of `--{flag}` is not known to be safe",
        UnsafeArguments => "its arguments are not known to be safe",
        UnsafePassedOptions => "options after `--` are not known to be safe",
        UnsafeUse(program: String) => "this use of `{program}` is not known to be safe",
        UnsafeSubcommand(program: String, subcommand: String) => "`{program} {subcommand}` is not known to be safe",
        TooManyCommands => "it nests too many commands",
        UnknownInput(command: String) => "`{command}`: its input is not known to be file names",
        // What words of a line say, however they are wrapped.
        MayDelete => "it may delete files",
        MayBeDenied(rule: String) => "it names the program of your rule `{rule}`, which denies it",
        // What programs do.
        DeletesFiles(program: String) => "`{program}` deletes or overwrites files",
        ChangesPrivileges(program: String) => "`{program}` changes privileges",
        RunsOtherCommands(program: String) => "`{program}` changes the shell or runs other commands",
        IsShell(program: String) => "`{program}` is a shell and can run arbitrary commands",
        RunsItself => "Trimtab cannot run itself",
        InlineCode(program: String) => "`{program}` runs inline code",
        PassesToShell(program: String) => "`{program}` passes text to a shell",
        CodeFromInput(program: String) => "`{program}` runs code from standard input",
        RunsInput => "it runs code from standard input",
        ArbitraryPrograms(program: String) => "`{program}` can run arbitrary programs",
        ArbitraryCode(program: String) => "`{program}` runs arbitrary code",
        FindDeletes => "`-delete` deletes the files it finds",
        FindRuns(flag: String, command: String) => "`{flag}` runs `{command}`, which is not known to be read-only",
        FindRunsEach(flag: String) => "`{flag}` runs a command on each match",
        XargsRuns(program: String) => "`xargs` runs `{program}` with arguments that are not known yet",
        RemoteArchive => "the archive may be on another machine",
        MoreThanListing => "it does more than list the archive",
        ListsOutside => "`--files` may list files outside the folder",
        OpenFilter(word: String) => "`{word}` may read other data or never end",
        OutputFile => "its second argument is an output file",
        SetsClock(argument: String) => "`{argument}` could set the system clock",
        // Git.
        GitNeedsNetwork(subcommand: String) => "`git {subcommand}` needs the network",
        GitChanges(subcommand: String) => "`git {subcommand}` changes the repository",
        GitDeletes(subcommand: String) => "`git {subcommand}` deletes data",
        GitOverrides(flag: String) => "`{flag}` overrides the repository's settings",
        NotReadOnly(argument: String) => "`{argument}` is not known to be read-only",
        UnknownReadOnly => "it is not known to be read-only",
        ChangesConfiguration => "it changes the configuration",
        ConfigurationSecrets => "the configuration may contain secrets",
        SignatureFormat => "the format verifies signatures or is defined in the git configuration",
        CreatesBranch => "it would create a branch",
        CreatesTag => "it would create a tag",
        // Builds, tests and packages.
        MoreThanTests => "it is not known to only run tests",
        MayLeaveFolder => "it is not known to stay in the folder",
        NeedsNetwork => "it needs the network",
        Downloaded(package: String) => "`{package}` is downloaded",
        MaybeDownloaded(package: String) => "`{package}` may be downloaded",
        NoPackage => "it does not name a package to run",
        ReportAnywhere(kind: String) => "`{kind}` may write a report anywhere",
        MoreThanExecutable => "it does more than make files executable",
        PrintsSources => "it prints the sources without `-l`, `-d`, or `-w`",
        MayContainSecret(name: String) => "`{name}` may contain a secret",
        OutputSecrets => "its output may contain secrets",
        MoreThanBuild(target: String) => "`{target}` may do more than build",
        AnotherTarget(target: String) => "`{target}` may be another target",
        UnknownTarget => "its default target is not known",
        MoreThanBuildAndCheck(target: String) => "`{target}` may do more than build and check",
        PrintsEnvironment(script: String) => "`{script}` prints the environment",
        NotAScript(name: String) => "`{name}` is not the name of a script",
        AnyInstalledProgram(script: String) => "`{script}` may run any program of the installed packages",
        InstallsPackage => "it installs a package",
        // One command of a line.
        Within(command: String, reason: Box<CommandReason>) => "`{command}`: {reason}",
    }
}

impl CommandReason {
    /// The same, for one command of a longer line.
    #[must_use]
    pub fn within(self, command: impl Into<String>) -> Self {
        Self::Within(command.into(), Box::new(self))
    }

    /// The same, as a reason for the whole line: a line that is one command is not named again.
    #[must_use]
    pub fn for_line(self, line: &str) -> Self {
        match self {
            Self::Within(command, reason) if command == line.trim() => *reason,
            reason => reason,
        }
    }
}
