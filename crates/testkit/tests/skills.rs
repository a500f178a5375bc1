//! Skills in a session, with the real engine, host, database and files.

use trimtab_testkit::scenario::play_unmeasured as play;

const SKILL: &str = r#"
--- .claude/skills/pdf/SKILL.md
---
name: pdf
description: Reads PDF files
---
# PDF
Always use pdftotext -layout.
--- .claude/skills/pdf/forms.md
Forms have fields.
--- dialogue
"#;

fn with_skill(dialogue: &str) -> String {
    play(&format!("{SKILL}{dialogue}"))
}

#[test]
fn a_model_loads_a_skill_once_and_reads_its_other_files() {
    let log = with_skill(
        r#"
> read the report
?+ - pdf: Reads PDF files
?- Always use pdftotext
<@ use_skill {"name":"pdf"}
?+ The skill pdf is loaded.
?+ Always use pdftotext -layout.
?+ forms.md
<@ use_skill {"name":"pdf"}
?~ The skill pdf is already loaded.
<@ use_skill {"name":"pdf","file":"forms.md"}
?~ Forms have fields.
<@ use_skill {"name":"pdf","file":"../../../outside"}
?~ cannot be read
<@ use_skill {"name":"word"}
?~ There is no skill named word. The skills are: pdf.
< Done.
"#,
    );
    let loaded: Vec<&str> = log.lines().filter(|line| line.contains(" skill.loaded ")).collect();
    assert_eq!(loaded.len(), 1, "{log}");
    for part in
        ["\"name\":\"pdf\"", "\"path\":\".claude/skills/pdf/SKILL.md\"", "\"project\":true", "forms.md", "pdftotext"]
    {
        assert!(loaded[0].contains(part), "{part}: {}", loaded[0]);
    }
}

#[test]
fn a_skill_survives_a_kill_and_is_not_loaded_again() {
    let log = with_skill(
        r#"
> read the report
<@ use_skill {"name":"pdf"}
#
<… I was just
^K
?+ Always use pdftotext -layout.
< Done.
> and the next one
?+ Always use pdftotext -layout.
<@ use_skill {"name":"pdf"}
?~ already loaded
< Done.
"#,
    );
    assert_eq!(log.matches(" skill.loaded ").count(), 1, "{log}");
}

#[test]
fn a_loaded_skill_stays_word_for_word_when_the_conversation_is_summarized() {
    let filler = "plain words that say nothing much at all and only fill the window ".repeat(90);
    let mut script = String::from("% window=8000\n> read the report\n<@ use_skill {\"name\":\"pdf\"}\n#\n< Read.\n");
    for number in 0..8 {
        script += &format!("> remark {number}. {filler}\n< Noted {number}.\n");
    }
    script += "> and now\n?+ [CONVERSATION SUMMARY]\n?+ Always use pdftotext -layout.\n< Done.\n";
    let log = with_skill(&script);
    assert!(log.matches(" context.compressed ").count() >= 1, "{log}");
    assert_eq!(log.matches(" skill.loaded ").count(), 1);
}

#[test]
fn the_user_calls_a_skill_by_its_name() {
    let log = with_skill(
        r#"
> /pdf report.pdf
?+ Use the skill pdf.
?+ report.pdf
?+ Always use pdftotext -layout.
< Done.
> /skill:pdf again.pdf
?+ again.pdf
< Done.
"#,
    );
    assert_eq!(log.matches(" skill.loaded ").count(), 1, "{log}");
}

#[test]
fn a_skill_takes_tools_away_for_the_request_and_never_gives_any() {
    play(
        r#"
        --- .agents/skills/look/SKILL.md
        ---
        name: look
        description: Looks at files
        allowed-tools: Read, Bash(rm:*)
        ---
        Only look.
        --- .agents/skills/only-read/SKILL.md
        ---
        name: only-read
        description: Reads
        allowed-tools: [Read]
        ---
        Only read.
        --- a.txt
        alpha
        --- dialogue
        > look at it
        <@ use_skill {"name":"look"}
        ?+ only these tools may be used: read_file, list_files, run_command, read_output, stop_command.
        <@ write_file {"path":"b.txt","content":"x"}
        <@ read_file {"path":"a.txt"}
        #
        ?+ The loaded skill (look) does not allow write_file.
        ?+ alpha
        <@ run_command {"command":"rm a.txt"}
        ! wait no
        <@ use_skill {"name":"only-read"}
        #
        <@ run_command {"command":"ls"}
        ?+ does not allow run_command. It allows: read_file, list_files.
        < Done.
        > and now run it
        <@ run_command {"command":"ls"}
        < Done.
        > look again
        <@ use_skill {"name":"look"}
        ?+ only these tools may be used: read_file, list_files
        <@ write_file {"path":"b.txt","content":"x"}
        ?+ The loaded skill (look) does not allow write_file.
        < Done.
        "#,
    );
}

#[test]
fn instructions_further_down_are_told_once_something_below_them_is_touched() {
    let log = play(
        r#"
        --- AGENTS.md
        Use tabs. See @docs/style.md.
        --- docs/style.md
        Short lines.
        --- web/AGENTS.md
        Use two spaces.
        --- web/parts/CLAUDE.md
        Name parts in capitals.
        --- web/parts/a.ts
        let a = 1;
        --- dialogue
        > change the number
        ?+ Use tabs.
        ?+ Imported docs/style.md:
        ?+ Short lines.
        ?- Use two spaces.
        <@ read_file {"path":"web/parts/a.ts"}
        ?+ Instructions for files below web, from web/AGENTS.md:
        ?+ Use two spaces.
        ?+ Name parts in capitals.
        <@ edit_file {"path":"./web/parts/a.ts","blocks":[{"search":"let a = 1;","replace":"let a = 2;"}]}
        #
        <@ list_files {"path":"web"}
        #
        < Done.
        "#,
    );
    assert_eq!(log.matches(" context.nested ").count(), 2, "{log}");
}
