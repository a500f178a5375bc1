//! Which path a request takes, with the real engine, host and database.

use trimtab_testkit::scenario::play;

/// Only the lines of these kinds.
fn only(log: &str, kinds: &[&str]) -> String {
    let wanted = |line: &&str| kinds.contains(&line.split(' ').nth(1).unwrap_or_default());
    log.lines().filter(wanted).collect::<Vec<_>>().join("\n")
}

const KINDS: &[&str] = &["route", "stage", "model.called", "model.failed", "answer", "request.finished", "banner"];

#[test]
fn a_task_that_the_rules_cannot_place_is_looked_at_once() {
    let log = play(
        r#"
        --- dialogue
        % copilot.intelligent_routing=minimal
        > Tidy up
        ?^ You classify a request to an assistant
        ?^ The user prefers action
        ? Tidy up
        < {"decision":"direct","confidence":0.9,"complexity":12,"steps":1,"files":1,"toolNeed":0.9,"categories":["files"],"reason":"small"}
        ?- You classify a request
        ? Tidy up
        < Done.
        "#,
    );
    insta::assert_snapshot!(only(&log, KINDS), @r#"
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 stage {"stage":"routing","label":"Understanding the request..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1,"purpose":"route"}
    r1 route {"decision":"direct","confidence":0.9,"complexity":12,"categories":["files"],"reason":"it can be done directly: small","analysis":{"steps":1,"files":1,"toolNeed":0.9}}
    r1 stage {"stage":"routing","label":"Routing intent to files tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 answer {"summary":"Done."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn what_a_look_finds_missing_is_asked_for_though_it_asks_nothing_itself() {
    let log = play(
        r#"
        --- dialogue
        % copilot.intelligent_routing=aggressive
        > Build a report for our team
        ?^ You classify a request
        < {"decision":"clarify","confidence":0.9,"complexity":50,"missing":["inputs","outputs"],"questions":[]}
        "#,
    );
    let asked = only(&log, &["checkpoint.opened"]);
    assert!(asked.contains("2 questions before we start."), "{asked}");
    assert!(asked.contains("What does it start from: which files, data, or settings?"), "{asked}");
    assert!(asked.contains("What should exist when it is done?"), "{asked}");
}

#[test]
fn a_router_that_fails_or_talks_nonsense_does_not_keep_the_work_from_beginning() {
    for fault in ["<! overloaded: busy", "<!! refused: no", "< I would say: plan it.", "< {\"decision\":"] {
        let script = format!(
            "\n--- dialogue\n% copilot.intelligent_routing=aggressive\n> Tidy up\n?^ You classify a request\n{fault}\n? Tidy up\n< Done.\n"
        );
        let log = play(&script);
        let route = only(&log, &["route"]);
        assert!(route.contains(r#""decision":"direct","confidence":0.0"#), "{fault}: {log}");
        assert!(log.contains("the router failed"), "{fault}: {log}");
        assert!(log.contains(r#""status":"completed""#), "{fault}: {log}");
    }
}

#[test]
fn a_look_that_a_kill_broke_off_is_made_again() {
    let log = play(
        r#"
        --- dialogue
        % copilot.intelligent_routing=minimal
        > Tidy up
        ?^ You classify a request
        <… {"decision":"pl
        ^K
        ?^ You classify a request
        < {"decision":"direct","confidence":0.9,"toolNeed":0.9,"steps":1}
        ? Tidy up
        < Done.
        "#,
    );
    insta::assert_snapshot!(only(&log, KINDS), @r#"
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 stage {"stage":"routing","label":"Understanding the request..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1,"purpose":"route"}
    r1 model.failed {"call":"c1","error":{"kind":"interrupted","message":"Trimtab was interrupted while the model was answering."},"retryInMs":0}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":1,"purpose":"route"}
    r1 route {"decision":"direct","confidence":0.9,"complexity":0,"categories":["files","commands","web"],"reason":"it can be done directly","analysis":{"steps":1,"files":0,"toolNeed":0.9}}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c3","model":"scripted/model","attempt":1}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 answer {"summary":"Done."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn the_look_is_no_part_of_the_conversation_and_later_requests_show_what_was_said() {
    let log = play(
        r#"
        --- dialogue
        % copilot.intelligent_routing=minimal
        > Tidy up
        < {"decision":"direct","confidence":0.9,"toolNeed":0.9,"steps":1,"reason":"sure"}
        < It is tidy.
        > Once more
        ?+ Conversation so far:
        ?+ - assistant: It is tidy.
        ? Once more
        < {"decision":"chat","confidence":0.9,"toolNeed":0.0}
        ?- "decision"
        < Why?
        "#,
    );
    assert_eq!(log.matches("\"purpose\":\"route\"").count(), 2, "{log}");
}

#[test]
fn what_the_words_plainly_say_costs_no_call() {
    let log = play(
        r#"
        --- dialogue
        % copilot.intelligent_routing=aggressive
        > What is a monad?
        ?^ you have no tools
        < A burrito.
        > Make a plan to add dark mode
        ?+ This is plan mode
        <@ propose_plan {"steps":["Do it"]}
        "#,
    );
    assert_eq!(log.matches("\"purpose\"").count(), 0, "{log}");
}
