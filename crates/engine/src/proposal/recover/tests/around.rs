//! What stands around an answer.

use serde_json::{Value, json};

use super::super::{ReplyStop, recover};
use super::{mended, nothing, whole};

fn full() -> Value {
    json!({
        "summary": "Added a health check.",
        "sections": [{"heading": "Why", "content": "Probes need it.", "codeBlocks": [{"language": "rust", "code": "fn ok() -> bool {\n    true\n}\n"}]}],
        "todos": [{"text": "Write it", "completed": true}, {"text": "Document it", "completed": false}],
        "fileChanges": [
            {"path": "src/health.rs", "content": "pub fn health() -> &'static str {\n    \"ok\"\n}\n"},
            {"path": "src/main.rs", "diff": "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1,2 @@\n+mod health;\n fn main() {}\n"},
            {"path": "old.rs", "delete": true}
        ],
        "commands": [{"command": "cargo test", "description": "Run the tests"}],
        "nextSteps": [{"html": "Continue", "inputText": "continue"}]
    })
}

#[test]
fn a_valid_answer_comes_back_as_it_is_without_repairs() {
    for text in [full().to_string(), serde_json::to_string_pretty(&full()).expect("prints")] {
        let got = recover(text.as_bytes(), ReplyStop::Unknown);
        assert_eq!(Value::Object(got.said.clone()), full());
        assert_eq!(got.report()["answer"].to_string(), full().to_string(), "even its order");
        assert_eq!(serde_json::to_value(&got.answer).expect("writes"), full());
        assert!(got.found && !got.truncated && !got.blocked);
        assert_eq!(got.repairs, Vec::<String>::new());
    }
}

#[test]
fn what_an_answer_does_not_say_is_empty_and_no_error() {
    let got = recover(br#"{"summary":"s"}"#, ReplyStop::Complete);
    let answer = got.answer;
    assert_eq!(answer.summary, "s");
    let (lists, more) = ((answer.sections.len(), answer.todos.len(), answer.file_changes.len()), answer.commands.len());
    assert_eq!((lists, more, answer.next_steps.len()), ((0, 0, 0), 0, 0));
    assert!(got.found && !got.truncated && got.repairs.is_empty());
}

#[test]
fn dress_around_an_answer_is_taken_off() {
    let one = json!({"summary": "Done", "todos": [{"text": "a", "completed": true}]});
    let bare = one.to_string();
    let rows: Vec<(&str, String)> = vec![
        ("white space", format!("\n\n  {bare}\n ")),
        ("a byte order mark", format!("\u{feff}{bare}")),
        ("a fence", format!("```json\n{bare}\n```")),
        ("a fence without a language", format!("```\n{bare}\n```\n")),
        ("a fence in capitals", format!("```JSON\n{bare}\n```")),
        ("a fence with four marks", format!("````json\n{bare}\n````")),
        ("a fence of tildes", format!("~~~json\n{bare}\n~~~")),
        ("a fence on the same line", format!("```json {bare} ```")),
        ("a fence that is not closed", format!("```json\n{bare}\n")),
        ("a fence that is only closed", format!("{bare}\n```")),
        ("an inline fence", format!("`{bare}`")),
        ("words before", format!("Sure! Here is the answer:\n\n{bare}")),
        ("words after", format!("{bare}\n\nLet me know if you need more.")),
        ("words with braces", format!("I replaced {{name}} and {{{{x}}}} in `${{HOME}}`.\n{bare}\nUse {{}} for none.")),
        ("words with quotes", format!("You said \"do it\", so:\n{bare}\nThat's \"it\".")),
        ("words with an odd quote", format!("The 5\" pipe:\n{bare}\nIt's 5\" long.")),
        (
            "words with code",
            format!("```js\nfunction f() {{ return {{a: 1, \"b\": [2]}}; }}\n```\nand\n```json\n{bare}\n```"),
        ),
        ("words with style sheets", format!("a {{ color: red; }}\n{bare}")),
        ("a type declaration", format!("interface Answer {{ summary: string; todos: Todo[]; }}\n{bare}")),
        ("a list in words", format!("Steps: [1] read, [2] write [see {{a}}]\n{bare}")),
        ("a thought", format!("<think>Let me see.</think>\n{bare}")),
        (
            "a thought with JSON",
            format!("<think>Perhaps {{\"summary\":\"no\",\"todos\":[{{\"text\":\"x\"}}]}}</think>{bare}"),
        ),
        ("a thought with half of one", format!("<think>Perhaps {{\"summary\":\"no, \"todos\":[</think>{bare}")),
        ("a thought in capitals", format!("<THINK>{{\"summary\":\"no\"}}</THINK>{bare}")),
        ("a thought by another name", format!("<thinking>{{\"summary\":\"no\"}}</thinking>\n{bare}")),
        ("reasoning", format!("<reasoning>{{\"summary\":\"no\"}}</reasoning>\n{bare}")),
        ("a thought in square brackets", format!("[THINK]{{\"summary\":\"no\"}}[/THINK]{bare}")),
        ("a thought with attributes", format!("<think depth=\"2\">{{\"summary\":\"no\"}}</think >{bare}")),
        (
            "a thought without its beginning",
            format!("Hmm, {{\"summary\":\"no\",\"commands\":[{{\"command\":\"rm\"}}]}}\n</think>\n{bare}"),
        ),
        (
            "a thought in a thought",
            format!("<think>a <think>b</think> {{\"summary\":\"no\",\"todos\":[\"x\"]}} </think>{bare}"),
        ),
        ("two thoughts", format!("<think>a {{\"summary\":\"1\"}}</think><think>b {{\"summary\":\"2\"}}</think>{bare}")),
        (
            "a thought that speaks of its end",
            format!("<think>I must close {{\"summary\":\"</think> is text\"}} hm</think>{bare}"),
        ),
        ("an empty thought", format!("<think>\n\n</think>\n\n{bare}")),
        ("a thought after", format!("{bare}\n<think>Was that right? {{\"summary\":\"no\",\"todos\":[\"x\"]}}</think>")),
        ("tags of a reply", format!("<response>{bare}</response>")),
        (
            "a thought and a reply",
            format!("<think>{{\"summary\":\"no\"}}</think><response>\n```json\n{bare}\n```\n</response>"),
        ),
        ("a reply that is not closed", format!("<think>x</think><response>{bare}")),
        (
            "a thought that is not closed before a reply",
            format!("<think>{{\"summary\":\"no\"}}\n<response>{bare}</response>"),
        ),
        (
            "talk after the reply",
            format!("<response>{bare}</response>\nAn example: {{\"summary\":\"no\",\"todos\":[\"x\"]}}"),
        ),
        ("talk of tags", format!("I use no `<think>` tags. The <think> tag is not needed.\n{bare}")),
        (
            "channels",
            format!(
                "<|channel|>analysis<|message|>{{\"summary\":\"no\"}}<|end|><|start|>assistant<|channel|>final<|message|>{bare}<|return|>"
            ),
        ),
        ("a label", format!("json\n{bare}")),
        ("a label with a colon", format!("Answer: {bare}")),
        ("an assignment", format!("const answer = {bare};")),
        ("a mark of the end", format!("{bare}<|im_end|>")),
        ("a mark of the end of a sentence", format!("{bare}</s>")),
        ("zeroes", format!("\0\0{bare}\0")),
        ("other line ends", format!("```json\r\n{bare}\r\n```\r\n")),
        ("a list of one", format!("[{bare}]")),
        ("a call", format!("<tool_call>\n{{\"name\":\"answer\",\"arguments\":{bare}}}\n</tool_call>")),
        ("a wrapper", format!("{{\"answer\":{bare}}}")),
        ("a wrapper with more", format!("{{\"id\":7,\"type\":\"final\",\"response\":{bare},\"usage\":{{\"in\":1}}}}")),
        ("a wrapper in a wrapper", format!("{{\"data\":{{\"result\":{bare}}}}}")),
        (
            "a message",
            format!(
                "{{\"choices\":[{{\"message\":{{\"role\":\"assistant\",\"content\":{}}}}}]}}",
                Value::from(bare.clone())
            ),
        ),
        (
            "a message in parts",
            format!("{{\"content\":[{{\"type\":\"text\",\"text\":{}}}]}}", Value::from(bare.clone())),
        ),
        ("a text in a wrapper", format!("{{\"response\":{}}}", Value::from(bare.clone()))),
        (
            "a fence in a text in a wrapper",
            format!("{{\"response\":{}}}", Value::from(format!("```json\n{bare}\n```"))),
        ),
        (
            "a thought in a text in a wrapper",
            format!("{{\"response\":{}}}", Value::from(format!("<think>{{\"summary\":\"no\"}}</think>{bare}"))),
        ),
        (
            "arguments as a text",
            format!("{{\"function\":{{\"name\":\"answer\",\"arguments\":{}}}}}", Value::from(bare.clone())),
        ),
        ("a text", Value::from(bare.clone()).to_string()),
        ("a text in a text", Value::from(Value::from(bare.clone()).to_string()).to_string()),
        ("a text that lost its marks", Value::from(bare.clone()).to_string().trim_matches('"').to_owned()),
        ("a text of Python", format!("'{bare}'")),
        ("a pretty text", Value::from(serde_json::to_string_pretty(&one).expect("prints")).to_string()),
        ("entities around", format!("&lt;div&gt;{bare}&lt;/div&gt;")),
    ];
    let rows: Vec<_> = rows.iter().map(|(name, input)| (*name, input.as_str(), one.clone())).collect();
    whole(&rows);
}

#[test]
fn dress_around_an_answer_is_no_repair_of_it() {
    let bare = json!({"summary": "Done"}).to_string();
    for text in [format!("```json\n{bare}\n```"), format!("<think>x</think>{bare}"), format!("Here:\n{bare}\nBye.")] {
        assert_eq!(recover(text.as_bytes(), ReplyStop::Unknown).repairs, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn an_opened_wrapper_is_told() {
    mended(&[
        ("object", r#"{"answer":{"summary":"x"}}"#, json!({"summary": "x"})),
        ("text", r#"{"answer":"{\"summary\":\"x\"}"}"#, json!({"summary": "x"})),
    ]);
}

#[test]
fn what_looks_like_dress_inside_a_text_stays() {
    let odd = json!({
        "summary": "Use `<think>` and </think>, or {\"summary\":\"inner\",\"todos\":[{\"text\":\"no\"}]}",
        "fileChanges": [
            {"path": "a.md", "content": "```json\n{\"summary\": \"decoy\", \"commands\": [{\"command\": \"rm -rf /\"}]}\n```\n<response>no</response>\n"},
            {"path": "b.html", "content": "<think>\n</think>&quot;&amp;<!-- x --> // no comment\n/* none */ # none\n"},
            {"path": "c.json", "content": "{\"summary\": \"whole\", \"todos\": [], \"fileChanges\": [{\"path\": \"x\", \"content\": \"y\"}]}"}
        ],
        "sections": [{"heading": "http://example.com//x", "content": "\"summary\": \"no\",\n\"todos\": []", "codeBlocks": [{"language": "json", "code": "\"summary\":"}]}]
    });
    let text = odd.to_string();
    let fenced = format!("```json\n{text}\n```");
    let thought = format!("<think>hm</think>{text}");
    let trailing = format!("{},}}", &text[..text.len() - 1]);
    whole(&[
        ("bare", &text, odd.clone()),
        ("fenced", &fenced, odd.clone()),
        ("after a thought", &thought, odd.clone()),
        ("with a comma too many", &trailing, odd.clone()),
    ]);
}

#[test]
fn without_an_answer_none_is_made_up() {
    nothing(&[
        ("empty", ""),
        ("blank", " \n\t "),
        ("prose", "I have changed the file as you asked."),
        ("prose with a colon", "Summary: all is well. Todos: none."),
        ("prose with a name in quotes", "The \"summary\": \"x\" field is required."),
        ("braces", "Use {summary} and {todos}."),
        ("empty object", "{}"),
        ("empty list", "[]"),
        ("a number", "42"),
        ("null", "null"),
        ("other JSON", r#"{"name":"app","version":"1.0.0","scripts":{"test":"jest"}}"#),
        ("only thought", r#"<think>{"summary":"x"}</think>"#),
        ("only thought and talk", r#"<think>{"summary":"x"}</think> I cannot do that."#),
        ("a thought without end", r#"<think>I could say {"summary":"x","todos":[]}"#),
        ("a thought without beginning", "{\"summary\":\"x\"}\n</think>\nNo."),
        ("a type", "type T = { summary: string, todos: Todo[] }"),
        ("an answer quoted in a note", r#"{"id":1,"note":"they sent {\"summary\":\"x\"} before"}"#),
        ("code", "fn main() { println!(\"{}\", \"summary\"); }"),
        ("brackets", "[[[[{{{{"),
        ("a list of todos only", r#"[{"text":"a","completed":true}]"#),
        ("nulls", r#"{"summary":null,"todos":null}"#),
    ]);
}

#[test]
fn two_bytes_a_sign_are_read_if_the_text_says_so() {
    let text = "\u{feff}{\"summary\":\"na\u{ef}ve \u{1f600}\"}";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big] {
        let got = recover(&bytes, ReplyStop::Unknown);
        assert_eq!(got.answer.summary, "na\u{ef}ve \u{1f600}");
        assert!(!got.truncated);
    }
}
