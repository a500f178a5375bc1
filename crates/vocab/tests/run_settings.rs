//! The settings of a request are grouped in the program and flat in its records: the groups must not show.

use trimtab_vocab::RunSettings;

/// Settings that differ from the defaults everywhere, as they were written before there were groups.
const ALL: &str = concat!(
    r#"{"model":"a/b","facts":{"window":200000,"maxOutput":64000,"prices":{"input":3.0,"cached":0.3,"#,
    r#""cacheWrite":3.75,"output":15.0},"tools":false,"images":true,"thinking":true},"visionModel":"a/c","#,
    r#""visionFacts":{"window":1,"maxOutput":2,"tools":true,"images":true,"thinking":false},"maxSteps":7,"#,
    r#""maxOutputTokens":8,"retries":9,"temperature":0.5,"thinkingTokens":10,"budgetUsd":0.25,"fastModel":"a/d","#,
    r#""fastFacts":{"window":3,"maxOutput":4,"tools":true,"images":false,"thinking":false},"cacheS":14,"applyFiles":"ask","#,
    r#""confirmDeletes":false,"applyCommands":"auto","commandsAllowed":["ls"],"commandsAsked":["cargo publish"],"#,
    r#""commandsDenied":["sudo"],"plainPrefix":true,"commandTimeoutS":11,"commandTimeouts":{"cargo test":900},"#,
    r#""commandLongestS":12,"archiveOutput":false,"dialog":"compact","rememberDeletes":true,"sandbox":"read-only","#,
    r#""trusted":true,"instructionsBound":true,"approve":"deny","machine":{"shell":"bash","home":"/home/ada","#,
    r#""own":["/home/ada/.trimtab"],"ports":[7421]},"assistant":"Ada","synthesisList":true,"recovery":{"repairs":3,"#,
    r#""onMaxTokens":"stop","allowRecoveredChanges":true,"strictHeuristics":true,"noop":"block"},"#,
    r#""rules":[{"verdict":"allow","tool":"run_command","pattern":"make"}],"recalled":[{"id":"m1","#,
    r#""text":"Use tabs."}],"memory":{"ingest":"durable","recall_bytes":13},"#,
    r#""copilot":{"intelligent_routing":"off","unsure_below":0.45,"sure_above":0.7,"no_tools_below":0.25,"#,
    r#""approval_mode":"none","enable_planning":true,"plan_approval":true,"auto_approve_simple":true,"#,
    r#""conversational":false,"allow_execution_transition":true,"triggers":["implement","build","create it","#,
    r#""do it","go ahead","make it"],"pause_enabled":false,"pace":"autonomous","auto_continue":false},"#,
    r#""snapshotFiles":15,"snapshotMb":16,"context":{"files":["STYLE.md"],"handoff_at":0.5,"strategy":"ask","#,
    r#""session_mb":17,"input_tokens":18},"autoMode":{"auto_mode":true,"clarify_below":0.45,"plan_above":0.7,"#,
    r#""keyword_rules":true,"suggest_changes":true,"max_operations":8,"max_options":3,"inline_options":false,"#,
    r#""strict_schema":true,"remember_scope_min":10,"audit_raw":"truncated","limits":{"deletes":20,"updates":50}},"#,
    r#""image":{"model":"a/e","price_usd":0.5,"batch":"same_prompt","detect":false},"attended":false}"#,
);

/// The defaults, likewise.
const DEFAULTS: &str = concat!(
    r#"{"model":"","facts":{"window":32768,"maxOutput":4096,"tools":true,"images":false,"thinking":false},"#,
    r#""maxSteps":25,"maxOutputTokens":16384,"retries":5,"thinkingTokens":0,"applyFiles":"auto","#,
    r#""confirmDeletes":true,"applyCommands":"ask","commandTimeoutS":120,"commandLongestS":600,"archiveOutput":true,"#,
    r#""sandbox":"workspace","trusted":false,"approve":"ask","machine":{"shell":"sh"},"assistant":"Trimtab","#,
    r#""synthesisList":false,"attended":true}"#,
);

#[test]
fn grouped_settings_are_never_written_otherwise_than_flat() {
    for written in [ALL, DEFAULTS] {
        let settings: RunSettings = serde_json::from_str(written).expect("reads");
        assert_eq!(serde_json::to_string(&settings).expect("writes"), written);
    }
    assert_eq!(serde_json::from_str::<RunSettings>(DEFAULTS).expect("reads"), RunSettings::default());
}

#[test]
fn settings_that_a_record_lacks_are_never_an_error() {
    assert_eq!(serde_json::from_str::<RunSettings>("{}").expect("reads"), RunSettings::default());
    let some: RunSettings = serde_json::from_str(r#"{"maxSteps":3,"commandTimeoutS":4,"of":"later"}"#).expect("reads");
    let mut expected = RunSettings::default();
    expected.models.max_steps = 3;
    expected.commands.timeout_s = 4;
    assert_eq!(some, expected);
}
