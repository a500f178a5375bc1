use super::*;

fn definition(text: &str) -> Definition {
    read("review", text).expect("a pill")
}

fn expanded(body: &str, words: &str) -> String {
    let definition = definition(&format!("---\n---\n{body}"));
    let words = format!("/review {words}");
    expand(&definition, call(&words).expect("a call"), "review.md".into()).expect("expands").text
}

#[test]
fn words_call_a_pill_by_a_slash_and_a_name_and_nothing_else() {
    let table = [
        ("/review src/a.rs now", Some(("review", "src/a.rs now"))),
        ("  /review\n\nlines\nof text ", Some(("review", "lines\nof text"))),
        ("/review", Some(("review", ""))),
        ("/project:review x", Some(("project:review", "x"))),
        ("/user:review-2_b", Some(("user:review-2_b", ""))),
        ("/etc/hosts is a file", None),
        ("/Review", None),
        ("/review: x", None),
        ("/", None),
        ("/ review", None),
        ("//review", None),
        ("/other:review", None),
        ("/1st", None),
        ("see /review", None),
        ("review", None),
        ("", None),
    ];
    for (text, wanted) in table {
        assert_eq!(call(text).map(|call| (call.name, call.arguments)), wanted, "{text:?}");
    }
    assert_eq!(call(&format!("/{}", "a".repeat(65))), None);
}

#[test]
fn a_file_says_what_a_pill_is() {
    let read = definition(
        "\u{feff}---\r\n# A comment.\r\nname: look\r\ndescription: \"Look: closely\"\r\narguments: <file> [focus]\r\n\
         tools: [read_file, 'search']\r\nmode: plan\r\ncategories:\r\n  - files\r\n  - web\r\n---\r\n\r\nLook at $1.\r\n---\r\nMore.\r\n",
    );
    assert_eq!(read.name, "look");
    assert_eq!(read.description, "Look: closely");
    assert_eq!(read.arguments, "<file> [focus]");
    assert_eq!(read.tools, ["read_file", "search"]);
    assert_eq!(read.mode, Mode::Plan);
    assert_eq!(read.categories, ["files", "web"]);
    assert_eq!(read.body, "Look at $1.\r\n---\r\nMore.");
    let least = definition("---\n---\n# Review it\nwell");
    assert_eq!((least.name.as_str(), least.description.as_str()), ("review", "Review it"));
    assert_eq!(definition("---\ntools: read_file, search\n---\nx").tools, ["read_file", "search"]);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let table = [
        ("Just text.", "does not begin with a header between two lines `---`"),
        ("", "does not begin"),
        ("---\nname: x\n", "header does not end with a line `---`"),
        ("---\n---\n \n", "no text for the model"),
        ("---\nname: x\nmodel: y\n---\nx", "Line 3: unknown key `model`. The keys are name, description"),
        ("---\nmode: fast\n---\nx", "`mode` is auto, chat or plan, not `fast`"),
        ("---\ntools: [rm]\n---\nx", "`tools` has the unknown value `rm`. Use read_file"),
        ("---\ncategories: all\n---\nx", "`categories` has the unknown value `all`"),
        ("---\nname: A b\n---\nx", "Invalid name"),
        ("---\nmode: chat\nmode: plan\n---\nx", "Line 3: `mode` is set twice"),
        ("---\n- x\n---\nx", "a list item has no list above it"),
        ("---\nnonsense\n---\nx", "Line 2: it is neither"),
        ("---\nname:\n- x\n---\nx", "`name` is a text, not a list"),
    ];
    for (text, wanted) in table {
        let wrong = read("review", text).expect_err(text);
        assert!(wrong.contains(wanted), "{text:?}: {wrong}");
    }
    assert!(read("review", &"x".repeat(LARGEST + 1)).expect_err("too large").contains("larger than 64 KB"));
    assert!(read("My Pill", "---\n---\nx").is_err(), "a file's name must be one that can be called");
}

#[test]
fn arguments_are_put_into_their_places_once() {
    assert_eq!(expanded("Look at $1 for $2.", "a.rs 'two words'"), "Look at a.rs for two words.");
    assert_eq!(expanded("All: $ARGUMENTS!", "a  \"b c\""), "All: a  \"b c\"!");
    assert_eq!(expanded("$1", "$2 x"), "$2\n\nx", "what is put in is not looked at again");
    assert_eq!(expanded("$ARGUMENTS", "$ARGUMENTS"), "$ARGUMENTS");
    assert_eq!(expanded("No places.", "all of it"), "No places.\n\nall of it");
    assert_eq!(expanded("First: $1.", "a b c"), "First: a.\n\nb c");
    assert_eq!(expanded("$1 of $ARGUMENTS", "a b"), "a of a b");
    assert_eq!(expanded("Nothing at $1.", ""), "Nothing at .");
    assert_eq!(
        expanded(r"It costs \$1, or \$ARGUMENTS, $100, $0, $x, $", "a"),
        "It costs $1, or $ARGUMENTS, $100, $0, $x, $\n\na"
    );
}

#[test]
fn a_pill_says_what_it_needs() {
    let definition = definition("---\narguments: <file> [focus]\n---\n$1");
    let missing = expand(&definition, call("/review").expect("a call"), String::new()).expect_err("needs a word");
    assert_eq!(missing, "It needs more arguments: /review <file> [focus]");
    assert!(expand(&definition, call("/review a").expect("a call"), String::new()).is_ok());
}

#[test]
fn a_pill_narrows_and_never_widens() {
    let definition = definition("---\ntools: [read_file, run_command]\ncategories: [files]\n---\nx");
    let pill = expand(&definition, call("/review").expect("a call"), String::new()).expect("expands");
    let allowed: Vec<&str> = tools::registry().names().into_iter().filter(|name| allows(&pill, name)).collect();
    assert_eq!(allowed, ["read_file", "set_steps", "ask_user", "read_ref"]);
    assert!(!allows(&pill, "no_such_tool"));
}
